//! Why commands are refused.

use super::{Micros, ProposalKind};
use crate::game::{IllegalMove, Seat};
use thiserror::Error;

/// Why a command is refused. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The session has ended.
    #[error("the session has ended ({cause}); make a new one to play on")]
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
    /// No seat has used up its time.
    #[error("{to_act} {}", if .deadline.is_some() { "still has time" } else { "must act, and no clock runs for it" })]
    TimeNotOut {
        /// Who must act.
        to_act: Seat,
        /// When its time will be out; none: its clock does not run.
        deadline: Option<Micros>,
    },
    /// One of this kind waits for its answer already.
    #[error("a proposal of this kind ({}) by {by} waits for its answer", .kind.name())]
    ProposalOpen {
        /// What was proposed.
        kind: ProposalKind,
        /// By whom.
        by: Seat,
    },
    /// The seat has proposed this since the last move.
    #[error("{seat} has proposed this ({}) since the last move; it may again after the next one", .kind.name())]
    ProposalTooSoon {
        /// What is proposed.
        kind: ProposalKind,
        /// By whom.
        seat: Seat,
    },
    /// It can't be agreed on now.
    #[error("this can't be proposed ({}): {why}", .kind.name())]
    ProposalImpossible {
        /// What is proposed.
        kind: ProposalKind,
        /// Why not.
        why: &'static str,
    },
    /// There is nothing to answer or to withdraw.
    #[error("no proposal of this kind ({}) waits for an answer; it is void once the game moves on", .kind.name())]
    ProposalNotFound {
        /// What was to be answered.
        kind: ProposalKind,
    },
    /// A seat answers its own proposal, or withdraws the other's.
    #[error("the proposal ({}) is {by}'s: the other seat answers it, and {by} may withdraw it", .kind.name())]
    ProposalOfOther {
        /// What was proposed.
        kind: ProposalKind,
        /// By whom.
        by: Seat,
    },
}
