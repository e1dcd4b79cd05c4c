//! Pages of heads. Each is a walk down one index from the place where the last page ended; of the indexes that would do,
//! the one that is shortest. A page ends early rather than read on and on for sessions that are rare on its walk.

use super::errors::damaged;
use super::link::Link;
use super::reads::{get, heads, state_of, text_in};
use super::sql;
use super::walk::{counts, scan};
use crate::store::walk::{Walk, walks};
use crate::store::{Census, Filter, HeadPage, Place, Query, State, StoreError};

/// Entries up to which walks are compared. Beyond it all are long, and one is as good as another.
const COMPARED: i64 = 4_000;

/// Entries that a page reads at most, or as many as it is to have. It bounds the time that a page takes, to some
/// milliseconds, whatever is stored and asked for.
const BUDGET: usize = 1_000;

pub(super) async fn list(link: &Link, query: &Query) -> Result<HeadPage, StoreError> {
    if query.limit == 0 {
        return Ok(HeadPage::default());
    }
    let walk = shortest_walk(link, query).await?;
    let found = find(link, query, walk).await?;
    // A session that has changed or gone since it was found is as if it had before.
    let heads = heads(link, &found.ids).await?.into_iter().flatten().filter(|head| query.filter.matches(head)).collect();
    Ok(HeadPage { heads, next: found.next })
}

/// Counts the sessions that are like a filter, `most` at most.
pub(super) async fn count_up_to(link: &Link, filter: Filter, most: usize) -> Result<usize, StoreError> {
    let mut query = Query { filter, after: None, limit: most };
    let mut counted = 0;
    while query.limit > 0 {
        let walk = shortest_walk(link, &query).await?;
        let found = find(link, &query, walk).await?;
        counted += found.ids.len();
        query.limit = most - counted;
        match found.next {
            Some(place) => query.after = Some(place),
            None => break,
        }
    }
    Ok(counted)
}

/// Counts all sessions.
pub(super) async fn census(link: &Link) -> Result<Census, StoreError> {
    let mut census = Census::default();
    for row in link.query(sql::CENSUS, &[]).await? {
        let code = get(&row, 0)?;
        let count = get::<i64>(&row, 1)?.unsigned_abs();
        match state_of(code).ok_or_else(|| damaged(format!("sessions are in state {code}")))? {
            State::Active => census.active = count,
            State::Finished => census.finished = count,
            State::Aborted => census.aborted = count,
        }
    }
    Ok(census)
}

/// The sessions of a page.
struct Found {
    ids: Vec<String>,
    next: Option<Place>,
}

async fn find(link: &Link, query: &Query, walk: Walk<'_>) -> Result<Found, StoreError> {
    // One more than are wanted, to know whether more follow.
    let budget = BUDGET.max(query.limit.saturating_add(1));
    let statement = scan(query, walk, budget);
    let entries = link.query_once(&statement.sql, &statement.typed()).await?;
    let (mut ids, mut last): (Vec<String>, Option<Place>) = (Vec::new(), None);
    for entry in &entries {
        let place: Place = (get(entry, 1)?, text_in(entry, 0)?);
        let fits = get(entry, 2)?;
        // One who plays against themself is met twice.
        if ids.last() == Some(&place.1) {
            continue;
        }
        if fits && ids.len() == query.limit {
            return Ok(Found { ids, next: last });
        }
        if fits {
            ids.push(place.1.clone());
        }
        // Once the page is full its place is that of its last session, so that the next page begins with the next one.
        if fits || ids.len() < query.limit {
            last = Some(place);
        }
    }
    Ok(Found { ids, next: last.filter(|_| entries.len() == budget) })
}

async fn shortest_walk<'a>(link: &Link, query: &'a Query) -> Result<Walk<'a>, StoreError> {
    let walks = walks(&query.filter);
    if walks.len() == 1 {
        return Ok(walks[0]);
    }
    let statement = counts(&query.filter, &walks, COMPARED);
    let rows = link.query_once(&statement.sql, &statement.typed()).await?;
    let row = rows.first().ok_or_else(|| damaged("a count gave no row"))?;
    let mut best = (walks[0], COMPARED + 1);
    for (column, &walk) in walks.iter().enumerate() {
        let length: i64 = get(row, column)?;
        // A walk that is not by age must be read whole for every page.
        let usable = walk != Walk::Updates || length < BUDGET as i64;
        if usable && length < best.1 {
            best = (walk, length);
        }
    }
    Ok(best.0)
}
