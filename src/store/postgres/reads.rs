//! The reads of sessions, each one statement. What contradicts itself is damage, never an empty answer.

use super::errors::damaged;
use super::link::Link;
use super::sql;
use super::text::{self, stored};
use crate::store::{Creation, EventHash, Head, Request, State, StoreError, StoredEvent};
use std::borrow::Cow;
use std::collections::HashMap;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

pub(super) async fn heads(link: &Link, session_ids: &[String]) -> Result<Vec<Option<Head>>, StoreError> {
    if session_ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = link.query(&sql::heads(), &[&ids(session_ids)]).await?;
    let heads = rows.iter().map(|row| head(row, 0).map(|head| (head.session_id.clone(), head)));
    let heads: HashMap<_, _> = heads.collect::<Result<_, StoreError>>()?;
    Ok(session_ids.iter().map(|id| heads.get(id).cloned()).collect())
}

pub(super) async fn versions(link: &Link, session_ids: &[String]) -> Result<Vec<Option<u32>>, StoreError> {
    if session_ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = link.query(sql::VERSIONS, &[&ids(session_ids)]).await?;
    let versions = rows.iter().map(|row| Ok((text_in(row, 0)?, number(row, 1)?)));
    let versions: HashMap<String, u32> = versions.collect::<Result<_, StoreError>>()?;
    Ok(session_ids.iter().map(|id| versions.get(id).copied()).collect())
}

/// What a request has made, at most so many.
pub(super) async fn creations(link: &Link, request_id: &str, most: i64) -> Result<Vec<Creation>, StoreError> {
    creations_of(&link.query(sql::CREATIONS, &[&stored(request_id), &most]).await?)
}

/// Creations from the rows of [`sql::CREATIONS`].
pub(super) fn creations_of(rows: &[Row]) -> Result<Vec<Creation>, StoreError> {
    let creations = rows.iter().map(|row| {
        let request = request(row, 0)?.ok_or_else(|| damaged("a creation has no request"))?;
        Ok(Creation { session_id: text_in(row, 2)?, request, deleted: get(row, 3)? })
    });
    creations.collect()
}

pub(super) async fn events(
    link: &Link,
    session_id: &str,
    after: u32,
    limit: usize,
) -> Result<Option<Vec<StoredEvent>>, StoreError> {
    let rows = link.query(sql::EVENTS, &[&stored(session_id), &i64::from(after), &sql_limit(limit)]).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let version = number(first, 0)?;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        if get::<Option<i64>>(row, 1)?.is_some() {
            events.push(event(row, [1, 2, 3, 5, 6])?);
        }
    }
    check_dense(session_id, after, limit, version, &events)?;
    Ok(Some(events))
}

/// The events must be those that the version promises: no gap, none missing at the end, none too many.
fn check_dense(session_id: &str, after: u32, limit: usize, version: u32, events: &[StoredEvent]) -> Result<(), StoreError> {
    let expected = (version.saturating_sub(after) as usize).min(limit);
    let dense = events.iter().zip(1..).all(|(event, place)| u64::from(event.seq) == u64::from(after) + place);
    if dense && events.len() == expected {
        return Ok(());
    }
    Err(damaged(format!(
        "session {session_id} has version {version}, but after event {after} its events are not the {expected} that follow (found {})",
        events.len()
    )))
}

/// Ids as they are stored.
pub(super) fn ids(session_ids: &[String]) -> Vec<Cow<'_, str>> {
    session_ids.iter().map(|id| stored(id)).collect()
}

pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// An event from the columns of its number, time, request, body and hash. The request's digest follows its id.
pub(super) fn event(row: &Row, [seq, time, request_id, body, hash]: [usize; 5]) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        seq: number(row, seq)?,
        time: get(row, time)?,
        request: request(row, request_id)?,
        body: text_in(row, body)?,
        hash: Some(EventHash::new(bytes(row, hash)?)),
    })
}

/// A head from the columns [`sql::HEAD`], of which this is the first.
pub(super) fn head(row: &Row, first: usize) -> Result<Head, StoreError> {
    let session_id = text_in(row, first)?;
    let labels: String = get(row, first + 6)?;
    let labels = serde_json::from_str(&labels).map_err(|error| damaged(format!("labels of session {session_id}: {error}")))?;
    let code: i16 = get(row, first + 2)?;
    let state = state_of(code).ok_or_else(|| damaged(format!("session {session_id} is in state {code}")))?;
    Ok(Head {
        session_id,
        game: text_in(row, first + 1)?,
        labels,
        created: get(row, first + 3)?,
        updated: get(row, first + 4)?,
        state,
        version: number(row, first + 5)?,
        players: [text_or_none(row, first + 8)?, text_or_none(row, first + 9)?],
        expires: get(row, first + 10)?,
        deadline: get(row, first + 11)?,
        summary: text_in(row, first + 7)?,
    })
}

/// The number that stands for a state in the tables.
pub(super) const fn state_code(state: State) -> i16 {
    match state {
        State::Active => 0,
        State::Finished => 1,
        State::Aborted => 2,
    }
}

pub(super) const fn state_of(code: i16) -> Option<State> {
    match code {
        0 => Some(State::Active),
        1 => Some(State::Finished),
        2 => Some(State::Aborted),
        _ => None,
    }
}

/// The request in two columns, of which the first may be NULL.
pub(super) fn request(row: &Row, column: usize) -> Result<Option<Request>, StoreError> {
    text_or_none(row, column)?.map(|id| Ok(Request { id, digest: bytes(row, column + 1)? })).transpose()
}

pub(super) fn text_in(row: &Row, column: usize) -> Result<String, StoreError> {
    Ok(text::read(get(row, column)?))
}

fn text_or_none(row: &Row, column: usize) -> Result<Option<String>, StoreError> {
    Ok(get::<Option<String>>(row, column)?.map(text::read))
}

/// A number of events.
pub(super) fn number(row: &Row, column: usize) -> Result<u32, StoreError> {
    let number: i64 = get(row, column)?;
    u32::try_from(number).map_err(|_| damaged(format!("{number} is no number of events")))
}

/// 32 bytes.
pub(super) fn bytes(row: &Row, column: usize) -> Result<[u8; 32], StoreError> {
    let bytes: &[u8] = get(row, column)?;
    bytes.try_into().map_err(|_| damaged(format!("{} bytes where there must be 32", bytes.len())))
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| damaged(format!("a row can't be read: {error}")))
}
