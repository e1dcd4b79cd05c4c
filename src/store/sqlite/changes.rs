//! All changes in the order in which they were stored, for those who follow the whole store.

use super::checksum::{EVENT_IS_SOUND, expect_sound};
use super::errors::Failure;
use super::origin;
use super::reads::{self, head_of, select_heads};
use super::writes::state_code;
use crate::store::{Change, Changed, Changes, Cursor, EventHash, Head, StoredEvent};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashMap;

/// No session has this key. Events that bear it mark deletions: they keep the places of the log in order, and tell of sessions
/// of which nothing else is left.
const DELETION: i64 = 0;

/// A place in the log with the checksum of what stands there. After a restore the same places are given to other events, and a cursor from
/// before must not pass for one of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    place: i64,
    checksum: Option<i64>,
}

impl At {
    fn cursor(self) -> Cursor {
        Cursor(self.checksum.map_or_else(|| self.place.to_string(), |checksum| format!("{}-{checksum:08x}", self.place)))
    }

    /// The place of a cursor. Those from before there were checksums have none.
    fn parse(Cursor(text): &Cursor) -> Option<At> {
        let (place, checksum) = match text.split_once('-') {
            Some((place, checksum)) => (place, Some(i64::from_str_radix(checksum, 16).ok()?)),
            None => (text.as_str(), None),
        };
        Some(At { place: place.parse().ok()?, checksum })
    }

    /// What stands at a place; nothing if its session is deleted.
    fn read(connection: &Connection, place: i64) -> rusqlite::Result<At> {
        let checksum = connection
            .prepare_cached("SELECT checksum FROM events WHERE place = ?1")?
            .query_row([place], |row| row.get(0))
            .optional()?;
        Ok(At { place, checksum: checksum.flatten() })
    }

    /// Whether something else stands there than what this is the place of.
    fn is_other(self, there: At) -> bool {
        self.checksum.zip(there.checksum).is_some_and(|(own, there)| own != there)
    }
}

/// Where the log ends.
pub(super) fn end(connection: &Connection) -> Result<Cursor, Failure> {
    Ok(At::read(connection, last_place(connection)?)?.cursor())
}

fn last_place(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(place), 0) FROM events")?.query_row([], |row| row.get(0))
}

/// Notes that a session is deleted. Before its events are: so this is the last place, and no later event gets one that
/// was used before.
pub(super) fn note_deletion(connection: &Connection, head: &Head, time: i64) -> rusqlite::Result<()> {
    let seats: Vec<_> = head.players.iter().map(Option::as_deref).collect();
    let left = serde_json::json!({
        "session_id": head.session_id,
        "game": head.game,
        "labels": head.labels,
        "created": head.created,
        "state": state_code(head.state),
        "version": head.version,
        "players": seats,
    });
    connection
        .prepare_cached(
            "INSERT INTO events (session, seq, time, first, body, checksum)
             SELECT ?1, next, ?2, 1, ?3, checksum(?1, next, ?2, 1, NULL, NULL, ?3, NULL)
             FROM (SELECT coalesce(max(place), 0) + 1 AS next FROM events)",
        )?
        .execute(params![DELETION, time, left.to_string()])?;
    Ok(())
}

/// One event of the log.
struct Entry {
    place: i64,
    session: i64,
    first: bool,
    event: StoredEvent,
}

pub(super) fn changes(connection: &Connection, after: &Cursor, limit: usize) -> Result<Option<Changes>, Failure> {
    let Some(asked) = At::parse(after) else { return Ok(None) };
    // One snapshot for the log and the sessions.
    let transaction = connection.unchecked_transaction()?;
    let start = origin::first_place(&transaction)?;
    // What is in between are places of the store that this one was copied from.
    let after = if asked.place == 0 { start } else { asked.place };
    if after < start || after > last_place(&transaction)? || asked.is_other(At::read(&transaction, after)?) {
        return Ok(None);
    }
    let mut entries = entries(&transaction, after, limit)?;
    let caught_up = entries.len() <= limit;
    if !caught_up {
        // What was stored at once is not torn apart.
        let whole = entries.iter().rposition(|entry| entry.first).filter(|&start| start > 0);
        entries.truncate(whole.unwrap_or(limit));
    }
    let last = entries.last().map_or(after, |entry| entry.place);
    let mut heads: HashMap<i64, Option<Head>> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    let mut session_of_last = DELETION;
    for entry in entries {
        if entry.session == DELETION {
            changes.push(Change { head: deleted_head(&entry.event)?, what: Changed::Deleted });
            session_of_last = DELETION;
            continue;
        }
        if entry.session == session_of_last
            && let Some(Change { what: Changed::Events(events), .. }) = changes.last_mut()
        {
            events.push(entry.event);
            continue;
        }
        let head = match heads.get(&entry.session) {
            Some(head) => head.clone(),
            None => heads.entry(entry.session).or_insert(head_by_key(&transaction, entry.session)?).clone(),
        };
        let head = head.ok_or_else(|| Failure::Rows(format!("event {} is of no session", entry.place)))?;
        changes.push(Change { head, what: Changed::Events(vec![entry.event]) });
        session_of_last = entry.session;
    }
    // At an event whose session has been deleted since nothing stands any more.
    let cursor = if last == asked.place { asked.cursor() } else { At::read(&transaction, last)?.cursor() };
    Ok(Some(Changes { changes, cursor, caught_up }))
}

/// Entries after a place, one more than the limit if there are so many.
fn entries(connection: &Connection, after: i64, limit: usize) -> rusqlite::Result<Vec<Entry>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT place, session, first, seq, time, request_id, digest, body, hash, {EVENT_IS_SOUND}
         FROM events WHERE place > ?1 ORDER BY place LIMIT ?2",
    ))?;
    let entries = select.query_map((after, reads::sql_limit(limit.saturating_add(1))), |row| {
        expect_sound(row, 9)?;
        let session = row.get(1)?;
        let hash: Option<[u8; 32]> = row.get(8)?;
        let event = StoredEvent {
            // What marks a deletion is no event of a session and has no number in one.
            seq: if session == DELETION { 0 } else { row.get(3)? },
            time: row.get(4)?,
            request: reads::request(row, 5)?,
            body: row.get(7)?,
            hash: hash.map(EventHash::new),
        };
        Ok(Entry { place: row.get(0)?, session, first: row.get(2)?, event })
    })?;
    entries.collect()
}

fn head_by_key(connection: &Connection, key: i64) -> rusqlite::Result<Option<Head>> {
    connection.prepare_cached(&select_heads("key = ?1"))?.query_row([key], |row: &Row<'_>| head_of(row)).optional()
}

/// What is left of a deleted session.
fn deleted_head(event: &StoredEvent) -> Result<Head, Failure> {
    #[derive(serde::Deserialize)]
    struct Left {
        session_id: String,
        game: String,
        labels: std::collections::BTreeMap<String, String>,
        created: i64,
        state: i64,
        version: u32,
        players: [Option<String>; 2],
    }
    let left: Left =
        serde_json::from_str(&event.body).map_err(|error| Failure::Rows(format!("a deletion can't be read: {error}")))?;
    let state = reads::state_of(left.state).ok_or_else(|| Failure::Rows(format!("{} is no state", left.state)))?;
    Ok(Head {
        session_id: left.session_id,
        game: left.game,
        labels: left.labels,
        created: left.created,
        updated: event.time,
        state,
        version: left.version,
        players: left.players,
        expires: None,
        deadline: None,
        summary: String::new(),
    })
}
