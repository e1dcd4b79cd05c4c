//! Pages of heads. Each is a walk down one index from the place where the last page ended; of the indexes that would do,
//! the one that is shortest. A page ends early rather than read on and on for sessions that are rare on its walk.

use super::errors::Failure;
use super::reads::{head_of, select_heads};
use super::walk::{count, scan};
use super::writes::state_code;
use crate::store::walk::{Walk, walks};
use crate::store::{Census, Filter, HeadPage, Place, Query, State};
use rusqlite::{Connection, params_from_iter};

/// Entries up to which walks are compared. Beyond it all are long, and one is as good as another.
const COMPARED: i64 = 4_000;

/// Entries that a page reads at most, or as many as it is to have. It bounds the time that a page takes, to some
/// milliseconds, whatever is stored and asked for.
const BUDGET: usize = 1_000;

pub(super) fn list(connection: &Connection, query: &Query) -> Result<HeadPage, Failure> {
    if query.limit == 0 {
        return Ok(HeadPage::default());
    }
    // One snapshot for the choice and the page: a choice that was right is still right.
    let transaction = connection.unchecked_transaction()?;
    let walk = shortest_walk(&transaction, query)?;
    let found = find(&transaction, query, walk)?;
    let mut select = transaction.prepare_cached(&select_heads("key = ?1"))?;
    let heads = found.keys.into_iter().map(|key| select.query_row([key], head_of)).collect::<rusqlite::Result<_>>()?;
    Ok(HeadPage { heads, next: found.next })
}

/// Counts the sessions that are like a filter, `most` at most.
pub(super) fn count_up_to(connection: &Connection, filter: Filter, most: usize) -> Result<usize, Failure> {
    let mut query = Query { filter, after: None, limit: most };
    let transaction = connection.unchecked_transaction()?;
    let mut counted = 0;
    while query.limit > 0 {
        let walk = shortest_walk(&transaction, &query)?;
        let found = find(&transaction, &query, walk)?;
        counted += found.keys.len();
        query.limit = most - counted;
        match found.next {
            Some(place) => query.after = Some(place),
            None => break,
        }
    }
    Ok(counted)
}

/// Counts all sessions, along the narrowest index.
pub(super) fn census(connection: &Connection) -> Result<Census, Failure> {
    let count = |state| {
        let mut select =
            connection.prepare_cached("SELECT count(*) FROM sessions INDEXED BY sessions_by_state WHERE state = ?1")?;
        select.query_row([state_code(state)], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
    };
    let (active, finished, aborted) = (count(State::Active)?, count(State::Finished)?, count(State::Aborted)?);
    Ok(Census { active, finished, aborted })
}

/// The sessions of a page.
struct Found {
    keys: Vec<i64>,
    next: Option<Place>,
}

fn find(connection: &Connection, query: &Query, walk: Walk<'_>) -> rusqlite::Result<Found> {
    // One more than are wanted, to know whether more follow.
    let budget = BUDGET.max(query.limit.saturating_add(1));
    let statement = scan(query, walk, budget);
    let mut select = connection.prepare_cached(&statement.sql)?;
    let mut entries = select.query(params_from_iter(statement.values))?;
    let (mut keys, mut last, mut read) = (Vec::new(), None, 0);
    while let Some(entry) = entries.next()? {
        read += 1;
        let fits: bool = entry.get(3)?;
        if fits && keys.len() == query.limit {
            return Ok(Found { keys, next: last });
        }
        if fits {
            keys.push(entry.get(0)?);
        }
        // Once the page is full its place is that of its last session, so that the next page begins with the next one.
        if fits || keys.len() < query.limit {
            last = Some((entry.get(1)?, entry.get(2)?));
        }
    }
    Ok(Found { keys, next: last.filter(|_| read == budget) })
}

fn shortest_walk<'a>(connection: &Connection, query: &'a Query) -> rusqlite::Result<Walk<'a>> {
    let walks = walks(&query.filter);
    let mut best = (walks[0], COMPARED + 1);
    for &walk in walks.iter().filter(|_| walks.len() > 1) {
        let statement = count(&query.filter, walk, COMPARED);
        let length = connection
            .prepare_cached(&statement.sql)?
            .query_row(params_from_iter(statement.values), |row| row.get::<_, i64>(0))?;
        // A walk that is not by age must be read whole for every page.
        let usable = walk != Walk::Updates || length < BUDGET as i64;
        if usable && length < best.1 {
            best = (walk, length);
        }
    }
    Ok(best.0)
}

#[cfg(test)]
mod tests {
    use super::super::{checksum, schema};
    use super::*;
    use crate::store::Span;

    /// How SQLite would run a page.
    fn plan(query: &Query, walk: Walk<'_>) -> String {
        let mut connection = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut connection, 0).expect("the tables");
        let statement = scan(query, walk, BUDGET);
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sql)).expect("a statement");
        let lines = explain.query_map(params_from_iter(statement.values), |row| row.get::<_, String>(3)).expect("a plan");
        lines.collect::<rusqlite::Result<Vec<_>>>().expect("text").join("; ")
    }

    #[test]
    fn every_page_is_a_walk_along_one_index_from_its_place_on() {
        let after = Some((5, "s".to_owned()));
        let of = |filter| Query { filter, after: after.clone(), limit: 1 };
        let labels = || [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into();
        let game = || Some("gore".to_owned());
        let state = Some(State::Active);
        let created = Span { from: Some(1), before: Some(9) };
        let both = || Filter { game: game(), state, labels: labels(), ..Filter::default() };
        let place = "(created,session_id)<(?,?)";
        let to_session = "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)";
        for (filter, walk, expected) in [
            (Filter::default(), Walk::Sessions, format!("COVERING INDEX sessions_by_age ({place})")),
            (
                Filter { created, ..Filter::default() },
                Walk::Sessions,
                format!("COVERING INDEX sessions_by_age (created>? AND {place})"),
            ),
            (Filter { game: game(), ..Filter::default() }, Walk::Sessions, format!("sessions_by_game (game=? AND {place})")),
            (Filter { state, ..Filter::default() }, Walk::Sessions, format!("sessions_by_state (state=? AND {place})")),
            (both(), Walk::Sessions, format!("sessions_by_game_and_state (game=? AND state=? AND {place})")),
            (both(), Walk::Label("b", "2"), format!("SEARCH l USING PRIMARY KEY (name=? AND value=? AND {place}); {to_session}")),
            (
                Filter { labels: labels(), ..Filter::default() },
                Walk::Label("b", "2"),
                format!("SEARCH l USING PRIMARY KEY (name=? AND value=? AND {place}); CORRELATED SCALAR SUBQUERY"),
            ),
            (both(), Walk::Player("p"), format!("SEARCH l USING PRIMARY KEY (player=? AND {place}); {to_session}")),
        ] {
            let plan = plan(&of(filter), walk);
            assert!(plan.contains(&expected), "{expected} is not in: {plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{plan}");
        }
        let lately = Filter { updated: Span { from: Some(1), before: Some(9) }, ..Filter::default() };
        let plan = plan(&of(lately), Walk::Updates);
        assert!(plan.contains("sessions_by_update (state=? AND <expr>=? AND minute>? AND minute<?)"), "{plan}");
        assert!(!plan.contains("SCAN"), "{plan}");
    }

    const MINUTE: i64 = 60_000_000;

    /// 2,000 sessions, a minute apart: all have label a, one in ten has label b, one in 50 is aborted, one in 100 is of player p.
    fn two_thousand() -> Connection {
        let mut connection = Connection::open_in_memory().expect("a database");
        checksum::register(&connection).expect("a function");
        schema::migrate(&mut connection, 0).expect("the tables");
        connection
            .execute_batch(
                "CREATE TEMP TABLE numbers AS
                 WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2000) SELECT value FROM n;
                 INSERT INTO sessions (session_id, game, state, created, updated, version, labels, summary)
                 SELECT value, 'gore', iif(value % 50 = 0, 2, 0), value * 60000000, value * 60000000, 1, '{}', '' FROM numbers;
                 UPDATE sessions SET minute = updated / 60000000;
                 INSERT INTO labels SELECT 'a', '1', created, session_id, key FROM sessions;
                 INSERT INTO labels SELECT 'b', '2', created, session_id, key FROM sessions WHERE key % 10 = 0;
                 INSERT INTO players SELECT 'p', created, session_id, key FROM sessions WHERE key % 100 = 0;",
            )
            .expect("sessions");
        connection
    }

    #[test]
    fn the_shortest_walk_is_chosen() {
        let connection = two_thousand();
        let (a, b) = (("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned()));
        let any = Filter::default;
        let of_a = || Filter { labels: [a.clone()].into(), ..any() };
        let of_both = || Filter { labels: [a.clone(), b.clone()].into(), ..any() };
        let state = Some(State::Aborted);
        let since = |minute: i64| Span { from: Some(minute * MINUTE), before: None };
        for (filter, expected) in [
            (any(), Walk::Sessions),
            (of_a(), Walk::Label("a", "1")),
            (of_both(), Walk::Label("b", "2")),
            (Filter { game: Some("gore".into()), ..of_both() }, Walk::Label("b", "2")),
            (Filter { state, ..of_both() }, Walk::Sessions),
            (Filter { game: Some("none".into()), ..of_a() }, Walk::Sessions),
            (Filter { players: ["p".into()].into(), ..of_both() }, Walk::Player("p")),
            (Filter { seats: [Some("p".into()), Some("q".into())], ..any() }, Walk::Player("q")),
            (Filter { updated: since(1_900), ..of_both() }, Walk::Updates),
            (Filter { updated: since(1_900), ..any() }, Walk::Updates),
            // As long as may be: it would have to be read whole for each page.
            (Filter { updated: since(1_001), ..any() }, Walk::Sessions),
            (Filter { created: since(1_995), ..of_a() }, Walk::Label("a", "1")),
            // What is counted is what would be read, however few of it are old enough.
            (Filter { updated: since(500), created: Span { from: None, before: Some(400 * MINUTE) }, ..any() }, Walk::Sessions),
        ] {
            let query = Query { filter, ..Query::default() };
            assert_eq!(shortest_walk(&connection, &query).expect("a walk"), expected, "{query:?}");
        }
    }

    #[test]
    fn a_page_reads_no_more_than_its_budget() {
        let connection = two_thousand();
        let more = "INSERT INTO sessions (key, session_id, game, state, created, updated, minute, version, labels, summary)
                    SELECT key + 2000, session_id || 'x', game, state, created + 120000000000, updated, minute, 1, labels, ''
                    FROM sessions";
        connection.execute_batch(more).expect("more");
        // On the walk of all 4,000, the sessions that changed in minute 1,001 or later are the older half of either half.
        let updated = Span { from: Some(1_001 * MINUTE), before: None };
        let mut query = Query { filter: Filter { updated, ..Filter::default() }, limit: 1_500, after: None };
        let mut sizes = Vec::new();
        loop {
            let page = list(&connection, &query).expect("a page");
            sizes.push(page.heads.len());
            if page.next.is_none() {
                break;
            }
            query.after = page.next;
        }
        assert_eq!(sizes, [1_000, 1_000, 0]);
    }
}
