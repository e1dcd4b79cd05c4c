//! The writes, each one statement that commits by itself. A statement that changed nothing was refused; then another one finds out why,
//! and, where an earlier attempt may have been carried out, whether it was.

use super::errors::damaged;
use super::link::{Link, Written};
use super::reads::{bytes, get, number, request, state_code};
use super::sql;
use super::text::stored;
use crate::store::{Append, Appended, Delete, Deleted, Micros, Request, StoreError};
use tokio::time::Instant;

/// Adds events to one session. `doubted`: an attempt at it may have been carried out already.
pub(super) async fn append(link: &Link, append: &Append, deadline: Instant, doubted: bool) -> Result<Appended, StoreError> {
    let session_id = stored(&append.session_id);
    let expected = i64::from(append.expected_version);
    let version = expected + append.events.len() as i64;
    let seqs: Vec<i64> = (expected + 1..=version).collect();
    let bodies: Vec<_> = append.events.iter().map(|body| stored(body)).collect();
    let hashes: Vec<&[u8]> = append.hashes.iter().map(|hash| hash.bytes().as_slice()).collect();
    let players = append.players.each_ref().map(|player| player.as_deref().map(stored));
    let (request_id, digest) = columns(append.request.as_ref());
    let request_id = request_id.map(stored);
    let statement = if append.deadline.is_some() { sql::APPEND_WITH_CLOCK } else { sql::APPEND };
    let written = link
        .write_until(
            statement,
            &[
                &session_id,
                &expected,
                &version,
                &append.time,
                &minute(append.time),
                &state_code(append.state),
                &players[0],
                &players[1],
                &append.expires,
                &append.deadline,
                &stored(&append.summary),
                &request_id,
                &digest,
                &seqs,
                &bodies,
                &hashes,
            ],
            deadline,
        )
        .await
        .map_err(|error| if doubted { StoreError::Unknown(error.to_string()) } else { error })?;
    let written = Written { in_doubt: written.in_doubt || doubted, ..written };
    if written.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
        return Ok(Appended::Done);
    }
    match standing(link, &append.session_id, expected + 1, &written).await? {
        None | Some(Standing { deleted: Some(_), .. }) => Ok(Appended::NotFound),
        Some(Standing { hash: Some(hash), .. }) if written.in_doubt && hash == *append.hashes[0].bytes() => {
            link.confirm(&written).await?;
            Ok(Appended::Done)
        }
        Some(_) => Ok(Appended::Conflict),
    }
}

pub(super) async fn delete(link: &Link, delete: &Delete) -> Result<Deleted, StoreError> {
    let session_id = stored(&delete.session_id);
    let deadline = Instant::now() + link.options().write_timeout;
    let (request_id, digest) = columns(delete.request.as_ref());
    let request_id = request_id.map(stored);
    let sql = sql::delete();
    let mut written = Written { rows: None, in_doubt: false, deadline };
    let mut version = delete.expected_version;
    loop {
        if let Some(version) = version {
            let now = link
                .write_until(&sql, &[&session_id, &i64::from(version), &delete.time, &request_id, &digest], deadline)
                .await
                // What an earlier round has left in doubt stays in doubt.
                .map_err(|error| if written.in_doubt { StoreError::Unknown(error.to_string()) } else { error })?;
            if now.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
                return Ok(Deleted::Done);
            }
            written.in_doubt |= now.in_doubt;
        }
        let standing = standing(link, &delete.session_id, 0, &written).await?;
        match (standing, delete.expected_version) {
            (None, _) => return Ok(Deleted::NotFound),
            (Some(Standing { deleted: Some(deletion), .. }), _) => {
                if written.in_doubt && deletion.time == delete.time && deletion.request == delete.request {
                    link.confirm(&written).await?;
                    return Ok(Deleted::Done);
                }
                return Ok(Deleted::Gone(deletion.request));
            }
            (Some(standing), Some(expected)) if standing.version != expected => return Ok(Deleted::Conflict(standing.version)),
            // It has changed since it was looked at, or this is the first look.
            (Some(standing), _) => version = Some(standing.version),
        }
        if Instant::now() >= deadline {
            return Err(StoreError::Unavailable(format!("session {} changes too fast to be deleted", delete.session_id)));
        }
    }
}

/// Where a session stands.
pub(super) struct Standing {
    pub version: u32,
    pub created: Micros,
    pub deleted: Option<Deletion>,
    /// The hash of the event that was asked for, if it has that one.
    pub hash: Option<[u8; 32]>,
}

/// What is left of a session.
pub(super) struct Deletion {
    time: Micros,
    request: Option<Request>,
}

/// Where a session stands after a write.
pub(super) async fn standing(
    link: &Link,
    session_id: &str,
    event: i64,
    written: &Written,
) -> Result<Option<Standing>, StoreError> {
    let rows = link.settle(sql::STANDING, &[&stored(session_id), &event], written).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let deleted = match get::<Option<Micros>>(row, 2)? {
        Some(time) => Some(Deletion { time, request: request(row, 3)? }),
        None => None,
    };
    let hash = get::<Option<&[u8]>>(row, 5)?.map(|_| bytes(row, 5)).transpose()?;
    Ok(Some(Standing { version: number(row, 0)?, created: get(row, 1)?, deleted, hash }))
}

pub(super) fn columns(request: Option<&Request>) -> (Option<&str>, Option<&[u8]>) {
    (request.map(|request| request.id.as_str()), request.map(|request| request.digest.as_slice()))
}

/// The minute of a time, by which changed sessions are found.
pub(super) const fn minute(time: Micros) -> i64 {
    time.div_euclid(60_000_000)
}

/// A creation that was refused though nothing stands in its way.
pub(super) fn inexplicable() -> StoreError {
    damaged("a session could not be made, though neither its id nor its request is known")
}
