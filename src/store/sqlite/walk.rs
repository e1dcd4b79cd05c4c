//! The statements that read along a walk.
//!
//! Of what a filter asks, some bounds the walk: those parts choose where in the index it begins and ends. The rest is tested
//! on each entry.

use super::reads::sql_limit;
use super::writes::{minute, state_code};
use crate::store::walk::{Walk, beginning};
use crate::store::{Filter, Place, Query, Span};
use rusqlite::types::Value;

/// A statement and the values of its parameters.
pub(super) struct Statement {
    pub sql: String,
    pub values: Vec<Value>,
}

/// Counts the entries of a walk, `most` at most, and reads no others.
pub(super) fn count(filter: &Filter, walk: Walk<'_>, most: i64) -> Statement {
    let mut parts = Parts::default();
    parts.bound_by_walk(filter, walk);
    // In the order of changes the age is no bound: entries that are too old would be read, and not counted.
    if walk != Walk::Updates {
        parts.bound_by_place(filter, walk, None);
    }
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {most})", parts.table, all(&parts.bounds));
    Statement { sql, values: parts.values }
}

/// Reads the first `budget` entries of a walk after the query's place: key, `created`, `session_id`, and whether it is like
/// the filter.
pub(super) fn scan(query: &Query, walk: Walk<'_>, budget: usize) -> Statement {
    let mut parts = Parts::default();
    parts.bound_by_walk(&query.filter, walk);
    parts.bound_by_place(&query.filter, walk, query.after.clone());
    parts.test(&query.filter, walk);
    let budget = parts.bind(sql_limit(budget));
    let (table, bounds, tests, by) = (&parts.table, all(&parts.bounds), all(&parts.tests), letter(walk));
    let (key, join) = match by {
        "s" => ("s.key", ""),
        // The sessions lie scattered: they are looked at only if something is asked of them.
        _ if !parts.of_sessions => ("l.session", ""),
        _ => ("l.session", "CROSS JOIN sessions s ON s.key = l.session"),
    };
    let sql = format!(
        "SELECT {key}, {by}.created, {by}.session_id, ({tests}) FROM {table} {join} WHERE {bounds}
         ORDER BY {by}.created DESC, {by}.session_id DESC LIMIT {budget}"
    );
    Statement { sql, values: parts.values }
}

/// How a walk's table is named in its statement: the sessions themselves, or a list that leads to them.
const fn letter(walk: Walk<'_>) -> &'static str {
    match walk {
        Walk::Sessions | Walk::Updates => "s",
        Walk::Label(..) | Walk::Player(_) => "l",
    }
}

fn all(conditions: &[String]) -> String {
    if conditions.is_empty() { "true".into() } else { conditions.join(" AND ") }
}

/// A statement that is being made.
#[derive(Default)]
struct Parts {
    table: String,
    bounds: Vec<String>,
    tests: Vec<String>,
    /// Some test is of a column of `s`.
    of_sessions: bool,
    values: Vec<Value>,
}

impl Parts {
    /// Adds a value; returns its name in the statement.
    fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn bound_by_walk(&mut self, filter: &Filter, walk: Walk<'_>) {
        let (table, bounds) = match walk {
            Walk::Sessions => {
                let index = match (&filter.game, filter.state) {
                    (None, None) => "sessions_by_age",
                    (Some(_), None) => "sessions_by_game",
                    (None, Some(_)) => "sessions_by_state",
                    (Some(_), Some(_)) => "sessions_by_game_and_state",
                };
                (format!("sessions s INDEXED BY {index}"), self.game(filter).into_iter().chain(self.state(filter)).collect())
            }
            Walk::Label(name, value) => {
                let bounds =
                    vec![format!("l.name = {} AND l.value = {}", self.bind(name.to_owned()), self.bind(value.to_owned()))];
                ("labels l".into(), bounds)
            }
            Walk::Player(player) => ("players l".into(), vec![format!("l.player = {}", self.bind(player.to_owned()))]),
            Walk::Updates => {
                let state = self.state(filter).unwrap_or("s.state IN (0, 1, 2)".into());
                let mut bounds = vec![state, "(s.expires IS NOT NULL) IN (0, 1)".into()];
                let Span { from, before } = filter.updated;
                bounds.extend(from.map(|from| format!("s.minute >= {}", self.bind(minute(from)))));
                bounds.extend(before.map(|before| format!("s.minute <= {}", self.bind(minute(before)))));
                ("sessions s INDEXED BY sessions_by_update".into(), bounds)
            }
        };
        self.table = table;
        self.bounds = bounds;
    }

    /// From the place where the last page ended to the oldest session that is asked for.
    fn bound_by_place(&mut self, filter: &Filter, walk: Walk<'_>, after: Option<Place>) {
        let by = letter(walk);
        if let Some((created, session_id)) = beginning(filter, after) {
            let (created, session_id) = (self.bind(created), self.bind(session_id));
            self.bounds.push(format!("({by}.created, {by}.session_id) < ({created}, {session_id})"));
        }
        if let Some(from) = filter.created.from {
            let from = self.bind(from);
            self.bounds.push(format!("{by}.created >= {from}"));
        }
    }

    /// What is asked of each entry beyond the walk's bounds.
    fn test(&mut self, filter: &Filter, walk: Walk<'_>) {
        let mut tests = Vec::new();
        if walk != Walk::Sessions {
            tests.extend(self.game(filter));
        }
        if !matches!(walk, Walk::Sessions | Walk::Updates) {
            tests.extend(self.state(filter));
        }
        let Span { from, before } = filter.updated;
        tests.extend(from.map(|from| format!("s.updated >= {}", self.bind(from))));
        tests.extend(before.map(|before| format!("s.updated < {}", self.bind(before))));
        for (column, player) in ["s.south_player", "s.north_player"].into_iter().zip(&filter.seats) {
            tests.extend(player.clone().map(|player| format!("{column} IS {}", self.bind(player))));
        }
        for player in filter.players.iter().filter(|player| walk != Walk::Player(player)) {
            let player = self.bind(player.clone());
            tests.push(format!("(s.south_player IS {player} OR s.north_player IS {player})"));
        }
        self.of_sessions = !tests.is_empty();
        let by = letter(walk);
        for (name, value) in filter.labels.iter().filter(|(name, value)| walk != Walk::Label(name, value)) {
            let (name, value) = (self.bind(name.clone()), self.bind(value.clone()));
            tests.push(format!(
                "EXISTS (SELECT 1 FROM labels m WHERE m.name = {name} AND m.value = {value}
                         AND m.created = {by}.created AND m.session_id = {by}.session_id)"
            ));
        }
        self.tests = tests;
    }

    fn game(&mut self, filter: &Filter) -> Option<String> {
        filter.game.clone().map(|game| format!("s.game = {}", self.bind(game)))
    }

    fn state(&mut self, filter: &Filter) -> Option<String> {
        filter.state.map(|state| format!("s.state = {}", self.bind(state_code(state))))
    }
}
