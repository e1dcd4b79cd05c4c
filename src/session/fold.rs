//! The session as its events have made it.

use super::evolve::{read_position, read_rules};
use super::{Cause, Clock, Created, EventHash, MatchResult, Micros, Proposals, Seats, Spectators, State};
use crate::game::{BySeat, Guards, Position, Record, Rules, Seat};
use std::collections::BTreeMap;
use thiserror::Error;

/// The most rounds of a session.
pub const MAX_ROUNDS: u32 = 100;

/// A session as its events have made it.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    labels: BTreeMap<String, String>,
    created: Micros,
    pub(super) updated: Micros,
    pub(super) version: u32,
    pub(super) rounds: u32,
    /// Who started the first round; the seats alternate.
    first: Seat,
    pub(super) round: u32,
    /// The version that the round began with.
    pub(super) round_version: u32,
    pub(super) record: Record,
    /// Its position as text, which nearly every answer shows.
    pub(super) position_text: String,
    /// For each move of the record the version that it made.
    pub(super) move_versions: Vec<u32>,
    pub(super) round_results: Vec<MatchResult>,
    pub(super) points: BySeat<u32>,
    pub(super) result: Option<MatchResult>,
    pub(super) clock: Option<Clock>,
    pub(super) proposals: Proposals,
    previous_session_id: Option<String>,
    pub(super) next_session_id: Option<String>,
    pub(super) seats: Seats,
    pub(super) spectators: Spectators,
    /// The versions of all plies of all rounds; kept only where spectators see them late.
    pub(super) ply_versions: Vec<u32>,
    pub(super) expires: Option<Micros>,
    head_hash: EventHash,
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
            rounds: created.rounds,
            first: start.to_act(),
            round: 1,
            round_version: 1,
            record: Record::new(rules, created.guards.into(), start),
            position_text: start.to_string(),
            move_versions: Vec::new(),
            round_results: Vec::new(),
            points: BySeat::default(),
            result: None,
            clock: created.clock.map(|setting| Clock::new(setting, time)),
            proposals: Proposals::default(),
            previous_session_id: created.previous_session_id.clone(),
            next_session_id: None,
            seats: Seats::new(&created.seats),
            spectators: created.spectators,
            ply_versions: Vec::new(),
            expires: None,
            head_hash: EventHash::START,
        })
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

    /// The position now, as text.
    #[must_use]
    pub fn position_text(&self) -> &str {
        &self.position_text
    }

    /// Number of events.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        match self.result {
            None => State::Active,
            Some(MatchResult { cause: Cause::Abort, .. }) => State::Aborted,
            Some(_) => State::Finished,
        }
    }

    /// The most rounds that are played.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Who started the first round.
    #[must_use]
    pub const fn first(&self) -> Seat {
        self.first
    }

    /// The round in play, from 1.
    #[must_use]
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// The version that the round in play began with.
    #[must_use]
    pub const fn round_version(&self) -> u32 {
        self.round_version
    }

    /// How many moves the round had at a version, if that was its first or one that a move made which still stands.
    #[must_use]
    pub fn plies_at(&self, version: u32) -> Option<usize> {
        if version == self.round_version {
            return Some(0);
        }
        self.move_versions.binary_search(&version).ok().map(|place| place + 1)
    }

    /// The rounds that have ended.
    #[must_use]
    pub fn round_results(&self) -> &[MatchResult] {
        &self.round_results
    }

    /// Points of the rounds that have ended.
    #[must_use]
    pub const fn points(&self) -> BySeat<u32> {
        self.points
    }

    /// How the match ended, if it has.
    #[must_use]
    pub const fn result(&self) -> Option<&MatchResult> {
        self.result.as_ref()
    }

    /// The clocks, if time is limited.
    #[must_use]
    pub const fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// What is proposed.
    #[must_use]
    pub const fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    /// The session that this one is the rematch of.
    #[must_use]
    pub fn previous_session_id(&self) -> Option<&str> {
        self.previous_session_id.as_deref()
    }

    /// The rematch of this session.
    #[must_use]
    pub fn next_session_id(&self) -> Option<&str> {
        self.next_session_id.as_deref()
    }

    /// When it is to be deleted, if that has been announced.
    #[must_use]
    pub const fn expires(&self) -> Option<Micros> {
        self.expires
    }

    /// The hash of its last event, as far as it has been [sealed](Session::seal).
    #[must_use]
    pub const fn head_hash(&self) -> EventHash {
        self.head_hash
    }

    /// Notes the hash of its last event. It covers how the event is stored, so that whoever stores it must say it.
    pub const fn seal(&mut self, hash: EventHash) {
        self.head_hash = hash;
    }

    /// The caller's own marks.
    #[must_use]
    pub const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Who holds its seats.
    #[must_use]
    pub const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Who else may watch it.
    #[must_use]
    pub const fn spectators(&self) -> Spectators {
        self.spectators
    }

    /// The versions of its plies, if spectators see them late.
    pub(super) fn ply_versions(&self) -> &[u32] {
        &self.ply_versions
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
