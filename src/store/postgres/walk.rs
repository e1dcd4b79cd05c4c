//! Walks: the orders in which sessions can be read along an index, and the statements that do.
//!
//! Of what a filter asks, some bounds the walk: those parts choose where in the index it begins and ends. The rest is tested
//! on each entry, and named as a column, so that the planner does not hope to find few entries where it must read many.

use super::reads::state_code;
use super::text::stored;
use super::writes::minute;
use crate::store::{Filter, Place, Query, Span, State};
use tokio_postgres::types::{ToSql, Type};

/// What a page is read along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk<'a> {
    /// An index of the sessions, by age within game and state.
    Sessions,
    /// The sessions that have a label of this name and value, by age.
    Label(&'a str, &'a str),
    /// The sessions of this player, by age: those of South's seat and those of North's. One who holds both is met twice.
    Player(&'a str),
    /// The sessions that last changed in the minutes of the filter's time. Not by age: all of them must be read and sorted.
    Updates,
}

/// The walks that would do for a filter.
pub(super) fn walks(filter: &Filter) -> Vec<Walk<'_>> {
    let labels = filter.labels.iter().map(|(name, value)| Walk::Label(name, value));
    let players = filter.players.iter().chain(filter.seats.iter().flatten()).map(|player| Walk::Player(player));
    let updates = (filter.updated != Span::default()).then_some(Walk::Updates);
    let mut walks: Vec<_> = labels.chain(players).collect();
    // Without game or state this walks along all sessions, longer than any other.
    if filter.game.is_some() || filter.state.is_some() || walks.is_empty() {
        walks.insert(0, Walk::Sessions);
    }
    walks.extend(updates);
    walks
}

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
        let mut stretches = Vec::new();
        for mut bounds in stretches_of(&mut statement, filter, walk) {
            // In the order of changes the age is no bound: entries that are too old would be read, and not counted.
            if walk != Walk::Updates {
                bounds.extend(bounds_of_place(&mut statement, filter, walk, None));
            }
            stretches.push(format!(
                "(SELECT 1 AS one FROM {} WHERE {} {} LIMIT {most})",
                table(walk),
                bounds.join(" AND "),
                order(walk)
            ));
        }
        columns.push(format!("(SELECT count(*) FROM ({}) entries)", stretches.join(" UNION ALL ")));
    }
    statement.sql = format!("SELECT {}", columns.join(", "));
    statement
}

/// Reads the first `budget` entries of a walk after the query's place: `session_id`, `created`, and whether it is like
/// the filter.
pub(super) fn scan(query: &Query, walk: Walk<'_>, budget: usize) -> Statement {
    let mut statement = Statement::default();
    let (tests, of_sessions) = tests(&mut statement, &query.filter, walk);
    let by = letter(walk);
    // The sessions lie scattered: they are looked at only if something is asked of them.
    let join = if by == "l" && of_sessions { " JOIN sessions s ON s.session_id = l.session_id" } else { "" };
    let mut stretches = Vec::new();
    for mut bounds in stretches_of(&mut statement, &query.filter, walk) {
        bounds.extend(bounds_of_place(&mut statement, &query.filter, walk, query.after.clone()));
        stretches.push(format!(
            "SELECT {by}.session_id, {by}.created, ({tests}) AS fits FROM {}{join} WHERE {} {} LIMIT {budget}",
            table(walk),
            bounds.join(" AND "),
            order(walk)
        ));
    }
    statement.sql = match &stretches[..] {
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

/// The order of a walk's index. It is asked for even where it does not matter, so that the planner walks along that index.
const fn order(walk: Walk<'_>) -> &'static str {
    match walk {
        Walk::Sessions | Walk::Player(_) => "ORDER BY s.created DESC, s.session_id DESC",
        Walk::Label(..) => "ORDER BY l.created DESC, l.session_id DESC",
        Walk::Updates => "ORDER BY s.minute, s.session_id",
    }
}

/// The stretches of an index that a walk is made of, each by its bounds: one, or one for each seat, or for each state with its end
/// announced or not.
fn stretches_of(statement: &mut Statement, filter: &Filter, walk: Walk<'_>) -> Vec<Vec<String>> {
    let present = || "s.deleted IS NULL".to_owned();
    match walk {
        Walk::Sessions => {
            let game = filter.game.as_deref().map(|game| format!("s.game = {}", statement.bind_text(game)));
            let state = filter.state.map(|state| format!("s.state = {}", state_code(state)));
            vec![[Some(present()), game, state].into_iter().flatten().collect()]
        }
        Walk::Label(name, value) => {
            vec![vec![format!("l.name = {} AND l.value = {}", statement.bind_text(name), statement.bind_text(value))]]
        }
        Walk::Player(player) => {
            let player = statement.bind_text(player);
            let seat = |column: &str| vec![present(), format!("s.{column} = {player}")];
            vec![seat("south_player"), seat("north_player")]
        }
        Walk::Updates => {
            let Span { from, before } = filter.updated;
            let from = from.map(|from| format!("s.minute >= {}", statement.bind_number(minute(from))));
            let before = before.map(|before| format!("s.minute <= {}", statement.bind_number(minute(before))));
            let states = filter.state.map_or(vec![State::Active, State::Finished, State::Aborted], |state| vec![state]);
            let kinds = states.into_iter().flat_map(|state| [(state, false), (state, true)]);
            let stretch = |(state, announced)| {
                let kind = format!("s.announced = {announced} AND s.state = {}", state_code(state));
                [Some(present()), Some(kind), from.clone(), before.clone()].into_iter().flatten().collect()
            };
            kinds.map(stretch).collect()
        }
    }
}

/// From the place where the last page ended to the oldest session that is asked for.
fn bounds_of_place(statement: &mut Statement, filter: &Filter, walk: Walk<'_>, after: Option<Place>) -> Vec<String> {
    // What was changed before a time was also made before it.
    let before = [filter.created.before, filter.updated.before].into_iter().flatten().map(|time| (time, String::new()));
    let by = letter(walk);
    let mut bounds = Vec::new();
    if let Some((created, session_id)) = after.into_iter().chain(before).min() {
        let (created, session_id) = (statement.bind_number(created), statement.bind_text(&session_id));
        bounds.push(format!("({by}.created, {by}.session_id) < ({created}, {session_id})"));
    }
    if let Some(from) = filter.created.from {
        bounds.push(format!("{by}.created >= {}", statement.bind_number(from)));
    }
    bounds
}

/// What is asked of each entry beyond the walk's bounds, and whether some of it is asked of a session's row.
fn tests(statement: &mut Statement, filter: &Filter, walk: Walk<'_>) -> (String, bool) {
    let mut tests = Vec::new();
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
