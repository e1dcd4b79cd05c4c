//! The reads, each as a function of a connection. What contradicts itself is damage, never an empty answer.

use super::errors::Failure;
use super::writes::state_code;
use crate::store::{Creation, Head, Query, Request, State, StoredEvent};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

const HEAD: &str = "s.session_id, s.game, s.state, s.created, s.updated, s.version, s.labels, s.summary";

pub(super) fn head(connection: &Connection, session_id: &str) -> Result<Option<Head>, Failure> {
    let sql = format!("SELECT {HEAD} FROM sessions s WHERE s.session_id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([session_id], head_of).optional()?)
}

pub(super) fn creation(connection: &Connection, request_id: &str) -> Result<Option<Creation>, Failure> {
    let found = connection
        .prepare_cached(
            "SELECT c.request_id, c.digest, c.session_id, EXISTS (SELECT 1 FROM tombstones t WHERE t.session_id = c.session_id)
             FROM creations c WHERE c.request_id = ?1",
        )?
        .query_row([request_id], |row| {
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
    let mut select = transaction.prepare_cached(
        "SELECT seq, time, request_id, digest, body FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let events = select
        .query_map((key, after, sql_limit(limit)), |row| {
            Ok(StoredEvent { seq: row.get(0)?, time: row.get(1)?, request: request(row, 2)?, body: row.get(4)? })
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

pub(super) fn list(connection: &Connection, query: &Query) -> Result<Vec<Head>, Failure> {
    let (sql, values) = list_statement(query);
    let mut select = connection.prepare_cached(&sql)?;
    let heads = select.query_map(params_from_iter(values), head_of)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(heads)
}

/// A walk down one index, from the place where the last page ended: of one label if there is one, else of the game, the
/// state, or both. Further labels are looked up for each session that the walk meets.
fn list_statement(query: &Query) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut bind = |value: Value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let mut labels = query.labels.iter();
    let mut conditions = Vec::new();
    let (from, order) = match labels.next() {
        Some((name, value)) => {
            conditions.push(format!("l.name = {}", bind(name.clone().into())));
            conditions.push(format!("l.value = {}", bind(value.clone().into())));
            ("labels l CROSS JOIN sessions s ON s.key = l.session", "l")
        }
        None => {
            let index = match (&query.game, query.state) {
                (None, None) => "sessions s INDEXED BY sessions_by_age",
                (Some(_), None) => "sessions s INDEXED BY sessions_by_game",
                (None, Some(_)) => "sessions s INDEXED BY sessions_by_state",
                (Some(_), Some(_)) => "sessions s INDEXED BY sessions_by_game_and_state",
            };
            (index, "s")
        }
    };
    if let Some(game) = &query.game {
        conditions.push(format!("s.game = {}", bind(game.clone().into())));
    }
    if let Some(state) = query.state {
        conditions.push(format!("s.state = {}", bind(state_code(state).into())));
    }
    for (name, value) in labels {
        let (name, value) = (bind(name.clone().into()), bind(value.clone().into()));
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM labels m WHERE m.name = {name} AND m.value = {value}
                     AND m.created = s.created AND m.session_id = s.session_id)"
        ));
    }
    // Without a place to go on from: after a place that is before all.
    let (created, session_id) = query.after.clone().unwrap_or((i64::MAX, String::new()));
    let (created, session_id) = (bind(created.into()), bind(session_id.into()));
    conditions.push(format!("({order}.created, {order}.session_id) < ({created}, {session_id})"));
    let limit = bind(sql_limit(query.limit).into());
    let sql = format!(
        "SELECT {HEAD} FROM {from} WHERE {} ORDER BY {order}.created DESC, {order}.session_id DESC LIMIT {limit}",
        conditions.join(" AND ")
    );
    (sql, values)
}

fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<Head> {
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
    })
}

fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<State> {
    match row.get(column)? {
        0 => Ok(State::Active),
        1 => Ok(State::Finished),
        2 => Ok(State::Aborted),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}

/// The request in two columns, of which the first may be NULL.
pub(super) fn request(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Request>> {
    let id: Option<String> = row.get(column)?;
    id.map(|id| Ok(Request { id, digest: row.get(column + 1)? })).transpose()
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    /// How SQLite would run a list.
    fn plan(query: &Query) -> String {
        let mut connection = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut connection, 0).expect("the tables");
        let (sql, values) = list_statement(query);
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
        let lines = explain.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).expect("a plan");
        lines.collect::<rusqlite::Result<Vec<_>>>().expect("text").join("; ")
    }

    #[test]
    fn every_list_is_a_walk_along_one_index_from_its_place_on() {
        let labels = || [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into();
        let game = || Some("gore".to_owned());
        let state = Some(State::Active);
        let place = "(created,session_id)<(?,?)";
        for (query, walk) in [
            (Query::default(), format!("sessions_by_age ({place})")),
            (Query { game: game(), ..Query::default() }, format!("sessions_by_game (game=? AND {place})")),
            (Query { state, ..Query::default() }, format!("sessions_by_state (state=? AND {place})")),
            (
                Query { game: game(), state, ..Query::default() },
                format!("sessions_by_game_and_state (game=? AND state=? AND {place})"),
            ),
            (
                Query { game: game(), state, labels: labels(), ..Query::default() },
                format!(
                    "SEARCH l USING PRIMARY KEY (name=? AND value=? AND {place}); SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"
                ),
            ),
        ] {
            let plan = plan(&query);
            assert!(plan.contains(&walk), "{walk} is not in: {plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{plan}");
        }
    }
}
