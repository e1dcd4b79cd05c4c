//! A file that takes in another store.

use super::archive::{SqliteArchive, making, tombstone};
use super::condition::Condition;
use super::errors::Failure;
use super::heads::Heads;
use super::open;
use super::pool::Pool;
use super::queue::Queue;
use super::writer::Writer;
use super::writes::{EventRow, insert_creation, insert_event, insert_head, insertion, is_taken};
use super::{OpenError, Options, origin, reads};
use crate::store::archive::{Archive, Begun, Intake, Making, Part, Taken, Tombstone};
use crate::store::{Head, Micros, StoreError, StoreMetrics, StoredEvent};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::Arc;

/// A store in one SQLite file that takes in another one. No server can open it meanwhile.
pub struct SqliteIntake {
    archive: SqliteArchive,
    writer: Queue,
}

impl SqliteIntake {
    /// Opens the store at `path`, or makes it. One that is half copied opens too.
    pub fn open(path: &Path) -> Result<SqliteIntake, OpenError> {
        let options = Options::default();
        let opened = open::open_to_take_in(path, &options)?;
        let condition = Arc::new(Condition::writable());
        let archive = SqliteArchive::over(Pool::new(opened.readers, condition.clone()));
        let writer = Queue::start(condition.clone(), |inbox| Writer {
            connection: opened.writer,
            inbox,
            condition: condition.clone(),
            retry_every: options.retry_every,
            metrics: StoreMetrics::default(),
            lock: opened.lock,
        })
        .map_err(|error| OpenError::io(path, error))?;
        Ok(SqliteIntake { archive, writer })
    }

    /// How the store at `path` stands that is to be copied into from there. Nothing is changed or made.
    pub fn standing(path: &Path, from: &str) -> Result<Begun, OpenError> {
        if !path.try_exists().map_err(|error| OpenError::io(path, error))? {
            return Ok(Begun::New);
        }
        open::look(path, &Options::default(), |connection| origin::standing(connection, from))
    }
}

#[async_trait]
impl Intake for SqliteIntake {
    fn archive(&self) -> &dyn Archive {
        &self.archive
    }

    async fn begin(&self, from: &str, now: Micros) -> Result<Begun, StoreError> {
        let from = from.to_owned();
        self.writer.write(move |connection| origin::mark(connection, &from, now)).await
    }

    async fn take_sessions(&self, parts: Vec<Part>) -> Result<Taken, StoreError> {
        let take = move |connection: &Connection, heads: &mut Heads| {
            parts.iter().for_each(|part| heads.forget(&part.head.session_id));
            each(&parts, |part| take_part(connection, part))
        };
        self.writer.change(take).await
    }

    async fn take_tombstones(&self, tombstones: Vec<Tombstone>) -> Result<Taken, StoreError> {
        self.writer.write(move |connection| each(&tombstones, |tombstone| take_tombstone(connection, tombstone))).await
    }

    async fn take_makings(&self, makings: Vec<Making>) -> Result<Taken, StoreError> {
        self.writer.write(move |connection| each(&makings, |making| take_making(connection, making))).await
    }

    async fn finish(&self) -> Result<(), StoreError> {
        self.writer.write(origin::unmark).await
    }

    async fn close(&self) {
        self.archive.close().await;
        self.writer.close().await;
    }
}

/// Takes in one after the other, until one is different.
fn each<T>(items: &[T], take: impl Fn(&T) -> Result<Taken, Failure>) -> Result<Taken, Failure> {
    let mut new = 0;
    for item in items {
        match take(item)? {
            Taken::Done(count) => new += count,
            different @ Taken::Different(_) => return Ok(different),
        }
    }
    Ok(Taken::Done(new))
}

fn take_part(connection: &Connection, part: &Part) -> Result<Taken, Failure> {
    let id = &part.head.session_id;
    let there = reads::head(connection, id)?;
    let version = there.as_ref().map_or(0, |head| head.version);
    // While parts are missing the head says so by its version, and all else in it is as it will be.
    if there.is_some_and(|there| Head { version: part.head.version, ..there } != part.head) {
        return Ok(Taken::Different(format!("session {id} is there and is another, or has changed in one of the two stores")));
    }
    let known = part.events.iter().take_while(|event| event.seq <= version).count();
    let new = &part.events[known..];
    let Some(last) = new.last() else { return Ok(Taken::Done(0)) };
    if !new.iter().map(|event| event.seq).eq(version + 1..=last.seq) {
        return Ok(Taken::Different(format!("session {id} has {version} events, and not event {}", version + 1)));
    }
    let session = if version == 0 {
        if is_taken(connection, id)? {
            return Ok(Taken::Different(format!("session {id} was deleted")));
        }
        insert_head(connection, &Head { version: last.seq, ..part.head.clone() })?
    } else {
        connection
            .prepare_cached(
                "UPDATE sessions SET version = ?2,
                                     checksum = checksum(session_id, game, state, created, updated, ?2, labels, summary,
                                                         south_player, north_player, expires, deadline, minute)
                 WHERE session_id = ?1 RETURNING key",
            )?
            .query_row(params![id, last.seq], |row| row.get(0))?
    };
    insert_events(connection, session, version, new)?;
    Ok(Taken::Done(new.len()))
}

/// Adds events to a session of this version.
fn insert_events(connection: &Connection, session: i64, version: u32, events: &[StoredEvent]) -> Result<(), Failure> {
    let mut before: Option<String> = connection
        .prepare_cached("SELECT request_id FROM events WHERE session = ?1 AND seq = ?2")?
        .query_row((session, version), |row| row.get(0))
        .optional()?
        .flatten();
    let mut insert = insertion(connection)?;
    for StoredEvent { seq, time, request, body, hash } in events {
        let id = request.as_ref().map(|request| &request.id);
        let first = id.is_none() || id != before.as_ref();
        let row = EventRow { session, seq: *seq, time: *time, first, request: request.as_ref(), body, hash: hash.as_ref() };
        if !insert_event(&mut insert, &row)? {
            return Err(Failure::Rows(format!("event {seq} bears a request id that its session has used before")));
        }
        before = id.cloned();
    }
    Ok(())
}

fn take_tombstone(connection: &Connection, new: &Tombstone) -> Result<Taken, Failure> {
    let Tombstone { session_id, deleted, request } = new;
    match tombstone(connection, session_id)? {
        Some(there) if there == *new => return Ok(Taken::Done(0)),
        None if !is_taken(connection, session_id)? => {}
        _ => return Ok(Taken::Different(format!("session {session_id} is there, or was deleted otherwise"))),
    }
    let (id, digest) = (request.as_ref().map(|request| &request.id), request.as_ref().map(|request| request.digest));
    connection
        .prepare_cached(
            "INSERT INTO tombstones (session_id, deleted, request_id, digest, checksum)
             VALUES (?1, ?2, ?3, ?4, checksum(?1, ?2, ?3, ?4))",
        )?
        .execute(params![session_id, deleted, id, digest])?;
    Ok(Taken::Done(1))
}

fn take_making(connection: &Connection, new: &Making) -> Result<Taken, Failure> {
    let Making { request, sessions } = new;
    if let Some(there) = making(connection, &request.id)? {
        let same = there == *new;
        let different = || Taken::Different(format!("request {} is there and has made something else", request.id));
        return Ok(if same { Taken::Done(0) } else { different() });
    }
    for (place, made) in sessions.iter().enumerate() {
        if place == 0 {
            insert_creation(connection, request, &made.session_id)?;
        } else {
            connection
                .prepare_cached(
                    "INSERT INTO batches (request_id, place, session_id, checksum) VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3))",
                )?
                .execute(params![request.id, place as i64, made.session_id])?;
        }
    }
    Ok(Taken::Done(1))
}
