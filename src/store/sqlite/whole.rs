//! A look through a whole file, when it is opened: damage is met now rather than in the middle of a game, and what would be
//! missed without a word is found: a session that an index leads past looks like one that never was.
//!
//! What concerns one session alone, its head or its events, is left to whoever reads that session.

use super::checksum::{BATCH_IS_SOUND, CREATION_IS_SOUND, SESSION_IS_SOUND, TOMBSTONE_IS_SOUND};
use super::schema;
use rusqlite::Connection;

/// What is wrong with a file of this version, if anything is.
pub(super) fn damage(connection: &Connection, version: i32) -> rusqlite::Result<Option<String>> {
    let detail: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if detail != "ok" {
        return Ok(Some(detail));
    }
    if version < schema::FIRST_WITH_CHECKSUMS {
        return Ok(None);
    }
    for (table, is_wrong) in wrongs() {
        if connection.query_row(&is_wrong, [], |row| row.get(0))? {
            return Ok(Some(format!("a row of its table {table} is not as it was written, or is missing")));
        }
    }
    Ok(None)
}

/// Of each table whose rows are found by what is in them, a question that is true if one of them is wrong. Rows are found by
/// ids, or by what sessions have.
fn wrongs() -> [(&'static str, String); 5] {
    let unsound = |table: &str, is_sound: &str| format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE NOT {is_sound})");
    // Sessions that can't be read are told of when they are.
    let sound = format!("SELECT * FROM sessions WHERE {SESSION_IS_SOUND} AND json_valid(labels)");
    let labels = format!(
        "WITH sound AS ({sound}), expected AS (
             SELECT each.key AS name, each.value AS value, s.created, s.session_id, s.key AS session FROM sound s, json_each(s.labels) each
         )
         SELECT EXISTS (SELECT * FROM expected EXCEPT SELECT * FROM labels)
             OR EXISTS (SELECT * FROM labels WHERE session NOT IN (SELECT key FROM sessions)
                                                OR session IN (SELECT key FROM sound) EXCEPT SELECT * FROM expected)"
    );
    let players = format!(
        "WITH sound AS ({sound}), expected AS (
             SELECT south_player AS player, created, session_id, key AS session FROM sound WHERE south_player IS NOT NULL
             UNION SELECT north_player, created, session_id, key FROM sound WHERE north_player IS NOT NULL
         )
         SELECT EXISTS (SELECT * FROM expected EXCEPT SELECT * FROM players)
             OR EXISTS (SELECT * FROM players WHERE session NOT IN (SELECT key FROM sessions)
                                                 OR session IN (SELECT key FROM sound) EXCEPT SELECT * FROM expected)"
    );
    [
        ("creations", unsound("creations", CREATION_IS_SOUND)),
        ("batches", unsound("batches", BATCH_IS_SOUND)),
        ("tombstones", unsound("tombstones", TOMBSTONE_IS_SOUND)),
        ("labels", labels),
        ("players", players),
    ]
}
