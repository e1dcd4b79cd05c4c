//! Sessions to expire, and sessions whose clock has run out, found by walks along an index that stop at the first one that is
//! not yet due.

use super::errors::Failure;
use super::reads::sql_limit;
use super::writes::{minute, state_code};
use crate::store::{Expirable, IdleQuery, Micros, Place, State};
use rusqlite::{Connection, Row, params};

const IDLE: &str = "SELECT session_id, version, updated FROM sessions INDEXED BY sessions_by_update
     WHERE state = ?1 AND (expires IS NOT NULL) = 0 AND minute <= ?2 AND (minute, session_id) > (?3, ?4) AND updated <= ?5
     ORDER BY minute, session_id LIMIT ?6";

const DUE: &str = "SELECT session_id, version, updated FROM sessions INDEXED BY sessions_by_expiry
     WHERE state = ?1 AND expires <= ?2 ORDER BY expires, session_id LIMIT ?3";

const OVERDUE: &str = "SELECT session_id, deadline FROM sessions INDEXED BY sessions_by_deadline
     WHERE deadline < ?1 AND (deadline, session_id) > (?2, ?3) ORDER BY deadline, session_id LIMIT ?4";

pub(super) fn overdue(
    connection: &Connection,
    before: Micros,
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<(String, Micros)>, Failure> {
    let (deadline, session_id) = after.unwrap_or((Micros::MIN, String::new()));
    let mut select = connection.prepare_cached(OVERDUE)?;
    let values = params![before, deadline, session_id, sql_limit(limit)];
    Ok(select.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn idle(connection: &Connection, query: &IdleQuery) -> Result<Vec<Expirable>, Failure> {
    let (updated, session_id) = query.after.clone().unwrap_or((Micros::MIN, String::new()));
    let mut select = connection.prepare_cached(IDLE)?;
    let (until, from) = (minute(query.since), minute(updated));
    let values = params![state_code(query.state), until, from, session_id, query.since, sql_limit(query.limit)];
    Ok(select.query_map(values, expirable)?.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn due(connection: &Connection, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, Failure> {
    let mut select = connection.prepare_cached(DUE)?;
    Ok(select.query_map(params![state_code(state), by, sql_limit(limit)], expirable)?.collect::<rusqlite::Result<_>>()?)
}

fn expirable(row: &Row<'_>) -> rusqlite::Result<Expirable> {
    Ok(Expirable { session_id: row.get(0)?, version: row.get(1)?, updated: row.get(2)? })
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    #[test]
    fn all_are_walks_along_an_index_in_its_order() {
        let mut connection = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut connection, 0).expect("the tables");
        for (sql, expected) in [
            (IDLE, "sessions_by_update (state=? AND <expr>=? AND (minute,session_id)>(?,?) AND minute<?)"),
            (DUE, "sessions_by_expiry (state=? AND expires<?)"),
            (OVERDUE, "sessions_by_deadline ((deadline,session_id)>(?,?) AND deadline<?)"),
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
            let values = vec![1; explain.parameter_count()];
            let lines = explain.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3));
            let plan = lines.expect("a plan").collect::<rusqlite::Result<Vec<_>>>().expect("text").join("; ");
            assert!(plan.contains(expected), "{expected} is not in: {plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{plan}");
        }
    }
}
