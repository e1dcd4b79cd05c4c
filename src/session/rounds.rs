//! The rounds of a match: what follows the end of one.

use super::{Cause, Event, MatchResult, Session};
use crate::game::matches::{self, Next};
use crate::game::{BySeat, Game, Position, Seat};
use std::cmp::Ordering;

impl Session {
    /// The end of the round at a position, and what follows: the next round, or the end of the match.
    pub(super) fn after_round(&self, end: &Position, result: MatchResult) -> Vec<Event> {
        let points = self.points_after(&result);
        let next = (self.round() < self.rounds()).then(|| {
            let number = self.round() + 1;
            let first = if number % 2 == 1 { self.first() } else { self.first().other() };
            (number, matches::next_round(self.rules(), number, first, end, result.winner))
        });
        let ended = Event::RoundEnded { round: self.round(), result };
        let follows = match next {
            Some((round, Next::Round(start))) => Event::RoundStarted { round, position: start.to_string() },
            Some((_, Next::CannotFill(poor))) => Event::Ended {
                result: MatchResult { winner: Some(poor.other()), ..self.counted(end, points, Cause::CannotFill) },
            },
            None if self.rounds() == 1 => Event::Ended { result },
            None => Event::Ended { result: self.counted(end, points, Cause::RoundsPlayed) },
        };
        vec![ended, follows]
    }

    /// The end of the round whose loser gives the whole match up with it.
    pub(super) fn after_last_round(&self, result: MatchResult) -> Vec<Event> {
        let counted = self.counted(self.position(), self.points_after(&result), result.cause);
        let match_result = if self.rounds() == 1 { result } else { MatchResult { winner: result.winner, ..counted } };
        vec![Event::RoundEnded { round: self.round(), result }, Event::Ended { result: match_result }]
    }

    /// The match as it stands, without the round in play.
    pub(super) fn standing(&self, cause: Cause) -> MatchResult {
        self.counted(self.record().start(), self.points(), cause)
    }

    /// The match by what counts in it: points, or in Ali Guli Mane what the seats hold in a position.
    fn counted(&self, position: &Position, points: BySeat<u32>, cause: Cause) -> MatchResult {
        by_count(if self.rules().game() == Game::AliGuliMane { matches::holdings(position) } else { points }, cause)
    }

    /// The points once a round has ended so.
    pub(super) fn points_after(&self, result: &MatchResult) -> BySeat<u32> {
        let mut points = self.points();
        if let Some(winner) = result.winner {
            let played = matches!(result.cause, Cause::Rule(_));
            let banks = BySeat::new(result.south, result.north);
            points[winner] += if played { matches::points(self.rules(), banks) } else { 1 };
        }
        points
    }
}

/// The result of a match that the larger count wins.
fn by_count(count: BySeat<u32>, cause: Cause) -> MatchResult {
    let winner = match count[Seat::South].cmp(&count[Seat::North]) {
        Ordering::Greater => Some(Seat::South),
        Ordering::Less => Some(Seat::North),
        Ordering::Equal => None,
    };
    MatchResult { winner, cause, south: count[Seat::South], north: count[Seat::North], without_glory: false }
}
