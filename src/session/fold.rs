//! The session as the fold of its events.

use super::{Created, Event, MatchResult, Micros, State};
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
    expires: Option<Micros>,
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
        let game = Game::from_id(&created.game).ok_or_else(|| diverges("unknown game"))?;
        let options = created.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let rules = Rules::with_options(game, options).map_err(|_| diverges("unknown option"))?;
        let set_up: SetUp = created.position.parse().map_err(|_| diverges("unreadable position"))?;
        let start = set_up.position(&rules).map_err(|_| diverges("unplayable position"))?;
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
            expires: None,
        })
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// When it does not follow; the session must not be used any more then.
    pub fn evolve(&mut self, event: &Event, time: Micros) -> Result<(), Divergence> {
        let version = self.version + 1;
        let fits = |so: bool, why| if so { Ok(()) } else { Err(Divergence { version, why }) };
        match event {
            Event::Created(_) => fits(false, "a second creation")?,
            Event::MovePlayed { seat, mv, position, captured, endless } => {
                fits(*seat == self.position().to_act(), "a move out of turn")?;
                let ply =
                    self.record.play(*mv, &mut ()).map_err(|_| Divergence { version, why: "a move that the rules forbid" })?;
                fits(ply.captured == *captured && ply.endless == *endless, "a move that does something else")?;
                fits(self.position().to_string() == *position, "a move that leads elsewhere")?;
            }
            Event::Resigned { .. } => fits(self.result.is_none(), "a resignation after the end")?,
            Event::RoundEnded { round, result } => {
                fits(*round == self.round && self.round_results.is_empty(), "the end of another round")?;
                self.round_results.push(*result);
            }
            Event::Ended { result } => {
                fits(self.result.is_none(), "a second end")?;
                self.result = Some(*result);
            }
            Event::Expiring { .. } => {}
        }
        // Whatever else happens to a session that was to expire keeps it.
        self.expires = if let Event::Expiring { at } = event { Some(*at) } else { None };
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

    /// When it is to be deleted, if that has been announced.
    #[must_use]
    pub const fn expires(&self) -> Option<Micros> {
        self.expires
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
