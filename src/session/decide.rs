//! Commands, and what they bring about.

use super::{Event, MatchResult, Micros, ProposalKind, Rejection, SeatCommand, Session};
use crate::game::observer::Observer;
use crate::game::{Move, Seat};

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
    /// Propose something to the other seat.
    Propose {
        /// Who proposes; `None`: the seat to act.
        seat: Option<Seat>,
        /// What.
        kind: ProposalKind,
        /// Takeback: to which version.
        to_version: Option<u32>,
    },
    /// Answer a proposal.
    Answer {
        /// Who answers; `None`: the seat that it was made to.
        seat: Option<Seat>,
        /// What was proposed.
        kind: ProposalKind,
        /// Whether it is agreed to.
        accept: bool,
    },
    /// Withdraw a proposal.
    Withdraw {
        /// Who withdraws; `None`: the seat that made it.
        seat: Option<Seat>,
        /// What was proposed.
        kind: ProposalKind,
    },
    /// Claim that the seat to act has used up its time.
    ClaimTimeout,
    /// Change who holds a seat.
    Seat(SeatCommand),
}

impl Session {
    /// The events that a command brings about; `observer` sees the steps of its move, if it is one.
    ///
    /// # Errors
    /// Why it is refused: first because the session has ended (seats change even then), then the turn, then the rules.
    pub fn decide(&self, command: &Command, now: Micros, observer: &mut impl Observer) -> Result<Vec<Event>, Rejection> {
        match *command {
            Command::Propose { seat, kind, to_version } => return self.propose(seat, kind, to_version),
            Command::Answer { seat, kind, accept } => return self.answer(seat, kind, accept),
            Command::Withdraw { seat, kind } => return self.withdraw(seat, kind),
            Command::Seat(ref command) => return Ok(vec![self.decide_seat(command)?]),
            Command::Play { .. } | Command::Resign { .. } | Command::ClaimTimeout => {}
        }
        if let Some(result) = self.result() {
            return Err(Rejection::SessionOver { cause: result.cause.name() });
        }
        let to_act = self.position().to_act();
        match *command {
            Command::Play { seat: Some(seat), .. } if seat != to_act => Err(Rejection::NotYourTurn { seat, to_act }),
            Command::Play { mv, .. } => self.play(mv, observer),
            Command::Resign { seat, whole_match } => Ok(self.resign(seat.unwrap_or(to_act), whole_match)),
            _ => {
                let deadline = self.deadline();
                self.timed_out(now).ok_or(Rejection::TimeNotOut { to_act, deadline })
            }
        }
    }

    fn play(&self, mv: Move, observer: &mut impl Observer) -> Result<Vec<Event>, Rejection> {
        let ahead = self.record().preview(mv, observer)?;
        let mut events = vec![Event::MovePlayed {
            seat: self.position().to_act(),
            mv: ahead.mv,
            position: ahead.position.to_string(),
            captured: ahead.ply.captured,
            endless: ahead.ply.endless,
        }];
        if let Some(outcome) = ahead.position.outcome() {
            events.extend(self.after_round(&ahead.position, MatchResult::played(&outcome)));
        }
        Ok(events)
    }

    fn resign(&self, seat: Seat, whole_match: bool) -> Vec<Event> {
        let result = MatchResult::conceded(self.position(), seat, super::Cause::Resignation);
        let mut events = vec![Event::Resigned { seat, whole_match }];
        if whole_match {
            events.extend(self.after_last_round(result));
        } else {
            events.extend(self.after_round(self.position(), result));
        }
        events
    }

    /// When the seat to act will be out of time, if its clock runs.
    #[must_use]
    pub fn deadline(&self) -> Option<Micros> {
        let open = self.result().is_none();
        self.clock().filter(|_| open).and_then(|clock| clock.deadline(self.position().to_act()))
    }

    /// What happens because the seat to act is out of time, if it is.
    #[must_use]
    pub fn timed_out(&self, now: Micros) -> Option<Vec<Event>> {
        let deadline = self.deadline().filter(|&deadline| deadline < now)?;
        let seat = self.position().to_act();
        let result = MatchResult::conceded(self.position(), seat, super::Cause::Timeout);
        let events = [Event::TimedOut { seat, deadline }].into_iter().chain(self.after_round(self.position(), result));
        Some(events.collect())
    }

    /// What follows at once when a session starts in a position that is over.
    #[must_use]
    pub fn end_at_start(&self) -> Vec<Event> {
        let outcome = self.position().outcome();
        outcome.map(|outcome| self.after_round(self.position(), MatchResult::played(&outcome))).unwrap_or_default()
    }
}
