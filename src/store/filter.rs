//! What sessions must be like.

use super::{Head, Micros, Players, State};
use std::collections::{BTreeMap, BTreeSet};

/// What sessions must be like to be listed: all of this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this game.
    pub game: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// With all of these labels.
    pub labels: BTreeMap<String, String>,
    /// With all of these players, each in either seat.
    pub players: BTreeSet<String>,
    /// With these players in South's and in North's seat.
    pub seats: Players,
    /// Made in this time.
    pub created: Span,
    /// Last changed in this time.
    pub updated: Span,
}

impl Filter {
    /// Whether a session is like this.
    #[must_use]
    pub fn matches(&self, head: &Head) -> bool {
        let Filter { game, state, labels, players, seats, created, updated } = self;
        game.as_ref().is_none_or(|game| *game == head.game)
            && state.is_none_or(|state| state == head.state)
            && labels.iter().all(|(name, value)| head.labels.get(name) == Some(value))
            && players.iter().all(|player| head.players.iter().flatten().any(|holder| holder == player))
            && seats.iter().zip(&head.players).all(|(wanted, holder)| wanted.is_none() || wanted == holder)
            && created.holds(head.created)
            && updated.holds(head.updated)
    }
}

impl Span {
    /// Whether a time is in it.
    #[must_use]
    pub fn holds(&self, time: Micros) -> bool {
        self.from.is_none_or(|from| time >= from) && self.before.is_none_or(|before| time < before)
    }
}

/// A stretch of time, open where it has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Not earlier than this.
    pub from: Option<Micros>,
    /// Earlier than this.
    pub before: Option<Micros>,
}
