//! The reads, each as a function of a connection. What contradicts itself is damage, never an empty answer.

use super::checksum::{CREATION_IS_SOUND, EVENT_IS_SOUND, SESSION_IS_SOUND, expect_sound};
use super::errors::Failure;
use crate::store::{Creation, EventHash, Head, Request, State, StoredEvent};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

/// A statement that reads heads, of the sessions that a condition chooses; in column 13 their keys.
pub(super) fn select_heads(condition: &str) -> String {
    format!(
        "SELECT session_id, game, state, created, updated, version, labels, summary, south_player, north_player, expires, deadline,
                {SESSION_IS_SOUND}, key
         FROM sessions WHERE {condition}"
    )
}

pub(super) fn head(connection: &Connection, session_id: &str) -> Result<Option<Head>, Failure> {
    Ok(connection.prepare_cached(&select_heads("session_id = ?1"))?.query_row([session_id], head_of).optional()?)
}

pub(super) fn heads(connection: &Connection, session_ids: &[String]) -> Result<Vec<Option<Head>>, Failure> {
    let transaction = connection.unchecked_transaction()?;
    session_ids.iter().map(|session_id| head(&transaction, session_id)).collect()
}

pub(super) fn versions(connection: &Connection, session_ids: &[String]) -> Result<Vec<Option<u32>>, Failure> {
    let transaction = connection.unchecked_transaction()?;
    let sql = format!("SELECT version, {SESSION_IS_SOUND} FROM sessions WHERE session_id = ?1");
    let mut select = transaction.prepare_cached(&sql)?;
    let version = |row: &Row<'_>| expect_sound(row, 1).and_then(|()| row.get(0));
    let versions = session_ids.iter().map(|session_id| select.query_row([session_id], version).optional());
    Ok(versions.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn creation(connection: &Connection, request_id: &str) -> Result<Option<Creation>, Failure> {
    let found = connection
        .prepare_cached(&format!(
            "SELECT c.request_id, c.digest, c.session_id, EXISTS (SELECT 1 FROM tombstones t WHERE t.session_id = c.session_id),
                    {CREATION_IS_SOUND}
             FROM creations c WHERE c.request_id = ?1"
        ))?
        .query_row([request_id], |row| {
            expect_sound(row, 4)?;
            let request = Request { id: row.get(0)?, digest: row.get(1)? };
            Ok(Creation { session_id: row.get(2)?, request, deleted: row.get(3)? })
        })
        .optional()?;
    Ok(found)
}

pub(super) fn events(
    connection: &Connection,
    session_id: &str,
    after: u32,
    limit: usize,
) -> Result<Option<Vec<StoredEvent>>, Failure> {
    // One snapshot for the session and its events.
    let transaction = connection.unchecked_transaction()?;
    let session = transaction
        .prepare_cached("SELECT key, version FROM sessions WHERE session_id = ?1")?
        .query_row([session_id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)))
        .optional()?;
    let Some((key, version)) = session else {
        return Ok(None);
    };
    let mut select = transaction.prepare_cached(&format!(
        "SELECT seq, time, request_id, digest, body, hash, {EVENT_IS_SOUND}
         FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    ))?;
    let events = select
        .query_map((key, after, sql_limit(limit)), |row| {
            expect_sound(row, 6)?;
            let hash: Option<[u8; 32]> = row.get(5)?;
            Ok(StoredEvent {
                seq: row.get(0)?,
                time: row.get(1)?,
                request: request(row, 2)?,
                body: row.get(4)?,
                hash: hash.map(EventHash::new),
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    check_dense(session_id, after, limit, version, &events)?;
    Ok(Some(events))
}

/// The events must be those that the version promises: no gap, none missing at the end, none too many.
fn check_dense(session_id: &str, after: u32, limit: usize, version: u32, events: &[StoredEvent]) -> Result<(), Failure> {
    let expected = (version.saturating_sub(after) as usize).min(limit);
    let dense = events.iter().zip(1..).all(|(event, place)| u64::from(event.seq) == u64::from(after) + place);
    if dense && events.len() == expected {
        return Ok(());
    }
    let seqs = events.len();
    Err(Failure::Rows(format!(
        "session {session_id} has version {version}, but after event {after} its events are not the {expected} that follow (found {seqs})"
    )))
}

pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A head from what [`select_heads`] reads.
pub(super) fn head_of(row: &Row<'_>) -> rusqlite::Result<Head> {
    expect_sound(row, 12)?;
    let labels: String = row.get(6)?;
    Ok(Head {
        session_id: row.get(0)?,
        game: row.get(1)?,
        state: state(row, 2)?,
        created: row.get(3)?,
        updated: row.get(4)?,
        version: row.get(5)?,
        labels: serde_json::from_str(&labels)
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, Box::new(error)))?,
        summary: row.get(7)?,
        players: [row.get(8)?, row.get(9)?],
        expires: row.get(10)?,
        deadline: row.get(11)?,
    })
}

fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<State> {
    let code = row.get(column)?;
    state_of(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, code))
}

/// The state that a number stands for, as `writes::state_code` wrote it.
pub(super) fn state_of(code: i64) -> Option<State> {
    match code {
        0 => Some(State::Active),
        1 => Some(State::Finished),
        2 => Some(State::Aborted),
        _ => None,
    }
}

/// The request in two columns, of which the first may be NULL.
pub(super) fn request(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Request>> {
    let id: Option<String> = row.get(column)?;
    id.map(|id| Ok(Request { id, digest: row.get(column + 1)? })).transpose()
}
