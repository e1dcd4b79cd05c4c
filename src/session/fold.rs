//! The session as the fold of its events.

use super::{Created, Event, MatchResult, Micros, State};
use crate::game::observer::Observer;
use crate::game::{Game, Guards, Position, Record, Rules, SetUp};
use std::collections::BTreeMap;
use thiserror::Error;

/// A session as its events have made it.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    labels: BTreeMap<String, String>,
    created: Micros,
    updated: Micros,
    version: u32,
    record: Record,
    round: u32,
    round_results: Vec<MatchResult>,
    result: Option<MatchResult>,
}

/// An event that can't have followed the ones before it: the log is damaged, or the rules have changed since.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event {version} of the session does not follow from the ones before it: {why}")]
pub struct Divergence {
    /// The event's version.
    pub version: u32,
    /// What does not fit.
    pub why: &'static str,
}

impl Session {
    /// The session that its first event makes.
    ///
    /// # Errors
    /// When the event describes no playable session.
    pub fn new(id: String, created: &Created, time: Micros) -> Result<Session, Divergence> {
        let diverges = |why| Divergence { version: 1, why };
        let rules = read_rules(&created.game, &created.options).map_err(diverges)?;
        let start = read_position(&rules, &created.position).map_err(diverges)?;
        Ok(Session {
            id,
            labels: created.labels.clone(),
            created: time,
            updated: time,
            version: 1,
            record: Record::new(rules, created.guards.into(), start),
            round: 1,
            round_results: Vec::new(),
            result: None,
        })
    }

    /// Takes in the next event; `observer` sees the steps of its move, if it is one.
    ///
    /// # Errors
    /// When it does not follow; the session must not be used any more then.
    pub fn evolve(&mut self, event: &Event, time: Micros, observer: &mut impl Observer) -> Result<(), Divergence> {
        let version = self.version + 1;
        let fits = |so: bool, why| if so { Ok(()) } else { Err(Divergence { version, why }) };
        fits(self.result.is_none(), "an event after the end")?;
        match event {
            Event::Created(_) => fits(false, "a second creation")?,
            Event::MovePlayed { seat, mv, position, captured, endless } => {
                fits(*seat == self.position().to_act(), "a move out of turn")?;
                let played = self.record.play(*mv, observer);
                let ply = played.map_err(|_| Divergence { version, why: "a move that the rules forbid" })?;
                fits(ply.captured == *captured && ply.endless == *endless, "a move that does something else")?;
                fits(self.position().to_string() == *position, "a move that leads elsewhere")?;
            }
            Event::Resigned { .. } => {}
            Event::RoundEnded { round, result } => {
                fits(*round == self.round && self.round_results.is_empty(), "the end of another round")?;
                self.round_results.push(*result);
            }
            Event::Ended { result } => self.result = Some(*result),
        }
        self.version = version;
        self.updated = time;
        Ok(())
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The rules that are played.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        self.record.rules()
    }

    /// The guards in force.
    #[must_use]
    pub const fn guards(&self) -> Guards {
        self.record.guards()
    }

    /// The round in play.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// The position now.
    #[must_use]
    pub const fn position(&self) -> &Position {
        self.record.position()
    }

    /// Number of events.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> State {
        if self.result.is_some() { State::Finished } else { State::Active }
    }

    /// The round in play, from 1.
    #[must_use]
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// The rounds that have ended.
    #[must_use]
    pub fn round_results(&self) -> &[MatchResult] {
        &self.round_results
    }

    /// How the match ended, if it has.
    #[must_use]
    pub const fn result(&self) -> Option<&MatchResult> {
        self.result.as_ref()
    }

    /// The caller's own marks.
    #[must_use]
    pub const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// When it was made.
    #[must_use]
    pub const fn created(&self) -> Micros {
        self.created
    }

    /// When it last changed.
    #[must_use]
    pub const fn updated(&self) -> Micros {
        self.updated
    }
}

/// The rules that are stored as a game's identifier and its options.
pub(super) fn read_rules(game: &str, options: &BTreeMap<String, String>) -> Result<Rules, &'static str> {
    let game = Game::from_id(game).ok_or("unknown game")?;
    let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Rules::with_options(game, options).map_err(|_| "unknown option")
}

/// A position that is stored as text.
pub(super) fn read_position(rules: &Rules, text: &str) -> Result<Position, &'static str> {
    let set_up: SetUp = text.parse().map_err(|_| "unreadable position")?;
    set_up.position(rules).map_err(|_| "unplayable position")
}
