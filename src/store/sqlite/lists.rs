//! Pages of heads. Each is a walk down one index from the place where the last page ended; of the indexes that would do,
//! the one that is shortest.

use super::errors::Failure;
use super::reads::{HEAD, head_of, sql_limit};
use super::writes::state_code;
use crate::store::{Head, Query};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// Entries up to which indexes are compared. Beyond it all are long, and one is as good as another: a page is then
/// likely to fill soon.
const COMPARED: i64 = 1_000;

/// What a page is read along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk<'a> {
    /// An index of the sessions, by age within game and state.
    Sessions,
    /// The sessions that have a label of this name and value, by age.
    Label(&'a str, &'a str),
}

pub(super) fn list(connection: &Connection, query: &Query) -> Result<Vec<Head>, Failure> {
    // One snapshot for the choice and the page: a choice that was right is still right.
    let transaction = connection.unchecked_transaction()?;
    let (sql, values) = page(query, shortest_walk(&transaction, query)?);
    let mut select = transaction.prepare_cached(&sql)?;
    let heads = select.query_map(params_from_iter(values), head_of)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(heads)
}

fn shortest_walk<'a>(connection: &Connection, query: &'a Query) -> rusqlite::Result<Walk<'a>> {
    let labels = query.labels.iter().map(|(name, value)| Walk::Label(name, value));
    let sessions = (query.game.is_some() || query.state.is_some() || query.labels.is_empty()).then_some(Walk::Sessions);
    let walks: Vec<_> = sessions.into_iter().chain(labels).collect();
    let mut best = (walks[0], COMPARED + 1);
    for walk in walks.iter().filter(|_| walks.len() > 1) {
        let length = length(connection, query, *walk)?;
        if length < best.1 {
            best = (*walk, length);
        }
    }
    Ok(best.0)
}

/// Entries of a walk, counted no further than is compared.
fn length(connection: &Connection, query: &Query, walk: Walk<'_>) -> rusqlite::Result<i64> {
    let mut statement = Statement::default();
    let (from, _) = statement.walk(query, walk);
    let conditions = statement.conditions.join(" AND ");
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from} WHERE {conditions} LIMIT {COMPARED})");
    connection.prepare_cached(&sql)?.query_row(params_from_iter(statement.values), |row| row.get(0))
}

/// The statement for a page along a walk.
fn page(query: &Query, walk: Walk<'_>) -> (String, Vec<Value>) {
    let mut statement = Statement::default();
    let (mut from, order) = statement.walk(query, walk);
    if walk != Walk::Sessions {
        from.push_str(" CROSS JOIN sessions s ON s.key = l.session");
        statement.game_and_state(query);
    }
    for (name, value) in query.labels.iter().filter(|(name, value)| walk != Walk::Label(name, value)) {
        let (name, value) = (statement.bind(name.clone()), statement.bind(value.clone()));
        statement.conditions.push(format!(
            "EXISTS (SELECT 1 FROM labels m WHERE m.name = {name} AND m.value = {value}
                     AND m.created = s.created AND m.session_id = s.session_id)"
        ));
    }
    if let Some((created, session_id)) = query.after.clone() {
        let (created, session_id) = (statement.bind(created), statement.bind(session_id));
        statement.conditions.push(format!("({order}.created, {order}.session_id) < ({created}, {session_id})"));
    }
    let limit = statement.bind(sql_limit(query.limit));
    let conditions = statement.conditions.join(" AND ");
    let sql = format!(
        "SELECT {HEAD} FROM {from} WHERE {conditions} ORDER BY {order}.created DESC, {order}.session_id DESC LIMIT {limit}"
    );
    (sql, statement.values)
}

/// A statement that is being made.
struct Statement {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Default for Statement {
    fn default() -> Statement {
        Statement { conditions: vec!["true".into()], values: Vec::new() }
    }
}

impl Statement {
    /// Adds a value; returns its name in the statement.
    fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// Adds what a walk begins with; returns its table, and the letter by which its order is named.
    fn walk(&mut self, query: &Query, walk: Walk<'_>) -> (String, &'static str) {
        match walk {
            Walk::Sessions => {
                let index = match (&query.game, query.state) {
                    (None, None) => "sessions_by_age",
                    (Some(_), None) => "sessions_by_game",
                    (None, Some(_)) => "sessions_by_state",
                    (Some(_), Some(_)) => "sessions_by_game_and_state",
                };
                self.game_and_state(query);
                (format!("sessions s INDEXED BY {index}"), "s")
            }
            Walk::Label(name, value) => {
                let condition = format!("l.name = {} AND l.value = {}", self.bind(name.to_owned()), self.bind(value.to_owned()));
                self.conditions.push(condition);
                ("labels l".into(), "l")
            }
        }
    }

    fn game_and_state(&mut self, query: &Query) {
        if let Some(game) = query.game.clone() {
            let condition = format!("s.game = {}", self.bind(game));
            self.conditions.push(condition);
        }
        if let Some(state) = query.state {
            let condition = format!("s.state = {}", self.bind(state_code(state)));
            self.conditions.push(condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use crate::store::State;

    /// How SQLite would run a page.
    fn plan(query: &Query, walk: Walk<'_>) -> String {
        let mut connection = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut connection, 0).expect("the tables");
        let (sql, values) = page(query, walk);
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
        let lines = explain.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).expect("a plan");
        lines.collect::<rusqlite::Result<Vec<_>>>().expect("text").join("; ")
    }

    #[test]
    fn every_page_is_a_walk_along_one_index_from_its_place_on() {
        let after = Some((5, "s".to_owned()));
        let any = || Query { after: after.clone(), ..Query::default() };
        let labels = || [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into();
        let game = || Some("gore".to_owned());
        let state = Some(State::Active);
        let both = || Query { game: game(), state, labels: labels(), ..any() };
        let place = "(created,session_id)<(?,?)";
        let of_both = format!("sessions_by_game_and_state (game=? AND state=? AND {place})");
        for (query, walk, expected) in [
            (any(), Walk::Sessions, format!("sessions_by_age ({place})")),
            (Query { game: game(), ..any() }, Walk::Sessions, format!("sessions_by_game (game=? AND {place})")),
            (Query { state, ..any() }, Walk::Sessions, format!("sessions_by_state (state=? AND {place})")),
            (both(), Walk::Sessions, of_both),
            (
                both(),
                Walk::Label("b", "2"),
                format!(
                    "SEARCH l USING PRIMARY KEY (name=? AND value=? AND {place}); SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"
                ),
            ),
        ] {
            let plan = plan(&query, walk);
            assert!(plan.contains(&expected), "{expected} is not in: {plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{plan}");
        }
    }

    #[test]
    fn the_shortest_walk_is_chosen() {
        let mut connection = Connection::open_in_memory().expect("a database");
        schema::migrate(&mut connection, 0).expect("the tables");
        // All have label a, one in ten has label b, one in 50 is aborted.
        connection
            .execute_batch(
                "CREATE TEMP TABLE numbers AS
                 WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2000) SELECT value FROM n;
                 INSERT INTO sessions (session_id, game, state, created, updated, version, labels, summary)
                 SELECT value, 'gore', iif(value % 50 = 0, 2, 0), value, value, 1, '{}', '' FROM numbers;
                 INSERT INTO labels SELECT 'a', '1', created, session_id, key FROM sessions;
                 INSERT INTO labels SELECT 'b', '2', created, session_id, key FROM sessions WHERE key % 10 = 0;",
            )
            .expect("sessions");
        let (a, b) = (("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned()));
        let state = Some(State::Aborted);
        for (query, expected) in [
            (Query::default(), Walk::Sessions),
            (Query { labels: [a.clone()].into(), ..Query::default() }, Walk::Label("a", "1")),
            (Query { labels: [a.clone(), b.clone()].into(), ..Query::default() }, Walk::Label("b", "2")),
            (
                Query { labels: [a.clone(), b.clone()].into(), game: Some("gore".into()), ..Query::default() },
                Walk::Label("b", "2"),
            ),
            (Query { labels: [a.clone(), b].into(), state, ..Query::default() }, Walk::Sessions),
            (Query { labels: [a].into(), game: Some("none".into()), ..Query::default() }, Walk::Sessions),
        ] {
            assert_eq!(shortest_walk(&connection, &query).expect("a walk"), expected, "{query:?}");
        }
    }
}
