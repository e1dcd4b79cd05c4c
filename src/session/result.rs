//! How rounds and matches end.

use crate::game::{EndReason, Outcome, Position, Seat};
use serde::{Deserialize, Serialize};

/// What ended a round or a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A rule of the game, or a guard.
    Rule(EndReason),
    /// A seat gave up.
    Resignation,
}

impl Cause {
    /// Its name in text, such as `final_four` or `resignation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Rule(reason) => reason.name(),
            Cause::Resignation => "resignation",
        }
    }

    fn from_name(name: &str) -> Option<Cause> {
        let all = EndReason::ALL.into_iter().map(Cause::Rule).chain([Cause::Resignation]);
        all.into_iter().find(|cause| cause.name() == name)
    }
}

/// How a round or a match ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatchResult {
    /// Who won; none: a draw.
    #[serde(with = "super::event::optional_seat", default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Seat>,
    /// What ended it.
    #[serde(serialize_with = "write_cause", deserialize_with = "read_cause")]
    pub cause: Cause,
    /// Seeds that South has banked.
    pub south: u32,
    /// Seeds that North has banked.
    pub north: u32,
    /// Goré: the winner had declined an offer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_glory: bool,
}

impl MatchResult {
    /// Of a game played to its end.
    #[must_use]
    pub fn played(outcome: &Outcome) -> MatchResult {
        MatchResult {
            winner: outcome.winner,
            cause: Cause::Rule(outcome.reason),
            south: outcome.banks[Seat::South].into(),
            north: outcome.banks[Seat::North].into(),
            without_glory: outcome.without_glory,
        }
    }

    /// Of a game that a seat gave up.
    #[must_use]
    pub fn resigned(position: &Position, loser: Seat) -> MatchResult {
        let winner = loser.other();
        MatchResult {
            winner: Some(winner),
            cause: Cause::Resignation,
            south: position.banks()[Seat::South].into(),
            north: position.banks()[Seat::North].into(),
            without_glory: position.refused()[winner],
        }
    }
}

fn write_cause<S: serde::Serializer>(cause: &Cause, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cause.name())
}

fn read_cause<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Cause, D::Error> {
    let name = String::deserialize(deserializer)?;
    Cause::from_name(&name).ok_or_else(|| serde::de::Error::custom("an unknown cause of an end"))
}
