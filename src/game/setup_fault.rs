//! What can be wrong with a set-up.

use super::{EndReason, Game, Phase, Seat};
use thiserror::Error;

/// Why a set-up can't be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SetUpFault {
    /// It is of another game than the rules.
    #[error("the position is of {}, and the game is {}", .found.id(), .expected.id())]
    OtherGame {
        /// The position's.
        found: Game,
        /// The rules'.
        expected: Game,
    },
    /// A row has too few or too many pits.
    #[error("{seat}'s row has {found} pits and must have {expected}")]
    RowLength {
        /// Whose row.
        seat: Seat,
        /// Pits written.
        found: usize,
        /// Pits of the board.
        expected: u8,
    },
    /// Seeds have been lost or added.
    #[error("board and banks hold {found} seeds together and must hold {expected}")]
    SeedTotal {
        /// Seeds written.
        found: u32,
        /// Seeds of the game.
        expected: u32,
    },
    /// Only Goré has pits in the other seat's control.
    #[error("{}'s pits can't change controller; leave ^ out", .game.title())]
    NoTrades {
        /// The game.
        game: Game,
    },
    /// Only Kiothi has protected pits.
    #[error("{} has no marked pits; leave * out", .game.title())]
    NoMarks {
        /// The game.
        game: Game,
    },
    /// Only Ali Guli Mane has closed pits.
    #[error("{} has no closed pits; leave x out", .game.title())]
    NoClosedPits {
        /// The game.
        game: Game,
    },
    /// Nothing is in a closed pit.
    #[error("{count} closed pits hold seeds; a closed pit is empty")]
    ClosedPitsHoldSeeds {
        /// How many do.
        count: usize,
    },
    /// The game has no such phase.
    #[error("{} has no phase {phase}", .game.title())]
    NoSuchPhase {
        /// The game.
        game: Game,
        /// The phase.
        phase: Phase,
    },
    /// The game has no such end.
    #[error("{} does not end by {}", .game.title(), .reason.name())]
    NoSuchEnd {
        /// The game.
        game: Game,
        /// The end.
        reason: EndReason,
    },
    /// Only Ayoayo needs to know who sowed last.
    #[error("{} does not need to know who sowed last; leave last= out", .game.title())]
    NoLastSower {
        /// The game.
        game: Game,
    },
    /// Only Hoyito III has an heir.
    #[error("{} has no heir; leave heir= out", .game.title())]
    NoHeir {
        /// The game.
        game: Game,
    },
    /// Only Goré has offers to refuse.
    #[error("{} has no offers to refuse; leave refused= out", .game.title())]
    NoRefusals {
        /// The game.
        game: Game,
    },
    /// Pits are marked once the openings are made, and only occupied ones, until the game is over.
    #[error("pit {pit} can't be marked: only occupied pits are, and only after the openings")]
    MarkOutOfPlace {
        /// The pit.
        pit: u8,
    },
    /// An opening empties two pits.
    #[error("{seat} must redistribute two occupied pits of its row and has {occupied}")]
    TooFewToRedistribute {
        /// Who must act.
        seat: Seat,
        /// Occupied pits of its row.
        occupied: u32,
    },
    /// A second sowing needs something to sow.
    #[error("{seat} has nothing to sow, so that there is no second sowing")]
    NothingForBonus {
        /// Who must act.
        seat: Seat,
    },
    /// In Goré each seat keeps a pit.
    #[error("{seat} controls no pit and must control at least one")]
    ControlsNoPit {
        /// The seat.
        seat: Seat,
    },
    /// The pits on offer are not one to three of the offering seat's, or it would keep none.
    #[error("{seat} can't offer these pits: an offer is one to three pits that its maker controls, and not all of them")]
    OfferImpossible {
        /// Who would have offered.
        seat: Seat,
    },
    /// A seat that has nothing to sow passes, and may not offer.
    #[error("{seat} can't have made an offer: it has nothing to sow, and must have passed")]
    OfferInsteadOfPass {
        /// Who would have offered.
        seat: Seat,
    },
    /// The pits on offer can't be paid for.
    #[error("the offer costs {price} seeds, and {payer} has {bank} in its bank")]
    OfferNotAffordable {
        /// Seeds to pay.
        price: u8,
        /// Seeds there are.
        bank: u16,
        /// Who would pay.
        payer: Seat,
    },
    /// The game has ended, but the phase does not say so.
    #[error("by the rules the game has ended here ({})", .reason.name())]
    HasEnded {
        /// By this rule.
        reason: EndReason,
    },
    /// Ali Guli Mane is said to be over for a seat that has seeds to sow.
    #[error("the game is not over by no_seeds: {seat} has seeds to sow")]
    HasSeeds {
        /// Who must act.
        seat: Seat,
    },
    /// The game is said to be over, and seeds that go to a bank are still on the board.
    #[error("the game is over, but {seeds} seeds are still on the board and not in a bank")]
    NotHandedOut {
        /// Seeds on the board.
        seeds: u32,
    },
}
