//! The statements that read along a walk.
//!
//! Of what a filter asks, some bounds the walk: those parts choose where in the index it begins and ends. The rest is tested
//! on each entry, and named as a column, so that the planner does not hope to find few entries where it must read many.

use super::reads::state_code;
use super::text::stored;
use super::writes::minute;
use crate::store::walk::{Walk, beginning};
use crate::store::{Filter, Place, Query, Span, State};
use tokio_postgres::types::{ToSql, Type};

/// A value of a parameter.
pub(super) type Value = Box<dyn ToSql + Sync + Send>;

/// A statement and the values of its parameters.
#[derive(Default)]
pub(super) struct Statement {
    pub sql: String,
    pub values: Vec<(Value, Type)>,
}

impl Statement {
    /// The values, as they are sent.
    pub fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
    }

    /// Adds a value; returns its name in the statement.
    fn bind(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.values.push((Box::new(value), kind));
        format!("${}", self.values.len())
    }

    fn bind_text(&mut self, text: &str) -> String {
        self.bind(stored(text).into_owned(), Type::TEXT)
    }

    fn bind_number(&mut self, number: i64) -> String {
        self.bind(number, Type::INT8)
    }
}

/// Counts the entries of each walk, `most` at most, and reads no others: a row with a column for each.
pub(super) fn counts(filter: &Filter, walks: &[Walk<'_>], most: i64) -> Statement {
    let mut statement = Statement::default();
    let mut columns = Vec::new();
    for &walk in walks {
        let mut parts = Vec::new();
        for stretch in stretches(&mut statement, filter, walk, None) {
            parts.push(format!("(SELECT 1 AS one FROM {} LIMIT {most})", stretch.walked(table(walk), "")));
        }
        columns.push(format!("(SELECT count(*) FROM ({}) entries)", parts.join(" UNION ALL ")));
    }
    statement.sql = format!("SELECT {}", columns.join(", "));
    statement
}

/// Reads the first `budget` entries of a walk after the query's place: `session_id`, `created`, and whether it is like
/// the filter.
pub(super) fn scan(query: &Query, walk: Walk<'_>, budget: usize) -> Statement {
    let mut statement = Statement::default();
    let (tests, of_sessions) = tests(&mut statement, query, walk);
    let by = letter(walk);
    // The sessions lie scattered: they are looked at only if something is asked of them.
    let join = if by == "l" && of_sessions { " JOIN sessions s ON s.session_id = l.session_id" } else { "" };
    let mut parts = Vec::new();
    for stretch in stretches(&mut statement, &query.filter, walk, query.after.clone()) {
        let walked = stretch.walked(table(walk), join);
        parts.push(format!("SELECT {by}.session_id, {by}.created, ({tests}) AS fits FROM {walked} LIMIT {budget}"));
    }
    statement.sql = match &parts[..] {
        [one] if walk != Walk::Updates => one.clone(),
        several => format!(
            "SELECT session_id, created, fits FROM (({})) entries ORDER BY created DESC, session_id DESC LIMIT {budget}",
            several.join(") UNION ALL (")
        ),
    };
    statement
}

/// How a walk's table is named in its statement: the sessions themselves, or the labels that lead to them.
const fn letter(walk: Walk<'_>) -> &'static str {
    if matches!(walk, Walk::Label(..)) { "l" } else { "s" }
}

const fn table(walk: Walk<'_>) -> &'static str {
    if matches!(walk, Walk::Label(..)) { "labels l" } else { "sessions s" }
}

/// A stretch of one index: what its columns begin with, and from where to where the next ones go.
///
/// It is written as comparisons of rows and ordered by all of the index's columns, those that are the same throughout, too. No other
/// index has that order, and so the planner walks along this one, whatever it takes for frequent.
struct Stretch {
    /// The index's first columns and their values.
    begins: Vec<(&'static str, String)>,
    /// Where it ends: columns and values; the entries are at or above it.
    from: Vec<(&'static str, String)>,
    /// Where it begins: the entries are below it, or at it.
    before: (Vec<(&'static str, String)>, &'static str),
    /// The columns that follow the first ones in its order, with its direction.
    then: (&'static [&'static str], &'static str),
    /// It is of the sessions, whose indexes leave out those that are deleted.
    present: bool,
    /// No other index could take the place of this one: its first columns are compared by themselves, so that the planner knows how
    /// many entries there are.
    alone: bool,
}

impl Stretch {
    /// The table, joined, within the bounds and in the order of the index.
    fn walked(&self, table: &str, join: &str) -> String {
        let in_rows = if self.alone { &[][..] } else { &self.begins[..] };
        let row = |last: &[(&str, String)]| {
            let all = in_rows.iter().chain(last);
            let (columns, values): (Vec<_>, Vec<_>) = all.map(|(column, value)| (*column, value.as_str())).unzip();
            (columns.join(", "), values.join(", "))
        };
        let (lowest, lowest_values) = row(&self.from);
        let (highest, highest_values) = row(&self.before.0);
        let present = if self.present { "s.deleted IS NULL AND " } else { "" };
        // Not only as a part of a row: so it is plain to the planner that none is NULL, as indexes of some that may be ask.
        let first: String = if self.alone {
            self.begins.iter().map(|(column, value)| format!("{column} = {value} AND ")).collect()
        } else {
            self.begins.first().map(|(column, value)| format!("{column} >= {value} AND ")).unwrap_or_default()
        };
        let (then, direction) = self.then;
        let order: Vec<_> =
            in_rows.iter().map(|(column, _)| *column).chain(then.iter().copied()).map(|it| format!("{it} {direction}")).collect();
        format!(
            "{table}{join} WHERE {present}{first}({lowest}) >= ({lowest_values}) AND ({highest}) {} ({highest_values}) ORDER BY {}",
            self.before.1,
            order.join(", ")
        )
    }
}

/// The stretches of an index that a walk is made of: one, or one for each seat, or for each state with its end announced or not.
fn stretches(statement: &mut Statement, filter: &Filter, walk: Walk<'_>, after: Option<Place>) -> Vec<Stretch> {
    let of_age = |statement: &mut Statement, begins| by_age(statement, filter, walk, after.clone(), begins);
    match walk {
        Walk::Sessions => {
            let game = filter.game.as_deref().map(|game| ("s.game", statement.bind_text(game)));
            let state = filter.state.map(|state| ("s.state", state_code(state).to_string()));
            vec![of_age(statement, game.into_iter().chain(state).collect())]
        }
        Walk::Label(name, value) => {
            let begins = vec![("l.name", statement.bind_text(name)), ("l.value", statement.bind_text(value))];
            vec![of_age(statement, begins)]
        }
        Walk::Player(player) => {
            let player = statement.bind_text(player);
            ["s.south_player", "s.north_player"].map(|seat| of_age(statement, vec![(seat, player.clone())])).into()
        }
        Walk::Updates => {
            // In the order of changes the age is no bound: that is tested.
            let Span { from, before } = filter.updated;
            let from = statement.bind_number(from.map_or(i64::MIN, minute));
            let before = statement.bind_number(before.map_or(i64::MAX, minute));
            let states = filter.state.map_or(vec![State::Active, State::Finished, State::Aborted], |state| vec![state]);
            let kinds = states.into_iter().flat_map(|state| [(state, false), (state, true)]);
            let stretch = |(state, announced): (State, bool)| Stretch {
                begins: vec![("s.announced", announced.to_string()), ("s.state", state_code(state).to_string())],
                from: vec![("s.minute", from.clone())],
                before: (vec![("s.minute", before.clone())], "<="),
                then: (&["s.minute", "s.session_id"], "ASC"),
                present: true,
                alone: false,
            };
            kinds.map(stretch).collect()
        }
    }
}

/// From the place where the last page ended to the oldest session that is asked for.
fn by_age(
    statement: &mut Statement,
    filter: &Filter,
    walk: Walk<'_>,
    after: Option<Place>,
    begins: Vec<(&'static str, String)>,
) -> Stretch {
    let of_labels = letter(walk) == "l";
    let (created, then): (&'static str, &'static [&'static str]) =
        if of_labels { ("l.created", &["l.created", "l.session_id"]) } else { ("s.created", &["s.created", "s.session_id"]) };
    let (time, id) = beginning(filter, after).unwrap_or((i64::MAX, String::new()));
    let before = vec![(created, statement.bind_number(time)), (then[1], statement.bind_text(&id))];
    let from = vec![(created, statement.bind_number(filter.created.from.unwrap_or(i64::MIN)))];
    Stretch { begins, from, before: (before, "<"), then: (then, "DESC"), present: !of_labels, alone: walk != Walk::Sessions }
}

/// What is asked of each entry beyond the walk's bounds, and whether some of it is asked of a session's row.
fn tests(statement: &mut Statement, query: &Query, walk: Walk<'_>) -> (String, bool) {
    let filter = &query.filter;
    let mut tests = Vec::new();
    if walk == Walk::Updates {
        if let Some((created, session_id)) = beginning(filter, query.after.clone()) {
            let (created, session_id) = (statement.bind_number(created), statement.bind_text(&session_id));
            tests.push(format!("(s.created, s.session_id) < ({created}, {session_id})"));
        }
        tests.extend(filter.created.from.map(|from| format!("s.created >= {}", statement.bind_number(from))));
    }
    if walk != Walk::Sessions {
        tests.extend(filter.game.as_deref().map(|game| format!("s.game = {}", statement.bind_text(game))));
        tests.extend(filter.state.map(|state| format!("s.state = {}", state_code(state))));
    }
    let Span { from, before } = filter.updated;
    tests.extend(from.map(|from| format!("s.updated >= {}", statement.bind_number(from))));
    tests.extend(before.map(|before| format!("s.updated < {}", statement.bind_number(before))));
    for (column, player) in ["s.south_player", "s.north_player"].into_iter().zip(&filter.seats) {
        tests.extend(player.as_deref().map(|player| format!("coalesce({column} = {}, false)", statement.bind_text(player))));
    }
    for player in filter.players.iter().filter(|player| walk != Walk::Player(player)) {
        let player = statement.bind_text(player);
        tests.push(format!("(coalesce(s.south_player = {player}, false) OR coalesce(s.north_player = {player}, false))"));
    }
    let of_sessions = !tests.is_empty();
    let by = letter(walk);
    for (name, value) in filter.labels.iter().filter(|(name, value)| walk != Walk::Label(name, value)) {
        let (name, value) = (statement.bind_text(name), statement.bind_text(value));
        // The whole key of either index, and a form that can't become a table of all that have the label.
        tests.push(format!(
            "coalesce((SELECT true FROM labels m WHERE m.name = {name} AND m.value = {value}
                       AND m.created = {by}.created AND m.session_id = {by}.session_id), false)"
        ));
    }
    (if tests.is_empty() { "true".into() } else { tests.join(" AND ") }, of_sessions)
}
