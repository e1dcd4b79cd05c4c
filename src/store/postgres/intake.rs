//! A database that takes in another store.

use super::archive::{COPIES, PostgresArchive, lasting, reach, refuse_in_use, tombstone};
use super::contact;
use super::creations::Rows;
use super::errors::text;
use super::link::Link;
use super::reads::{get, head, ids, text_in};
use super::sql::HEAD;
use super::text::stored;
use super::writes::{columns, inexplicable};
use super::{OpenError, Options};
use crate::store::archive::{Archive, Begun, Intake, Making, Part, Taken, Tombstone};
use crate::store::{CreatedAll, Head, Micros, StoreError, StoredEvent};
use async_trait::async_trait;
use std::collections::HashMap;
use tokio_postgres::{Client, Row};

/// A store in a database that takes in another one. No server can use it meanwhile.
pub struct PostgresIntake {
    archive: PostgresArchive,
}

impl PostgresIntake {
    /// Connects to the database, which no server may use, and makes what is missing of its tables. One that is half copied will do.
    pub async fn connect(options: Options) -> Result<PostgresIntake, OpenError> {
        let (connector, mut client) = reach(&options, COPIES).await?;
        refuse_in_use(&client).await?;
        contact::check_server(&client, options.allow_unsafe_database).await.map_err(lasting)?;
        contact::migrate(&mut client).await.map_err(lasting)?;
        Ok(PostgresIntake { archive: PostgresArchive::over(options, connector)? })
    }

    /// How the store in a database stands that is to be copied into from there. Nothing is changed or made.
    pub async fn standing(options: Options, from: &str) -> Result<Begun, OpenError> {
        let (_, client) = reach(&options, COPIES).await?;
        refuse_in_use(&client).await?;
        match contact::check_tables(&client).await.map_err(lasting) {
            Err(OpenError::NoTables) => Ok(Begun::New),
            Err(error) => Err(error),
            Ok(()) => standing(&client, from).await,
        }
    }

    fn link(&self) -> &Link {
        self.archive.link()
    }
}

/// Where the sessions come from, whether all have come, and whether there is nothing at all.
const STANDING: &str = "SELECT c.source, c.whole, NOT EXISTS (SELECT 1 FROM sessions) AND NOT EXISTS (SELECT 1 FROM creations)
    FROM meta m LEFT JOIN copied c ON c.id = m.id";

async fn standing(client: &Client, from: &str) -> Result<Begun, OpenError> {
    let row = client.query_one(STANDING, &[]).await.map_err(|error| OpenError::Foreign(text(&error)))?;
    begun(&row, from).map_err(|error| OpenError::Foreign(error.to_string()))
}

fn begun(row: &Row, from: &str) -> Result<Begun, StoreError> {
    let (source, whole): (Option<String>, Option<bool>) = (get(row, 0)?, get(row, 1)?);
    Ok(match source {
        Some(other) if other != from => Begun::OtherSource(other),
        Some(_) if whole == Some(true) => Begun::Whole,
        Some(_) => Begun::Resumed,
        None if get(row, 2)? => Begun::New,
        None => Begun::InUse,
    })
}

#[async_trait]
impl Intake for PostgresIntake {
    fn archive(&self) -> &dyn Archive {
        &self.archive
    }

    /// The cursors of a database bear its own id, so that those of other stores are told from them in any case.
    async fn begin(&self, from: &str, _now: Micros) -> Result<Begun, StoreError> {
        let rows = self.link().query(STANDING, &[]).await?;
        let begun = begun(rows.first().ok_or_else(inexplicable)?, from)?;
        if begun == Begun::New {
            let mark = "INSERT INTO copied (id, source, whole) VALUES (1, $1, false) ON CONFLICT DO NOTHING";
            self.link().write(mark, &[&from]).await?;
        }
        Ok(begun)
    }

    async fn take_sessions(&self, parts: Vec<Part>) -> Result<Taken, StoreError> {
        let wanted: Vec<String> = parts.iter().map(|part| part.head.session_id.clone()).collect();
        let mut there = heads(self.link(), &wanted).await?;
        let mut new: Vec<(Head, &[StoredEvent])> = Vec::new();
        let mut taken = 0;
        for part in &parts {
            let id = &part.head.session_id;
            let standing = there.get(id);
            let version = match standing {
                None => 0,
                Some(None) => return Ok(Taken::Different(format!("session {id} was deleted"))),
                // While parts are missing the head says so by its version, and all else in it is as it will be.
                Some(Some(there)) if *there != (Head { version: there.version, ..part.head.clone() }) => {
                    let what = format!("session {id} is there and is another, or has changed in one of the two stores");
                    return Ok(Taken::Different(what));
                }
                Some(Some(there)) => there.version,
            };
            let events = &part.events[part.events.iter().take_while(|event| event.seq <= version).count()..];
            let Some(last) = events.last() else { continue };
            if !events.iter().map(|event| event.seq).eq(version + 1..=last.seq) {
                return Ok(Taken::Different(format!("session {id} has {version} events, and not event {}", version + 1)));
            }
            taken += events.len();
            if version == 0 {
                new.push((Head { version: last.seq, ..part.head.clone() }, events));
            } else {
                // Perhaps what comes before them.
                insert(self.link(), &std::mem::take(&mut new)).await?;
                add_events(self.link(), id, version, events).await?;
            }
            // Another part of it may follow.
            there.insert(id.clone(), Some(Head { version: last.seq, ..part.head.clone() }));
        }
        insert(self.link(), &new).await?;
        Ok(Taken::Done(taken))
    }

    async fn take_tombstones(&self, tombstones: Vec<Tombstone>) -> Result<Taken, StoreError> {
        let wanted: Vec<String> = tombstones.iter().map(|tombstone| tombstone.session_id.clone()).collect();
        let sql = "SELECT session_id, coalesce(deleted, 0), deleted_request_id, deleted_digest, deleted IS NOT NULL
                   FROM sessions WHERE session_id = ANY($1)";
        let mut there = HashMap::new();
        for row in self.link().query(sql, &[&ids(&wanted)]).await? {
            let known = tombstone(&row)?;
            there.insert(known.session_id.clone(), get::<bool>(&row, 4)?.then_some(known));
        }
        let known = |tombstone: &&Tombstone| there.contains_key(&tombstone.session_id);
        let (known, new): (Vec<_>, Vec<_>) = tombstones.iter().partition(known);
        if let Some(other) = known.iter().find(|it| there.get(&it.session_id) != Some(&Some((**it).clone()))) {
            return Ok(Taken::Different(format!("session {} is there, or was deleted otherwise", other.session_id)));
        }
        let session_ids: Vec<_> = new.iter().map(|tombstone| stored(&tombstone.session_id)).collect();
        let deleted: Vec<_> = new.iter().map(|tombstone| tombstone.deleted).collect();
        let requests: Vec<_> = new.iter().map(|tombstone| columns(tombstone.request.as_ref())).collect();
        let request_ids: Vec<_> = requests.iter().map(|(id, _)| id.map(stored)).collect();
        let digests: Vec<_> = requests.iter().map(|(_, digest)| *digest).collect();
        // Of these nothing else is known, and the order of changes is not to tell of them: they happened elsewhere.
        let sql = "INSERT INTO sessions (session_id, game, state, created, updated, minute, version, labels, summary, announced,
                                         deleted, deleted_request_id, deleted_digest)
                   SELECT n.session_id, '', 0, n.deleted, n.deleted, 0, 0, '{}', '', false, n.deleted, n.request_id, n.digest
                   FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[]) AS n(session_id, deleted, request_id, digest)
                   ON CONFLICT DO NOTHING";
        self.link().write(sql, &[&session_ids, &deleted, &request_ids, &digests]).await?;
        Ok(Taken::Done(new.len()))
    }

    async fn take_makings(&self, makings: Vec<Making>) -> Result<Taken, StoreError> {
        let there = self.archive.made_by(makings.iter().map(|making| making.request.id.clone()).collect()).await?;
        let mut new = Vec::new();
        for (making, there) in makings.iter().zip(there) {
            match there {
                None => new.push(making),
                Some(there) if there == *making => {}
                Some(_) => {
                    return Ok(Taken::Different(format!("request {} is there and has made something else", making.request.id)));
                }
            }
        }
        let rows = || new.iter().flat_map(|making| (0..).zip(&making.sessions).map(move |(place, made)| (making, place, made)));
        let request_ids: Vec<_> = rows().map(|(making, _, _)| stored(&making.request.id)).collect();
        let places: Vec<i64> = rows().map(|(_, place, _)| place).collect();
        let digests: Vec<_> = rows().map(|(making, _, _)| making.request.digest.as_slice()).collect();
        let session_ids: Vec<_> = rows().map(|(_, _, made)| stored(&made.session_id)).collect();
        let sql = "INSERT INTO creations (request_id, place, digest, session_id)
                   SELECT n.request_id, n.place, n.digest, n.session_id
                   FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[]) AS n(request_id, place, digest, session_id)
                   ON CONFLICT DO NOTHING";
        self.link().write(sql, &[&request_ids, &places, &digests, &session_ids]).await?;
        Ok(Taken::Done(new.len()))
    }

    async fn finish(&self) -> Result<(), StoreError> {
        self.link().write("UPDATE copied SET whole = true WHERE id = 1", &[]).await?;
        Ok(())
    }

    async fn close(&self) {
        self.link().close().await;
    }
}

/// The heads of these sessions as far as they are there, none of those that were deleted.
async fn heads(link: &Link, session_ids: &[String]) -> Result<HashMap<String, Option<Head>>, StoreError> {
    let sql = format!("SELECT {HEAD}, s.deleted IS NOT NULL FROM sessions s WHERE s.session_id = ANY($1)");
    let rows = link.query(&sql, &[&ids(session_ids)]).await?;
    let heads = rows.iter().map(|row| {
        let head = if get(row, 12)? { None } else { Some(head(row, 0)?) };
        Ok((text_in(row, 0)?, head))
    });
    heads.collect()
}

/// Inserts sessions that were not there, with these of their events.
async fn insert(link: &Link, new: &[(Head, &[StoredEvent])]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let mut rows = Rows::default();
    for (head, events) in new {
        rows.add_old(head, events);
    }
    match rows.insert(link, None).await? {
        CreatedAll::Done => Ok(()),
        // Looked at a moment ago, and nobody else writes.
        CreatedAll::IdsTaken(_) | CreatedAll::Repeated(_) => Err(inexplicable()),
    }
}

/// Adds events to a session of this version, which says how many of its events have come.
async fn add_events(link: &Link, session_id: &str, version: u32, events: &[StoredEvent]) -> Result<(), StoreError> {
    let id = stored(session_id);
    let sql = "SELECT request_id FROM events WHERE session_id = $1 AND seq = $2";
    let rows = link.query(sql, &[&id, &i64::from(version)]).await?;
    let mut before: Option<String> = rows.first().map(|row| get::<Option<String>>(row, 0)).transpose()?.flatten();
    let requests: Vec<_> = events.iter().map(|event| columns(event.request.as_ref())).collect();
    let request_ids: Vec<Option<_>> = requests.iter().map(|(id, _)| id.map(stored)).collect();
    let mut first = Vec::with_capacity(events.len());
    for id in &request_ids {
        let id = id.as_deref();
        first.push(id.is_none() || id != before.as_deref());
        before = id.map(str::to_owned);
    }
    let digests: Vec<_> = requests.iter().map(|(_, digest)| *digest).collect();
    let seqs: Vec<_> = events.iter().map(|event| i64::from(event.seq)).collect();
    let times: Vec<_> = events.iter().map(|event| event.time).collect();
    let bodies: Vec<_> = events.iter().map(|event| stored(&event.body)).collect();
    let hashes: Vec<_> = events.iter().map(|event| event.hash.map(|hash| hash.bytes().to_vec())).collect();
    let last = i64::from(version) + events.len() as i64;
    let sql = "WITH changed AS (
                   UPDATE sessions SET version = $3 WHERE session_id = $1 AND version = $2 AND deleted IS NULL RETURNING session_id
               ), added AS (
                   INSERT INTO events (session_id, seq, time, first, request_id, digest, body, hash)
                   SELECT c.session_id, n.seq, n.time, n.first, n.request_id, n.digest, n.body, n.hash
                   FROM changed c CROSS JOIN unnest($4::bigint[], $5::bigint[], $6::boolean[], $7::text[], $8::bytea[], $9::text[],
                        $10::bytea[]) AS n(seq, time, first, request_id, digest, body, hash)
               )
               SELECT session_id FROM changed";
    let version = i64::from(version);
    let written =
        link.write(sql, &[&id, &version, &last, &seqs, &times, &first, &request_ids, &digests, &bodies, &hashes]).await?;
    // No row, and in doubt: an earlier attempt has been carried out.
    let is_done = written.in_doubt || written.rows.is_some_and(|rows| !rows.is_empty());
    if is_done { Ok(()) } else { Err(inexplicable()) }
}
