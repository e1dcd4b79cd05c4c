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
    /// The seats agreed.
    Agreement,
    /// A seat used up its time.
    Timeout,
    /// The seats agreed to end it without a result.
    Abort,
    /// A match: all rounds were played.
    RoundsPlayed,
    /// A match of Ali Guli Mane: a seat could not fill one pit.
    CannotFill,
}

impl Cause {
    /// Its name in text, such as `final_four` or `resignation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Rule(reason) => reason.name(),
            Cause::Resignation => "resignation",
            Cause::Agreement => "agreement",
            Cause::Timeout => "timeout",
            Cause::Abort => "abort",
            Cause::RoundsPlayed => "rounds_played",
            Cause::CannotFill => "cannot_fill",
        }
    }

    /// The cause of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Cause> {
        let all = EndReason::ALL.into_iter().map(Cause::Rule).chain([
            Cause::Resignation,
            Cause::Agreement,
            Cause::Timeout,
            Cause::Abort,
            Cause::RoundsPlayed,
            Cause::CannotFill,
        ]);
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
    /// Seeds that South has banked; in a match its points or, in Ali Guli Mane, its holding.
    pub south: u32,
    /// North's.
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

    /// Of a game that a seat lost by giving up or by its time.
    #[must_use]
    pub fn conceded(position: &Position, loser: Seat, cause: Cause) -> MatchResult {
        let winner = loser.other();
        MatchResult {
            winner: Some(winner),
            cause,
            without_glory: position.refused()[winner],
            ..MatchResult::agreed_draw(position)
        }
    }

    /// Of a game that the seats agreed to call a draw.
    #[must_use]
    pub fn agreed_draw(position: &Position) -> MatchResult {
        MatchResult {
            winner: None,
            cause: Cause::Agreement,
            south: position.banks()[Seat::South].into(),
            north: position.banks()[Seat::North].into(),
            without_glory: false,
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
