//! The writes to one session, each as a function of the writer's connection inside a transaction.
//!
//! A write that is refused has changed nothing, by the order of its steps: what may refuse it comes first.

use super::changes::note_deletion;
use super::checksum::{self, TOMBSTONE_IS_SOUND, expect_sound};
use super::errors::Failure;
use super::heads::{self, Heads, Indexed, Known};
use super::reads;
use crate::store::{Append, Appended, Create, Created, Delete, Deleted, EventHash, Head, Micros, Request, State};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, Statement, params};
use std::slice;

/// The number that stands for a state in the tables.
pub(super) fn state_code(state: State) -> i64 {
    match state {
        State::Active => 0,
        State::Finished => 1,
        State::Aborted => 2,
    }
}

pub(super) fn create(connection: &Connection, create: &Create) -> Result<Created, Failure> {
    if let Some(request) = &create.request
        && let Some(creation) = reads::creation(connection, &request.id)?
    {
        return Ok(Created::Repeated(creation));
    }
    if is_taken(connection, &create.head.session_id)? {
        return Ok(Created::IdTaken);
    }
    if let Some(request) = &create.request {
        insert_creation(connection, request, &create.head.session_id)?;
    }
    insert(connection, create, create.request.as_ref())?;
    Ok(Created::Done)
}

/// Inserts a session whose id is free; `request` is what its first events bear.
pub(super) fn insert(connection: &Connection, create: &Create, request: Option<&Request>) -> Result<(), Failure> {
    let head = &create.head;
    let session = insert_head(connection, head)?;
    let hashes = create.hashes(request);
    let events = Events { session, after: 0, time: head.created, request, bodies: &create.events, hashes: &hashes };
    let mut insert = insertion(connection)?;
    if !insert_events(&mut insert, &events)? {
        return Err(Failure::Rows(format!("session {} is new but has events", head.session_id)));
    }
    Ok(())
}

/// Inserts a session without its events, and gives its key.
pub(super) fn insert_head(connection: &Connection, head: &Head) -> rusqlite::Result<i64> {
    let key = insert_session(connection, head)?;
    insert_labels(connection, key, head)?;
    insert_players(connection, key, head)?;
    Ok(key)
}

/// Remembers which session a request has made.
pub(super) fn insert_creation(connection: &Connection, request: &Request, session_id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO creations (request_id, digest, session_id, checksum) VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3))",
        )?
        .execute(params![request.id, request.digest, session_id])?;
    Ok(())
}

pub(super) fn append(connection: &Connection, heads: &mut Heads, append: &Append) -> Result<Appended, Failure> {
    append_all(connection, heads, slice::from_ref(append))
}

/// Appends in a row, of which there is at least one: all of them or none.
pub(super) fn append_all(connection: &Connection, heads: &mut Heads, appends: &[Append]) -> Result<Appended, Failure> {
    let (Some(first), Some(append)) = (appends.first(), appends.last()) else { unreachable!("a row is not empty") };
    let Some(known) = heads.find(connection, &first.session_id)? else {
        return Ok(Appended::NotFound);
    };
    if known.version != first.expected_version {
        return Ok(Appended::Conflict);
    }
    let mut insert = insertion(connection)?;
    for (place, append) in appends.iter().enumerate() {
        let events = Events {
            session: known.key,
            after: append.expected_version,
            time: append.time,
            request: append.request.as_ref(),
            bodies: &append.events,
            hashes: &append.hashes,
        };
        if !insert_events(&mut insert, &events)? {
            if place == 0 {
                return Ok(Appended::Conflict);
            }
            // Whoever knows the session at its version knows its requests. It is undone.
            return Err(Failure::Rows(format!("session {} has a request that its version does not cover", first.session_id)));
        }
    }
    // First, since it reads the whole row: from the next statement on that is not sound until all are done.
    if known.players != append.players {
        seat_players(connection, known.key, append)?;
    }
    known.version = append.version();
    known.players.clone_from(&append.players);
    let before = known.indexed;
    known.indexed = Indexed {
        state: state_code(append.state),
        expires: append.expires,
        deadline: append.deadline,
        minute: minute(append.time),
    };
    update_session(connection, known, append)?;
    if known.indexed != before {
        move_session(connection, known.key, before, known.indexed)?;
    }
    Ok(Appended::Done)
}

/// Sets what changes with every append.
fn update_session(connection: &Connection, known: &Known, append: &Append) -> Result<(), Failure> {
    // The checksum is over the row as it will be when the rest is set.
    let checksum = known.checksum(&append.session_id, append.time, &append.summary);
    let changed = connection
        .prepare_cached("UPDATE sessions SET version = ?2, updated = ?3, summary = ?4, checksum = ?5 WHERE key = ?1")?
        .execute(params![known.key, known.version, append.time, append.summary, checksum])?;
    if changed == 1 { Ok(()) } else { Err(gone(append)) }
}

/// Sets the rest, each by itself, since it is rare and moves the session in its indexes.
fn move_session(connection: &Connection, key: i64, from: Indexed, to: Indexed) -> rusqlite::Result<()> {
    if from.state != to.state {
        connection.prepare_cached("UPDATE sessions SET state = ?2 WHERE key = ?1")?.execute(params![key, to.state])?;
    }
    if from.minute != to.minute {
        connection.prepare_cached("UPDATE sessions SET minute = ?2 WHERE key = ?1")?.execute(params![key, to.minute])?;
    }
    if from.expires != to.expires {
        connection.prepare_cached("UPDATE sessions SET expires = ?2 WHERE key = ?1")?.execute(params![key, to.expires])?;
    }
    if from.deadline != to.deadline {
        connection.prepare_cached("UPDATE sessions SET deadline = ?2 WHERE key = ?1")?.execute(params![key, to.deadline])?;
    }
    Ok(())
}

fn gone(append: &Append) -> Failure {
    Failure::Rows(format!("session {} has gone while it was changed", append.session_id))
}

/// Puts other players in the seats of a session.
fn seat_players(connection: &Connection, key: i64, append: &Append) -> Result<(), Failure> {
    let Some(mut head) = reads::head(connection, &append.session_id)? else {
        return Err(gone(append));
    };
    delete_players(connection, &head)?;
    head.players.clone_from(&append.players);
    connection.prepare_cached("UPDATE sessions SET south_player = ?2, north_player = ?3 WHERE key = ?1")?.execute(params![
        key,
        head.players[0],
        head.players[1]
    ])?;
    insert_players(connection, key, &head)?;
    Ok(())
}

pub(super) fn delete(connection: &Connection, heads: &mut Heads, delete: &Delete) -> Result<Deleted, Failure> {
    heads.forget(&delete.session_id);
    let Some(session) = heads::read(connection, &delete.session_id)? else {
        return Ok(match tombstone(connection, &delete.session_id)? {
            Some(request) => Deleted::Gone(request),
            None => Deleted::NotFound,
        });
    };
    if delete.expected_version.is_some_and(|expected| expected != session.version) {
        return Ok(Deleted::Conflict(session.version));
    }
    if let Some(head) = reads::head(connection, &delete.session_id)? {
        note_deletion(connection, &head, delete.time)?;
        delete_labels(connection, &head)?;
        delete_players(connection, &head)?;
    }
    connection.prepare_cached("DELETE FROM events WHERE session = ?1")?.execute([session.key])?;
    connection.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([session.key])?;
    let (id, digest) = columns(delete.request.as_ref());
    connection
        .prepare_cached(
            "INSERT INTO tombstones (session_id, deleted, request_id, digest, checksum)
             VALUES (?1, ?2, ?3, ?4, checksum(?1, ?2, ?3, ?4))",
        )?
        .execute(params![delete.session_id, delete.time, id, digest])?;
    Ok(Deleted::Done)
}

/// The minute of a time, by which changed sessions are found.
pub(super) const fn minute(time: Micros) -> i64 {
    time.div_euclid(60_000_000)
}

/// Whether a session of this id is there or was.
pub(super) fn is_taken(connection: &Connection, session_id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1)
                 OR EXISTS (SELECT 1 FROM tombstones WHERE session_id = ?1)",
        )?
        .query_row([session_id], |row| row.get(0))
}

fn tombstone(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<Option<Request>>> {
    connection
        .prepare_cached(&format!("SELECT request_id, digest, {TOMBSTONE_IS_SOUND} FROM tombstones WHERE session_id = ?1"))?
        .query_row([session_id], |row: &Row<'_>| expect_sound(row, 2).and_then(|()| reads::request(row, 0)))
        .optional()
}

fn insert_session(connection: &Connection, head: &Head) -> rusqlite::Result<i64> {
    let labels = serde_json::to_string(&head.labels).expect("a map of strings is JSON");
    connection
        .prepare_cached(
            "INSERT INTO sessions (session_id, game, state, created, updated, version, labels, summary,
                                   south_player, north_player, expires, deadline, minute, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
                     checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13))",
        )?
        .execute(params![
            head.session_id,
            head.game,
            state_code(head.state),
            head.created,
            head.updated,
            head.version,
            labels,
            head.summary,
            head.players[0],
            head.players[1],
            head.expires,
            head.deadline,
            minute(head.updated)
        ])?;
    Ok(connection.last_insert_rowid())
}

fn insert_labels(connection: &Connection, key: i64, head: &Head) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO labels (name, value, created, session_id, session) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (name, value) in &head.labels {
        insert.execute(params![name, value, head.created, head.session_id, key])?;
    }
    Ok(())
}

fn delete_labels(connection: &Connection, head: &Head) -> rusqlite::Result<()> {
    let mut delete =
        connection.prepare_cached("DELETE FROM labels WHERE name = ?1 AND value = ?2 AND created = ?3 AND session_id = ?4")?;
    for (name, value) in &head.labels {
        delete.execute(params![name, value, head.created, head.session_id])?;
    }
    Ok(())
}

/// One row a player, also of one who holds both seats.
fn insert_players(connection: &Connection, key: i64, head: &Head) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO players (player, created, session_id, session) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    )?;
    for player in head.players.iter().flatten() {
        insert.execute(params![player, head.created, head.session_id, key])?;
    }
    Ok(())
}

fn delete_players(connection: &Connection, head: &Head) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached("DELETE FROM players WHERE player = ?1 AND created = ?2 AND session_id = ?3")?;
    for player in head.players.iter().flatten() {
        delete.execute(params![player, head.created, head.session_id])?;
    }
    Ok(())
}

/// Events to insert, those of one append.
struct Events<'a> {
    session: i64,
    after: u32,
    time: i64,
    request: Option<&'a Request>,
    bodies: &'a [String],
    hashes: &'a [EventHash],
}

/// Whether they were inserted: not if the session has used the request's id. Only the first of an append stands in the
/// index of requests, so it is the first that is refused, before anything is written.
fn insert_events(insert: &mut Statement<'_>, events: &Events<'_>) -> rusqlite::Result<bool> {
    for ((seq, body), hash) in (events.after + 1..).zip(events.bodies).zip(events.hashes) {
        let row = EventRow {
            session: events.session,
            seq,
            time: events.time,
            first: seq == events.after + 1,
            request: events.request,
            body,
            hash: Some(hash),
        };
        if !insert_event(insert, &row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An event as it stands in its table.
pub(super) struct EventRow<'a> {
    pub session: i64,
    pub seq: u32,
    pub time: i64,
    /// The first of its request, or of its append if that had no id.
    pub first: bool,
    pub request: Option<&'a Request>,
    pub body: &'a str,
    pub hash: Option<&'a EventHash>,
}

/// What inserts events, to be found once for all of a row: that costs a tenth as much as an insertion.
pub(super) fn insertion(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(
        "INSERT INTO events (session, seq, time, first, request_id, digest, body, hash, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (session, request_id) WHERE first = 1 AND request_id IS NOT NULL DO NOTHING",
    )
}

/// Whether it was inserted: not if it is the first of its request and the session has used the request's id.
pub(super) fn insert_event(insert: &mut Statement<'_>, row: &EventRow<'_>) -> rusqlite::Result<bool> {
    let (id, digest) = columns(row.request);
    let hash = row.hash.map(|hash| hash.bytes().as_slice());
    let checksum = checksum::of([
        ValueRef::Integer(row.session),
        ValueRef::Integer(i64::from(row.seq)),
        ValueRef::Integer(row.time),
        ValueRef::Integer(i64::from(row.first)),
        id.into(),
        digest.into(),
        row.body.into(),
        hash.into(),
    ]);
    Ok(insert.execute(params![row.session, row.seq, row.time, row.first, id, digest, row.body, hash, checksum])? > 0)
}

fn columns(request: Option<&Request>) -> (Option<&str>, Option<&[u8]>) {
    (request.map(|request| request.id.as_str()), request.map(|request| request.digest.as_slice()))
}
