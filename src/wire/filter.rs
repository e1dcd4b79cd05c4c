//! The filter of lists: comparisons joined by AND, such as `game = gore AND labels.team = "red"`. A part of AIP-160's language,
//! the part that the store can answer along its indexes.

use super::convert::timestamp;
use crate::game::{Game, Seat};
use crate::service::{Filter, Span, is_reserved_label};
use crate::session::{Micros, State};
use prost_types::Timestamp;
use std::fmt;
use thiserror::Error;

/// Longer filters are not read, in bytes.
const MAX_FILTER: usize = 2_000;

/// A filter that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("at character {at}: expected {expected}")]
pub struct FilterError {
    /// Where it went wrong, from 1.
    pub at: usize,
    /// What should have stood there.
    pub expected: &'static str,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// `game = ...`
    Game(Game),
    /// `state = ...`
    State(State),
    /// `labels.KEY = ...`
    Label(String, String),
    /// `player = ...`, in either seat.
    Player(String),
    /// `south.player = ...` or `north.player = ...`
    Seat(Seat, String),
    /// `create_time` compared.
    Created(Relation, Micros),
    /// `update_time` compared.
    Updated(Relation, Micros),
}

/// How a time is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Before,
    /// `<=`
    UpTo,
    /// `=`
    At,
    /// `>=`
    From,
    /// `>`
    After,
}

impl Relation {
    /// All, those first that another one begins with.
    const ALL: [Relation; 5] = [Relation::UpTo, Relation::From, Relation::Before, Relation::After, Relation::At];

    const fn sign(self) -> &'static str {
        match self {
            Relation::Before => "<",
            Relation::UpTo => "<=",
            Relation::At => "=",
            Relation::From => ">=",
            Relation::After => ">",
        }
    }

    /// The times that stand in this relation to one, which is within years 1 to 9999.
    const fn span(self, time: Micros) -> Span {
        let (from, before) = match self {
            Relation::Before => (None, Some(time)),
            Relation::UpTo => (None, Some(time + 1)),
            Relation::At => (Some(time), Some(time + 1)),
            Relation::From => (Some(time), None),
            Relation::After => (Some(time + 1), None),
        };
        Span { from, before }
    }
}

/// Makes a filter stricter by a comparison; `false` if no session can be like that any more.
pub fn narrow(filter: &mut Filter, comparison: Comparison) -> bool {
    match comparison {
        Comparison::Game(game) => is_or_becomes(&mut filter.game, game.id().to_owned()),
        Comparison::State(state) => is_or_becomes(&mut filter.state, state),
        Comparison::Label(key, _) if is_reserved_label(&key) => false,
        Comparison::Label(key, value) => *filter.labels.entry(key).or_insert_with(|| value.clone()) == value,
        Comparison::Player(player) => {
            filter.players.insert(player);
            filter.players.len() <= 2
        }
        Comparison::Seat(Seat::South, player) => is_or_becomes(&mut filter.seats[0], player),
        Comparison::Seat(Seat::North, player) => is_or_becomes(&mut filter.seats[1], player),
        Comparison::Created(relation, time) => intersect(&mut filter.created, relation.span(time)),
        Comparison::Updated(relation, time) => intersect(&mut filter.updated, relation.span(time)),
    }
}

fn is_or_becomes<T: PartialEq>(asked: &mut Option<T>, value: T) -> bool {
    match asked {
        Some(asked) => *asked == value,
        None => {
            *asked = Some(value);
            true
        }
    }
}

fn intersect(span: &mut Span, other: Span) -> bool {
    span.from = span.from.max(other.from);
    span.before = [span.before, other.before].into_iter().flatten().min();
    span.from.zip(span.before).is_none_or(|(from, before)| from < before)
}

const FIELD: &str = "game, state, player, south.player, north.player, labels.KEY, create_time or update_time (there are no NOT and \
                     no parentheses)";
const VALUE: &str = "a value: letters, digits and _-.:+, or any text in double quotes";
const TIME: &str = "a time such as \"2026-01-31T12:00:00Z\", to the microsecond at most";

/// Reads a filter; an empty one asks for nothing.
pub fn parse(text: &str) -> Result<Vec<Comparison>, FilterError> {
    if text.len() > MAX_FILTER {
        return Err(FilterError { at: 1, expected: "a filter of at most 2,000 bytes" });
    }
    let mut reader = Reader { text, at: 0 };
    let mut comparisons = Vec::new();
    reader.skip_blanks();
    while !reader.rest().is_empty() {
        if !comparisons.is_empty() {
            let before = reader;
            if reader.word() != "AND" {
                return before.error("AND, or the end of the filter (there is no OR)");
            }
            reader.skip_blanks();
        }
        comparisons.push(comparison(&mut reader)?);
        reader.skip_blanks();
    }
    Ok(comparisons)
}

fn comparison(reader: &mut Reader) -> Result<Comparison, FilterError> {
    let before = *reader;
    let field = reader.word();
    if let Some(key) = field.strip_prefix("labels.") {
        let key = match key {
            "" if reader.rest().starts_with('"') => reader.quoted()?,
            "" => return reader.error("the key of a label"),
            key => key.to_owned(),
        };
        return Ok(Comparison::Label(key, reader.equal_to()?));
    }
    match field {
        "game" => reader.one_of("a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi", Game::from_id).map(Comparison::Game),
        "state" => reader.one_of("a state: ACTIVE, FINISHED or ABORTED", state).map(Comparison::State),
        "player" => reader.equal_to().map(Comparison::Player),
        "south.player" => Ok(Comparison::Seat(Seat::South, reader.equal_to()?)),
        "north.player" => Ok(Comparison::Seat(Seat::North, reader.equal_to()?)),
        "create_time" => reader.time().map(|(relation, time)| Comparison::Created(relation, time)),
        "update_time" => reader.time().map(|(relation, time)| Comparison::Updated(relation, time)),
        _ => before.error(FIELD),
    }
}

const fn state_name(state: State) -> &'static str {
    match state {
        State::Active => "ACTIVE",
        State::Finished => "FINISHED",
        State::Aborted => "ABORTED",
    }
}

/// A state by its name, also by the longer one that it has in messages.
fn state(name: &str) -> Option<State> {
    let name = name.strip_prefix("SESSION_STATE_").unwrap_or(name);
    [State::Active, State::Finished, State::Aborted].into_iter().find(|&state| state_name(state) == name)
}

/// A time of years 1 to 9999, if it is one of whole microseconds.
fn time(text: &str) -> Option<Micros> {
    let Timestamp { seconds, nanos } = text.parse().ok()?;
    let within = (-62_135_596_800..253_402_300_800).contains(&seconds) && nanos % 1_000 == 0;
    within.then(|| seconds * 1_000_000 + Micros::from(nanos) / 1_000)
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '+')
}

/// A place in a filter.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error<T>(&self, expected: &'static str) -> Result<T, FilterError> {
        Err(FilterError { at: self.text[..self.at].chars().count() + 1, expected })
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// The characters of a word; none if none comes next.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn relation(&mut self, possible: &[Relation], expected: &'static str) -> Result<Relation, FilterError> {
        self.skip_blanks();
        match possible.iter().find(|relation| self.rest().starts_with(relation.sign())) {
            Some(relation) => {
                self.at += relation.sign().len();
                self.skip_blanks();
                Ok(*relation)
            }
            None => self.error(expected),
        }
    }

    /// `=` and a value.
    fn equal_to(&mut self) -> Result<String, FilterError> {
        self.relation(&[Relation::At], "=")?;
        self.value()
    }

    /// `=` and the name of something.
    fn one_of<T>(&mut self, expected: &'static str, named: impl Fn(&str) -> Option<T>) -> Result<T, FilterError> {
        self.relation(&[Relation::At], "=")?;
        let before = *self;
        named(&self.value()?).map_or_else(|| before.error(expected), Ok)
    }

    fn time(&mut self) -> Result<(Relation, Micros), FilterError> {
        let relation = self.relation(&Relation::ALL, "=, <, <=, > or >=")?;
        let before = *self;
        time(&self.value()?).map_or_else(|| before.error(TIME), |time| Ok((relation, time)))
    }

    fn value(&mut self) -> Result<String, FilterError> {
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let before = *self;
        match self.word() {
            "" | "AND" | "OR" | "NOT" => before.error(VALUE),
            word => Ok(word.to_owned()),
        }
    }

    /// A text in quotes, the first of which comes next.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    _ => {
                        self.at += at + 1;
                        return self.error("\" or \\ after a backslash");
                    }
                },
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        self.error("\" at the end of the text")
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparison::Game(game) => write!(f, "game = {}", game.id()),
            Comparison::State(state) => write!(f, "state = {}", state_name(*state)),
            Comparison::Label(key, value) if !key.is_empty() && key.chars().all(is_word) => {
                write!(f, "labels.{key} = {}", quote(value))
            }
            Comparison::Label(key, value) => write!(f, "labels.{} = {}", quote(key), quote(value)),
            Comparison::Player(player) => write!(f, "player = {}", quote(player)),
            Comparison::Seat(Seat::South, player) => write!(f, "south.player = {}", quote(player)),
            Comparison::Seat(Seat::North, player) => write!(f, "north.player = {}", quote(player)),
            Comparison::Created(relation, time) => write!(f, "create_time {} \"{}\"", relation.sign(), timestamp(*time)),
            Comparison::Updated(relation, time) => write!(f, "update_time {} \"{}\"", relation.sign(), timestamp(*time)),
        }
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
