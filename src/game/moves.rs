//! Moves: one decision of one seat.

use super::{PitSet, Pits};
use arrayvec::ArrayVec;

/// One decision of one seat.
// 32 bytes instead of 28: those would be copied as two registers that overlap, and the next copy would have to wait for both. A move that is
// read, checked and played is copied several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub enum Move {
    /// Sow from a pit.
    Sow {
        /// Ring index.
        pit: u8,
        /// How many seeds; `None`: all. Only Kiothi leaves a choice, and there a checked move always bears the number.
        seeds: Option<u8>,
    },
    /// Kiothi's opening: empty two pits and place their seeds.
    Redistribute(Redistribution),
    /// Goré: offer these pits to the opponent.
    Offer(PitSet),
    /// Goré: answer the offer.
    Answer {
        /// Whether the pits are taken and paid for.
        accept: bool,
    },
    /// Nothing can be done (or, in Ali Guli Mane, an optional bonus is waived).
    Pass,
}

impl Move {
    /// Sow all of a pit.
    #[must_use]
    pub const fn sow(pit: u8) -> Move {
        Move::Sow { pit, seeds: None }
    }

    /// What kind of move it is, in words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Move::Sow { .. } => "sowing",
            Move::Redistribute(_) => "redistribution",
            Move::Offer(_) => "offer",
            Move::Answer { .. } => "answer",
            Move::Pass => "pass",
        }
    }
}

/// Two pits emptied, and their seeds placed anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Redistribution {
    /// The pits that are emptied.
    pub emptied: PitSet,
    /// How many seeds are put in each pit.
    pub placed: Pits,
}

/// The most legal moves that any position has: Goré's sowings of seven pits and offers of one to three of them are 70; Kiothi
/// has one for each seed in a row of sixty.
pub const MAX_MOVES: usize = 70;

/// Legal moves of a position, without allocation.
pub type MoveList = ArrayVec<Move, MAX_MOVES>;
