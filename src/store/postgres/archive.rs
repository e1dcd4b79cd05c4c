//! The store read from end to end. Every portion is one statement, so that it is of one moment.

use super::changes;
use super::condition::Condition;
use super::contact::{self, NoContact};
use super::errors::{damaged, text};
use super::link::{Link, Servers};
use super::options::NAME as SERVERS;
use super::reads::{bytes, event, get, head, ids, request, sql_limit, text_in};
use super::sql::HEAD;
use super::text::stored;
use super::tls::{Connector, Opened};
use super::{OpenError, Options};
use crate::store::archive::{Archive, Hold, Limit, MadeSession, Making, Mark, Part, Piece, Portion, Tombstone, Totals};
use crate::store::{Cursor, Request, StoreError};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::{Client, Row};

/// What a portion may take, or a count of everything.
const PATIENCE: Duration = Duration::from_secs(300);
/// Sessions of a portion at most: their heads are read before it is known how many fit.
const SESSIONS: i64 = 500;
/// How the connections of copies call themselves.
pub(super) const COPIES: &str = "mancala copy";
/// How the connections of those call themselves who only read.
const READERS: &str = "mancala verify";

/// A store in a database, to be read only.
pub struct PostgresArchive {
    link: Link,
}

impl PostgresArchive {
    /// Connects to the database, without changing anything in it. Servers may run on it, unless it is to be held: then it is refused
    /// while one does. One that starts later is not noticed before it writes.
    pub async fn connect(options: Options, hold: Hold) -> Result<PostgresArchive, OpenError> {
        let name = match hold {
            Hold::Shared => READERS,
            Hold::Alone => COPIES,
        };
        let (connector, client) = reach(&options, name).await?;
        if hold == Hold::Alone {
            refuse_in_use(&client).await?;
        }
        contact::check_tables(&client).await.map_err(lasting)?;
        contact::refuse_half_copied(&client).await.map_err(lasting)?;
        PostgresArchive::over(options, connector)
    }

    pub(super) fn over(options: Options, connector: Connector) -> Result<PostgresArchive, OpenError> {
        let condition = Arc::new(Condition::unreached());
        condition.recover();
        let options = Options { read_timeout: PATIENCE, write_timeout: PATIENCE, connections: 4, ..options };
        Ok(PostgresArchive { link: Link::new(options, connector, condition, Servers::Any)? })
    }

    pub(super) const fn link(&self) -> &Link {
        &self.link
    }
}

/// A connection, and the maker of others that call themselves by this name.
pub(super) async fn reach(options: &Options, name: &str) -> Result<(Connector, Client), OpenError> {
    let patient = Options { read_timeout: PATIENCE, write_timeout: PATIENCE, ..options.clone() };
    let connector = Connector::new(&patient)?.named(name);
    let opened = tokio::time::timeout(options.connect_timeout(), connector.open(None)).await;
    let opened = opened.map_err(|_| OpenError::Unreachable("it does not answer in time".into()))?;
    let Opened { client, place, task: _ends_with_it } = opened.map_err(|error| lasting(error.into()))?;
    connector.prefer(place);
    Ok((connector, client))
}

/// There is nobody to try again for a command: what may pass is as good a reason as any.
pub(super) fn lasting(no_contact: NoContact) -> OpenError {
    match no_contact {
        NoContact::Lasting(error) => error,
        NoContact::Passing(_, why) => OpenError::Unreachable(why),
    }
}

/// Refuses a database that a server, or another copy, is connected to.
pub(super) async fn refuse_in_use(client: &Client) -> Result<(), OpenError> {
    let sql = "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ANY($1)";
    let row = client.query_one(sql, &[&vec![SERVERS, COPIES]]).await.map_err(|error| OpenError::Unreachable(text(&error)))?;
    let others: i64 = row.get(0);
    if others > 0 { Err(OpenError::InUse { connections: others }) } else { Ok(()) }
}

#[async_trait]
impl Archive for PostgresArchive {
    async fn sessions(&self, from: Mark, limit: Limit) -> Result<Portion, StoreError> {
        let whole = if from.version == Mark::END { i64::MAX } else { i64::from(from.version) };
        let events = sql_limit(limit.events);
        let rows = self.link.query(&sessions(), &[&stored(&from.session_id), &whole, &events, &SESSIONS]).await?;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut room = limit;
        let mut cut = None;
        for row in &rows {
            let session_id = text_in(row, 0)?;
            if get::<i64>(row, 12)? == 0 {
                pieces.push(match head(row, 0) {
                    Ok(head) => Piece::Part(Part { head, events: Vec::new(), is_last: true }),
                    Err(error) => Piece::Unreadable { session_id, what: error.to_string() },
                });
                continue;
            }
            let Some(Piece::Part(part)) = pieces.last_mut().filter(|piece| piece.session_id() == session_id) else { continue };
            if room.events == 0 || room.bytes == 0 {
                part.is_last = false;
                cut = Some(pieces.len());
                break;
            }
            match event(row, [12, 13, 14, 16, 17]) {
                Ok(event) => {
                    room = Limit { events: room.events - 1, bytes: room.bytes.saturating_sub(event.body.len()) };
                    part.events.push(event);
                }
                Err(error) => {
                    let what = error.to_string();
                    pieces.pop();
                    pieces.push(Piece::Unreadable { session_id, what });
                }
            }
        }
        Ok(portion(pieces, cut, &from, rows.is_empty()))
    }

    async fn tombstones(&self, after: &str, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let sql = "SELECT session_id, deleted, deleted_request_id, deleted_digest FROM sessions
                   WHERE deleted IS NOT NULL AND session_id > $1 ORDER BY session_id LIMIT $2";
        let rows = self.link.query(sql, &[&stored(after), &sql_limit(limit)]).await?;
        rows.iter().map(tombstone).collect()
    }

    async fn makings(&self, after: &str, limit: usize) -> Result<Vec<Making>, StoreError> {
        let which = "IN (SELECT request_id FROM creations WHERE place = 0 AND request_id > $1 ORDER BY request_id LIMIT $2)";
        makings_of(&self.link.query(&makings(which), &[&stored(after), &sql_limit(limit)]).await?)
    }

    async fn made_by(&self, request_ids: Vec<String>) -> Result<Vec<Option<Making>>, StoreError> {
        let found = makings_of(&self.link.query(&makings("= ANY($1)"), &[&ids(&request_ids)]).await?)?;
        Ok(request_ids.iter().map(|id| found.iter().find(|making| making.request.id == *id).cloned()).collect())
    }

    async fn totals(&self) -> Result<Totals, StoreError> {
        let sql =
            "SELECT count(*) FILTER (WHERE deleted IS NULL), (coalesce(sum(version) FILTER (WHERE deleted IS NULL), 0))::bigint,
                          count(*) FILTER (WHERE deleted IS NOT NULL), (SELECT count(*) FROM creations WHERE place = 0)
                   FROM sessions";
        let rows = self.link.query(sql, &[]).await?;
        let row = rows.first().ok_or_else(|| damaged("a count has no rows"))?;
        let count = |column| get::<i64>(row, column).map(i64::unsigned_abs);
        Ok(Totals { sessions: count(0)?, events: count(1)?, tombstones: count(2)?, makings: count(3)? })
    }

    async fn latest(&self) -> Result<Cursor, StoreError> {
        changes::newest(&self.link).await
    }
}

/// Sessions from a place on, with the events that there is room for and one more: each session's head as the number 0, then its events.
/// Those sessions are read whose events fit, by their versions; the first in any case.
fn sessions() -> String {
    format!(
        "
WITH page AS (
    SELECT s.*, sum(greatest(s.version - CASE WHEN s.session_id = $1::text THEN $2::bigint ELSE 0 END, 1))
                    OVER (ORDER BY s.session_id) AS events, row_number() OVER (ORDER BY s.session_id) AS place
    FROM (SELECT {HEAD} FROM sessions s
          WHERE s.deleted IS NULL AND s.session_id >= $1::text AND NOT (s.session_id = $1::text AND $2::bigint = {END})
          ORDER BY s.session_id LIMIT $4::bigint) s
), fitting AS (
    SELECT * FROM page WHERE events <= $3::bigint OR place = 1
)
SELECT {HEAD}, 0::bigint, NULL::bigint, NULL::text, NULL::bytea, NULL::text, NULL::bytea FROM fitting s
UNION ALL
(SELECT e.session_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        e.seq, e.time, e.request_id, e.digest, e.body, e.hash
 FROM events e JOIN fitting s ON s.session_id = e.session_id
 WHERE NOT (e.session_id = $1::text AND e.seq <= $2::bigint) ORDER BY e.session_id, e.seq LIMIT $3::bigint + 1)
ORDER BY 1, 13",
        END = i64::MAX
    )
}

/// What was read until it was cut, if it was, and where to go on.
fn portion(mut pieces: Vec<Piece>, cut: Option<usize>, from: &Mark, is_end: bool) -> Portion {
    if let Some(cut) = cut {
        pieces.truncate(cut);
        // A session that a whole portion has room for is not torn apart.
        if pieces.len() > 1 {
            pieces.pop();
        } else if let Some(Piece::Part(part)) = pieces.last() {
            let version = part.events.last().map_or(from.version, |event| event.seq);
            let next = Some(Mark { session_id: part.head.session_id.clone(), version });
            return Portion { pieces, next };
        }
    }
    let next = if is_end { None } else { pieces.last().map(|piece| Mark::after(piece.session_id())) };
    Portion { pieces, next }
}

pub(super) fn tombstone(row: &Row) -> Result<Tombstone, StoreError> {
    Ok(Tombstone { session_id: text_in(row, 0)?, deleted: get(row, 1)?, request: request(row, 2)? })
}

/// What some requests have made.
fn makings(which: &str) -> String {
    format!(
        "SELECT c.request_id, c.digest, c.session_id, s.session_id IS NOT NULL
         FROM creations c LEFT JOIN sessions s ON s.session_id = c.session_id
         WHERE c.request_id {which} ORDER BY c.request_id, c.place"
    )
}

fn makings_of(rows: &[Row]) -> Result<Vec<Making>, StoreError> {
    let mut makings: Vec<Making> = Vec::new();
    for row in rows {
        let request = Request { id: text_in(row, 0)?, digest: bytes(row, 1)? };
        let made = MadeSession { session_id: text_in(row, 2)?, is_known: get(row, 3)? };
        match makings.last_mut().filter(|last| last.request.id == request.id) {
            Some(last) => last.sessions.push(made),
            None => makings.push(Making { request, sessions: vec![made] }),
        }
    }
    Ok(makings)
}
