//! Sessions to expire, and sessions whose clock has run out: walks along an index that stop at the first one that is not yet due.

use super::link::Link;
use super::reads::{get, number, sql_limit, state_code, text_in};
use super::sql;
use super::text::stored;
use super::writes::minute;
use crate::store::{Expirable, IdleQuery, Micros, Place, State, StoreError};
use tokio_postgres::Row;

pub(super) async fn idle(link: &Link, query: &IdleQuery) -> Result<Vec<Expirable>, StoreError> {
    let (updated, session_id) = query.after.clone().unwrap_or((Micros::MIN, String::new()));
    let (until, from) = (minute(query.since), minute(updated));
    let rows = link
        .query(sql::IDLE, &[&state_code(query.state), &until, &from, &stored(&session_id), &query.since, &sql_limit(query.limit)])
        .await?;
    rows.iter().map(expirable).collect()
}

pub(super) async fn due(link: &Link, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
    let rows = link.query(sql::DUE, &[&state_code(state), &by, &sql_limit(limit)]).await?;
    rows.iter().map(expirable).collect()
}

pub(super) async fn overdue(
    link: &Link,
    before: Micros,
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<(String, Micros)>, StoreError> {
    let (deadline, session_id) = after.unwrap_or((Micros::MIN, String::new()));
    let rows = link.query(sql::OVERDUE, &[&before, &deadline, &stored(&session_id), &sql_limit(limit)]).await?;
    rows.iter().map(|row| Ok((text_in(row, 0)?, get(row, 1)?))).collect()
}

fn expirable(row: &Row) -> Result<Expirable, StoreError> {
    Ok(Expirable { session_id: text_in(row, 0)?, version: number(row, 1)?, updated: get(row, 2)? })
}
