//! The row that a copy leaves in the store that it has made: where the sessions came from, whether all of them have, and
//! where the store's own order of changes begins.

use super::checksum::{EVENT_IS_SOUND, expect_sound};
use super::errors::Failure;
use crate::store::Micros;
use crate::store::archive::Begun;
use rusqlite::{Connection, OptionalExtension, params};

/// No session has this key. The event that bears it says that the store was copied. Its place comes after those of all stores that
/// the sessions have been in: there, a place is the number of changes until then, or follows on such a row, and a store takes in less
/// than a change a microsecond.
const COPIED: i64 = -1;

/// Where a store was copied from.
#[derive(serde::Serialize, serde::Deserialize)]
struct Origin {
    from: String,
    /// All that there is has been copied.
    whole: bool,
}

/// Where a store comes from that is half copied; `None` if it is not.
pub(super) fn half_copied_from(connection: &Connection) -> Result<Option<String>, Failure> {
    Ok(read(connection)?.and_then(|origin| (!origin.whole).then_some(origin.from)))
}

/// The place that the order of changes begins after.
pub(super) fn first_place(connection: &Connection) -> rusqlite::Result<i64> {
    let place = connection
        .prepare_cached("SELECT place FROM events WHERE session = ?1 AND seq = 1")?
        .query_row([COPIED], |row| row.get(0))
        .optional()?;
    Ok(place.unwrap_or(0))
}

/// How a store stands that is to be copied into from there.
pub(super) fn standing(connection: &Connection, from: &str) -> Result<Begun, Failure> {
    Ok(match read(connection)? {
        Some(origin) if origin.from != from => Begun::OtherSource(origin.from),
        Some(origin) if origin.whole => Begun::Whole,
        Some(_) => Begun::Resumed,
        None if is_empty(connection)? => Begun::New,
        None => Begun::InUse,
    })
}

/// Marks a store that stands empty.
pub(super) fn mark(connection: &Connection, from: &str, now: Micros) -> Result<Begun, Failure> {
    let begun = standing(connection, from)?;
    if begun == Begun::New {
        connection
            .prepare_cached(
                "INSERT INTO events (place, session, seq, time, first, body, checksum)
                 VALUES (?1, ?2, 1, ?1, 1, ?3, checksum(?2, 1, ?1, 1, NULL, NULL, ?3, NULL))",
            )?
            .execute(params![now, COPIED, text(&Origin { from: from.to_owned(), whole: false })])?;
    }
    Ok(begun)
}

/// Takes the mark away, if it is there.
pub(super) fn unmark(connection: &Connection) -> Result<(), Failure> {
    if let Some(origin) = read(connection)? {
        connection
            .prepare_cached(
                "UPDATE events SET body = ?2, checksum = checksum(session, seq, time, first, request_id, digest, ?2, hash)
                 WHERE session = ?1 AND seq = 1",
            )?
            .execute(params![COPIED, text(&Origin { whole: true, ..origin })])?;
    }
    Ok(())
}

fn read(connection: &Connection) -> Result<Option<Origin>, Failure> {
    let text: Option<String> = connection
        .prepare_cached(&format!("SELECT body, {EVENT_IS_SOUND} FROM events WHERE session = ?1 AND seq = 1"))?
        .query_row([COPIED], |row| expect_sound(row, 1).and_then(|()| row.get(0)))
        .optional()?;
    let read = |text: String| serde_json::from_str(&text).map_err(|error| Failure::Rows(format!("the mark of a copy: {error}")));
    text.map(read).transpose()
}

fn text(origin: &Origin) -> String {
    serde_json::to_string(origin).expect("texts and flags are JSON")
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM events) AND NOT EXISTS (SELECT 1 FROM sessions)
            AND NOT EXISTS (SELECT 1 FROM tombstones) AND NOT EXISTS (SELECT 1 FROM creations)",
        [],
        |row| row.get(0),
    )
}
