//! What everybody may see of a session: what calls answer and lists show.

use super::event::to_json;
use super::evolve::{read_position, read_rules};
use super::{ClockSetting, GuardLimits, Held, MatchResult, Micros, Player, Proposal, Remaining, Session, Spectators};
use crate::game::{Position, Seat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a list shows of a session beside its id, game, labels, times, state and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// All options.
    pub options: BTreeMap<String, String>,
    /// Guards in force.
    pub guards: GuardLimits,
    /// The position, as text.
    pub position: String,
    /// Ply within the round, from 0.
    pub ply: u32,
    /// The round in play, from 1.
    pub round: u32,
    /// The most rounds that are played.
    pub rounds: u32,
    /// Points of South and North.
    pub points: [u32; 2],
    /// Rounds that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_results: Vec<MatchResult>,
    /// How the match ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MatchResult>,
    /// The clocks, if time is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockView>,
    /// Proposals that wait for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<Proposal>,
    /// The session that this one is the rematch of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_session_id: Option<String>,
    /// The rematch of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_session_id: Option<String>,
    /// The hash of the last event; empty if the session has not changed since before there were hashes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head_hash: String,
    /// The seats about which something is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<SeatView>,
    /// Who else may watch.
    #[serde(default, skip_serializing_if = "Spectators::is_default")]
    pub spectators: Spectators,
}

/// What everybody may know of a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatView {
    /// Which.
    #[serde(with = "super::event::seat")]
    pub seat: Seat,
    /// Who holds it, if it is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<Player>,
    /// A join code waits for somebody to claim it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joinable: bool,
    /// A token of it is in force.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_token: bool,
}

impl SeatView {
    fn of(seat: Seat, held: &Held) -> Option<SeatView> {
        let view = SeatView { seat, player: held.player().cloned(), joinable: held.is_joinable(), has_token: held.has_token() };
        (view.player.is_some() || view.joinable).then_some(view)
    }
}

/// The clocks as they stood when the present decision fell due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockView {
    /// How they are set.
    pub setting: ClockSetting,
    /// What South had left.
    pub south: Remaining,
    /// What North had left.
    pub north: Remaining,
    /// When the seat to act will be out of time; none: its clock does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Micros>,
}

impl ClockView {
    /// Of a session as it stands, if its time is limited.
    #[must_use]
    pub fn of(session: &Session) -> Option<ClockView> {
        session.clock().map(|clock| ClockView {
            setting: *clock.setting(),
            south: clock.remaining(Seat::South),
            north: clock.remaining(Seat::North),
            deadline: session.deadline(),
        })
    }
}

impl View {
    /// Of a session as it stands.
    #[must_use]
    pub fn of(session: &Session) -> View {
        let points = session.points();
        View {
            options: session.rules().options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            guards: session.guards().into(),
            position: session.position_text().to_owned(),
            ply: session.record().moves().len() as u32,
            round: session.round(),
            rounds: session.rounds(),
            points: Seat::BOTH.map(|seat| points[seat]),
            round_results: session.round_results().to_vec(),
            result: session.result().copied(),
            clock: ClockView::of(session),
            proposals: session.proposals().open().to_vec(),
            previous_session_id: session.previous_session_id().map(str::to_owned),
            next_session_id: session.next_session_id().map(str::to_owned),
            head_hash: session.head_hash().to_string(),
            seats: Seat::BOTH.into_iter().filter_map(|seat| SeatView::of(seat, session.seats().of(seat))).collect(),
            spectators: session.spectators(),
        }
    }

    /// The position that it shows, which is of this game.
    ///
    /// # Errors
    /// When it is none that can be played; the text says why.
    pub fn read_position(&self, game: &str) -> Result<Position, &'static str> {
        read_position(&read_rules(game, &self.options)?, &self.position)
    }

    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// From what was stored.
    ///
    /// # Errors
    /// When it is no view; the text is the reader's.
    pub fn from_json(json: &str) -> Result<View, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }
}
