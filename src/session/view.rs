//! What everybody may see of a session: what calls answer and lists show.

use super::fold::{read_position, read_rules};
use super::{GuardLimits, MatchResult, Session};
use crate::game::Position;
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
