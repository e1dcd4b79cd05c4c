//! Commands, and what they bring about.

use super::{Event, MatchResult, SeatCommand, Session};
use crate::game::{IllegalMove, Move, Seat};
use thiserror::Error;

/// Something that somebody wants to happen to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Play a move.
    Play {
        /// Who plays it; `None`: the seat to act.
        seat: Option<Seat>,
        /// The move.
        mv: Move,
    },
    /// Give up.
    Resign {
        /// Who gives up; `None`: the seat to act.
        seat: Option<Seat>,
        /// The whole match, and not only the round.
        whole_match: bool,
    },
    /// Change who holds a seat.
    Seat(SeatCommand),
}

/// Why a command is refused. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The session has ended.
    #[error("the session has ended ({}); make a new one to play on", .cause)]
    SessionOver {
        /// What ended it, in text.
        cause: &'static str,
    },
    /// The other seat must act.
    #[error("{to_act} is to act, not {seat}")]
    NotYourTurn {
        /// Who asked.
        seat: Seat,
        /// Whose turn it is.
        to_act: Seat,
    },
    /// The rules don't allow the move.
    #[error(transparent)]
    Illegal(#[from] IllegalMove),
    /// The seat is claimed already.
    #[error("{seat} is taken; revoke its token first to give it to another")]
    SeatTaken {
        /// The seat.
        seat: Seat,
    },
    /// Nobody holds the seat.
    #[error("{seat} is not claimed yet; claim it")]
    SeatUnclaimed {
        /// The seat.
        seat: Seat,
    },
    /// The seat has neither token nor join code.
    #[error("{seat} has no token or join code to revoke")]
    NothingToRevoke {
        /// The seat.
        seat: Seat,
    },
    /// No seat has this join code.
    #[error("no seat has this join code")]
    JoinCodeUnknown,
}

impl Session {
    /// The events that a command brings about.
    ///
    /// # Errors
    /// Why it is refused: first because the session has ended (seats change even then), then the turn, then the rules.
    pub fn decide(&self, command: &Command) -> Result<Vec<Event>, Rejection> {
        if let Some(result) = self.result().filter(|_| !matches!(command, Command::Seat(_))) {
            return Err(Rejection::SessionOver { cause: result.cause.name() });
        }
        let to_act = self.position().to_act();
        match *command {
            Command::Play { seat: Some(seat), .. } if seat != to_act => Err(Rejection::NotYourTurn { seat, to_act }),
            Command::Play { mv, .. } => {
                let ahead = self.record().preview(mv, &mut ())?;
                let played = Event::MovePlayed {
                    seat: to_act,
                    mv: ahead.mv,
                    position: ahead.position.to_string(),
                    captured: ahead.ply.captured,
                    endless: ahead.ply.endless,
                };
                let end = ahead.position.outcome().map(|outcome| MatchResult::played(&outcome));
                Ok([played].into_iter().chain(end.into_iter().flat_map(|result| self.end(result))).collect())
            }
            Command::Resign { seat, whole_match } => {
                let seat = seat.unwrap_or(to_act);
                let result = MatchResult::resigned(self.position(), seat);
                Ok([Event::Resigned { seat, whole_match }].into_iter().chain(self.end(result)).collect())
            }
            Command::Seat(ref command) => Ok(vec![self.decide_seat(command)?]),
        }
    }

    /// What follows at once when a session starts in a position that is over.
    #[must_use]
    pub fn end_at_start(&self) -> Vec<Event> {
        let outcome = self.position().outcome();
        outcome.into_iter().flat_map(|outcome| self.end(MatchResult::played(&outcome))).collect()
    }

    /// The end of the round, and with it of the match: a session has one round.
    fn end(&self, result: MatchResult) -> [Event; 2] {
        [Event::RoundEnded { round: self.round(), result }, Event::Ended { result }]
    }
}
