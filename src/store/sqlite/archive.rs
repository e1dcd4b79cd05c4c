//! The store read from end to end, by a connection that can't write.

use super::checksum::{BATCH_IS_SOUND, CREATION_IS_SOUND, EVENT_IS_SOUND, TOMBSTONE_IS_SOUND, expect_sound};
use super::errors::Failure;
use super::lock::Lock;
use super::open;
use super::pool::Pool;
use super::reads::{self, head_of, request, select_heads};
use super::{OpenError, Options, changes, schema, whole};
use crate::store::archive::{Archive, Hold, Limit, MadeSession, Making, Mark, Part, Piece, Portion, Tombstone, Totals};
use crate::store::{Cursor, EventHash, Head, Request, StoreError, StoredEvent};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;
use std::sync::Arc;

/// A store in one SQLite file, to be read only.
pub struct SqliteArchive {
    readers: Pool,
    /// Keeps servers off the file.
    _lock: Option<Lock>,
}

impl SqliteArchive {
    /// Opens the store at `path`, without changing the file. A server may run on it, unless it is to be held.
    pub fn open(path: &Path, hold: Hold) -> Result<SqliteArchive, OpenError> {
        let (readers, lock) = open::open_to_read(path, &Options::default(), hold)?;
        let condition = Arc::new(super::condition::Condition::writable());
        Ok(SqliteArchive { readers: Pool::new(readers, condition), _lock: lock })
    }

    /// Over the connections of a store that is open.
    pub(super) fn over(readers: Pool) -> SqliteArchive {
        SqliteArchive { readers, _lock: None }
    }

    /// Waits for what is being read, then closes.
    pub async fn close(&self) {
        self.readers.close().await;
    }
}

#[async_trait]
impl Archive for SqliteArchive {
    async fn sessions(&self, from: Mark, limit: Limit) -> Result<Portion, StoreError> {
        self.readers.read(move |connection| sessions(connection, &from, limit)).await
    }

    async fn tombstones(&self, after: &str, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let after = after.to_owned();
        self.readers.read(move |connection| tombstones(connection, &after, limit)).await
    }

    async fn makings(&self, after: &str, limit: usize) -> Result<Vec<Making>, StoreError> {
        let after = after.to_owned();
        self.readers.read(move |connection| makings(connection, &after, limit)).await
    }

    async fn made_by(&self, request_ids: Vec<String>) -> Result<Vec<Option<Making>>, StoreError> {
        self.readers.read(move |connection| request_ids.iter().map(|id| making(connection, id)).collect()).await
    }

    async fn totals(&self) -> Result<Totals, StoreError> {
        self.readers.read(totals).await
    }

    async fn latest(&self) -> Result<Cursor, StoreError> {
        self.readers.read(changes::end).await
    }

    /// Goes through the whole file.
    async fn damage(&self) -> Result<Option<String>, StoreError> {
        self.readers.read(|connection| Ok(whole::damage(connection, schema::VERSION)?)).await
    }
}

fn sessions(connection: &Connection, from: &Mark, limit: Limit) -> Result<Portion, Failure> {
    // One snapshot for all of them.
    let transaction = connection.unchecked_transaction()?;
    let mut select = transaction.prepare_cached(&select_heads("session_id >= ?1 ORDER BY session_id"))?;
    let mut rows = select.query([&from.session_id])?;
    let mut room = limit;
    let mut pieces: Vec<Piece> = Vec::new();
    while let Some(row) = rows.next()? {
        let session_id: String = row.get(0)?;
        let after = if session_id == from.session_id { from.version } else { 0 };
        if after == Mark::END {
            continue;
        }
        let piece = match read_part(&transaction, row, after, &mut room) {
            Ok(part) => Piece::Part(part),
            Err(Failure::Rows(what)) => Piece::Unreadable { session_id, what },
            Err(failure) => return Err(failure),
        };
        pieces.push(piece);
        match pieces.last() {
            Some(Piece::Part(part)) if !part.is_last => {
                let version = part.events.last().map_or(after, |event| event.seq);
                // A session that a whole portion has room for is not torn apart.
                let mark = if pieces.len() == 1 {
                    Mark { session_id: part.head.session_id.clone(), version }
                } else {
                    pieces.pop();
                    pieces.last().map_or_else(Mark::start, |piece| Mark::after(piece.session_id()))
                };
                return Ok(Portion { pieces, next: Some(mark) });
            }
            Some(piece) if room.events == 0 || room.bytes == 0 => {
                let mark = Mark::after(piece.session_id());
                return Ok(Portion { pieces, next: Some(mark) });
            }
            _ => {}
        }
    }
    Ok(Portion { pieces, next: None })
}

/// A session's events after one, as many as there is room for.
fn read_part(connection: &Connection, row: &Row<'_>, after: u32, room: &mut Limit) -> Result<Part, Failure> {
    // Also what can't be read takes room, or a store full of it would be read at once.
    room.events = room.events.saturating_sub(1);
    let head: Head = head_of(row)?;
    let key: i64 = row.get(13)?;
    let mut select = connection.prepare_cached(&format!(
        "SELECT seq, time, request_id, digest, body, hash, {EVENT_IS_SOUND} FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq",
    ))?;
    let mut rows = select.query((key, after))?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        if !events.is_empty() && (room.events == 0 || room.bytes == 0) {
            return Ok(Part { head, events, is_last: false });
        }
        expect_sound(row, 6)?;
        let hash: Option<[u8; 32]> = row.get(5)?;
        let event = StoredEvent {
            seq: row.get(0)?,
            time: row.get(1)?,
            request: request(row, 2)?,
            body: row.get(4)?,
            hash: hash.map(EventHash::new),
        };
        room.events = room.events.saturating_sub(usize::from(!events.is_empty()));
        room.bytes = room.bytes.saturating_sub(event.body.len());
        events.push(event);
    }
    Ok(Part { head, events, is_last: true })
}

fn tombstones(connection: &Connection, after: &str, limit: usize) -> Result<Vec<Tombstone>, Failure> {
    let mut select = connection.prepare_cached(&select_tombstones("session_id > ?1 ORDER BY session_id LIMIT ?2"))?;
    let tombstones = select.query_map((after, reads::sql_limit(limit)), tombstone_of)?;
    Ok(tombstones.collect::<rusqlite::Result<_>>()?)
}

fn select_tombstones(condition: &str) -> String {
    format!("SELECT session_id, deleted, request_id, digest, {TOMBSTONE_IS_SOUND} FROM tombstones WHERE {condition}")
}

fn tombstone_of(row: &Row<'_>) -> rusqlite::Result<Tombstone> {
    expect_sound(row, 4)?;
    Ok(Tombstone { session_id: row.get(0)?, deleted: row.get(1)?, request: request(row, 2)? })
}

pub(super) fn tombstone(connection: &Connection, session_id: &str) -> Result<Option<Tombstone>, Failure> {
    let sql = select_tombstones("session_id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([session_id], tombstone_of).optional()?)
}

fn makings(connection: &Connection, after: &str, limit: usize) -> Result<Vec<Making>, Failure> {
    let transaction = connection.unchecked_transaction()?;
    let mut select =
        transaction.prepare_cached("SELECT request_id FROM creations WHERE request_id > ?1 ORDER BY request_id LIMIT ?2")?;
    let ids = select.query_map((after, reads::sql_limit(limit)), |row| row.get(0))?;
    let ids = ids.collect::<rusqlite::Result<Vec<String>>>()?;
    ids.iter().filter_map(|id| making(&transaction, id).transpose()).collect()
}

pub(super) fn making(connection: &Connection, request_id: &str) -> Result<Option<Making>, Failure> {
    let sql = format!("SELECT request_id, digest, session_id, {CREATION_IS_SOUND} FROM creations WHERE request_id = ?1");
    let first = connection.prepare_cached(&sql)?.query_row([request_id], |row| {
        expect_sound(row, 3)?;
        Ok((Request { id: row.get(0)?, digest: row.get(1)? }, row.get::<_, String>(2)?))
    });
    let Some((request, first)) = first.optional()? else { return Ok(None) };
    let sql = format!("SELECT session_id, {BATCH_IS_SOUND} FROM batches WHERE request_id = ?1 ORDER BY place");
    let mut select = connection.prepare_cached(&sql)?;
    let others = select.query_map([request_id], |row| expect_sound(row, 1).and_then(|()| row.get(0)))?;
    let others = others.collect::<rusqlite::Result<Vec<String>>>()?;
    let sessions = std::iter::once(first).chain(others).map(|session_id| {
        let is_known = super::writes::is_taken(connection, &session_id)?;
        Ok(MadeSession { session_id, is_known })
    });
    Ok(Some(Making { request, sessions: sessions.collect::<rusqlite::Result<_>>()? }))
}

fn totals(connection: &Connection) -> Result<Totals, Failure> {
    let transaction = connection.unchecked_transaction()?;
    let number = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    Ok(Totals {
        sessions: number("SELECT count(*) FROM sessions")?,
        events: number("SELECT coalesce(sum(version), 0) FROM sessions")?,
        tombstones: number("SELECT count(*) FROM tombstones")?,
        makings: number("SELECT count(*) FROM creations")?,
    })
}
