//! What everybody may see of a session: what calls answer and lists show.

use super::{GuardLimits, Held, MatchResult, Player, Session, Spectators};
use crate::game::Seat;
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
    /// Rounds that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_results: Vec<MatchResult>,
    /// How the match ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MatchResult>,
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

impl View {
    /// Of a session as it stands.
    #[must_use]
    pub fn of(session: &Session) -> View {
        View {
            options: session.rules().options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            guards: session.guards().into(),
            position: session.position().to_string(),
            ply: session.record().moves().len() as u32,
            round: session.round(),
            round_results: session.round_results().to_vec(),
            result: session.result().copied(),
            seats: Seat::BOTH.into_iter().filter_map(|seat| SeatView::of(seat, session.seats().of(seat))).collect(),
            spectators: session.spectators(),
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("views are plain data")
    }

    /// From what was stored.
    ///
    /// # Errors
    /// When it is no view; the text is the reader's.
    pub fn from_json(json: &str) -> Result<View, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }
}
