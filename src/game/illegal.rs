//! Why a move is refused, with the facts that a player needs.

use super::{EndReason, Game, Move, Phase, Seat};
use thiserror::Error;

/// Why a move is not legal in a position. [`IllegalMove::reason`] names it for programs; its text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IllegalMove {
    /// Nothing can be played any more.
    #[error("the game is over: {}", .reason.name())]
    GameOver {
        /// How it ended.
        reason: EndReason,
    },
    /// This kind of move exists in the game, but now something else must be decided.
    #[error("now {} is due, and no {given}", due(.phase, .given))]
    WrongPhase {
        /// What must be decided.
        phase: Phase,
        /// What was given.
        given: &'static str,
    },
    /// The game knows no such move.
    #[error("{} has no {given}", .game.title())]
    NotInThisGame {
        /// The game.
        game: Game,
        /// What was given.
        given: &'static str,
    },
    /// The board has no such pit.
    #[error("there is no pit {pit}; the board has pits 0 to {}", .pits - 1)]
    PitOffBoard {
        /// The pit named.
        pit: u8,
        /// Pits on the board.
        pits: u8,
    },
    /// Somebody else sows from this pit.
    #[error("pit {pit} is {owner}'s; {seat} must choose a pit of its own")]
    PitNotYours {
        /// The pit named.
        pit: u8,
        /// Who must act.
        seat: Seat,
        /// Who may sow from the pit.
        owner: Seat,
    },
    /// There is nothing to sow.
    #[error("pit {pit} holds no seeds")]
    PitEmpty {
        /// The pit named.
        pit: u8,
    },
    /// The pit is out of play.
    #[error("pit {pit} is closed in this round")]
    PitClosed {
        /// The pit named.
        pit: u8,
    },
    /// A number of seeds is given where the rules leave no choice.
    #[error("in this game a sowing takes all seeds of the pit (pit {pit} holds {held}); leave the number out")]
    SeedsNotChosen {
        /// The pit named.
        pit: u8,
        /// Its seeds.
        held: u8,
    },
    /// Kiothi: more seeds than there are, or none.
    #[error("from pit {pit} 1 to {held} seeds can be sown, not {seeds}")]
    SeedsOutOfRange {
        /// The pit named.
        pit: u8,
        /// Seeds asked for.
        seeds: u8,
        /// Its seeds.
        held: u8,
    },
    /// Kiothi: the last seed of the first lap may not fall in an occupied pit of the own row.
    #[error("{seeds} from pit {pit} end the first lap in pit {last}, an occupied pit of your own row")]
    FirstLapEndsInOwnOccupiedPit {
        /// The pit sown from.
        pit: u8,
        /// Seeds sown.
        seeds: u8,
        /// Where the last one falls.
        last: u8,
    },
    /// Ayoayo: the opponent has no seeds, and this move gives it none although another does.
    #[error("{hungry}'s row is empty and must be given a seed; pit {pit} gives none")]
    MustFeed {
        /// The pit named.
        pit: u8,
        /// Who must be fed.
        hungry: Seat,
    },
    /// Only a pass is possible.
    #[error("{seat} has nothing to sow and must pass")]
    MustPass {
        /// Who must act.
        seat: Seat,
    },
    /// A pass is possible only when it is forced.
    #[error("{seat} can move and may not pass")]
    CannotPass {
        /// Who must act.
        seat: Seat,
    },
    /// Goré: an offer names one to three pits.
    #[error("an offer names 1 to {most} pits, not {pits}")]
    TradeSize {
        /// Pits named.
        pits: u32,
        /// The most that may be.
        most: u32,
    },
    /// Goré: the seat that would pay has too few seeds in its bank.
    #[error("the pits cost {price} seeds, and {payer} has {bank} in its bank")]
    TradeNotAffordable {
        /// Seeds to pay.
        price: u8,
        /// Seeds there are.
        bank: u8,
        /// Who would pay.
        payer: Seat,
    },
    /// Goré: whoever offers must keep a pit.
    #[error("{seat} offers all its {pits} pits and must keep at least one")]
    TradeKeepsNoPit {
        /// Pits offered.
        pits: u32,
        /// Who offers.
        seat: Seat,
    },
    /// Kiothi: a redistribution empties exactly two pits.
    #[error("a redistribution empties {required} pits, not {emptied}")]
    RedistributionSize {
        /// Pits to be emptied.
        emptied: u32,
        /// Pits that must be.
        required: u32,
    },
    /// Kiothi: a redistribution must place what it lifts.
    #[error("the emptied pits hold {lifted} seeds, and {placed} are placed")]
    RedistributionUnbalanced {
        /// Seeds lifted.
        lifted: u32,
        /// Seeds placed.
        placed: u32,
    },
}

fn due(phase: &Phase, given: &str) -> &'static str {
    match phase {
        // Only Goré has answers, and there an offer is as good as a sowing.
        Phase::Sow if given == (Move::Answer { accept: true }).kind() => "a sowing or an offer",
        Phase::Sow => "a sowing",
        Phase::Open1 | Phase::Open2 => "a redistribution",
        Phase::Bonus => "a second sowing",
        Phase::Answer(_) => "the answer to an offer",
        Phase::Over(_) => "nothing",
    }
}

impl IllegalMove {
    /// Its name for programs, in upper snake case.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            IllegalMove::GameOver { .. } => "GAME_OVER",
            IllegalMove::WrongPhase { .. } => "WRONG_PHASE",
            IllegalMove::NotInThisGame { .. } => "NOT_IN_THIS_GAME",
            IllegalMove::PitOffBoard { .. } => "PIT_OFF_BOARD",
            IllegalMove::PitNotYours { .. } => "PIT_NOT_YOURS",
            IllegalMove::PitEmpty { .. } => "PIT_EMPTY",
            IllegalMove::PitClosed { .. } => "PIT_CLOSED",
            IllegalMove::SeedsNotChosen { .. } => "SEEDS_NOT_CHOSEN",
            IllegalMove::SeedsOutOfRange { .. } => "SEEDS_OUT_OF_RANGE",
            IllegalMove::FirstLapEndsInOwnOccupiedPit { .. } => "FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT",
            IllegalMove::MustFeed { .. } => "MUST_FEED",
            IllegalMove::MustPass { .. } => "MUST_PASS",
            IllegalMove::CannotPass { .. } => "CANNOT_PASS",
            IllegalMove::TradeSize { .. } => "TRADE_SIZE",
            IllegalMove::TradeNotAffordable { .. } => "TRADE_NOT_AFFORDABLE",
            IllegalMove::TradeKeepsNoPit { .. } => "TRADE_KEEPS_NO_PIT",
            IllegalMove::RedistributionSize { .. } => "REDISTRIBUTION_SIZE",
            IllegalMove::RedistributionUnbalanced { .. } => "REDISTRIBUTION_UNBALANCED",
        }
    }

    /// The facts in its text, by name.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        use IllegalMove as I;
        match *self {
            I::GameOver { reason } => vec![("end", reason.name().to_owned())],
            I::WrongPhase { phase, given } => vec![("due", due(&phase, given).to_owned()), ("given", given.to_owned())],
            I::NotInThisGame { game, given } => vec![("game", game.id().to_owned()), ("given", given.to_owned())],
            I::PitOffBoard { pit, pits } => vec![("pit", pit.to_string()), ("pits", pits.to_string())],
            I::PitNotYours { pit, seat, owner } => {
                vec![("pit", pit.to_string()), ("seat", seat.to_string()), ("owner", owner.to_string())]
            }
            I::PitEmpty { pit } | I::PitClosed { pit } => vec![("pit", pit.to_string())],
            I::SeedsNotChosen { pit, held } => vec![("pit", pit.to_string()), ("held", held.to_string())],
            I::SeedsOutOfRange { pit, seeds, held } => {
                vec![("pit", pit.to_string()), ("seeds", seeds.to_string()), ("held", held.to_string())]
            }
            I::FirstLapEndsInOwnOccupiedPit { pit, seeds, last } => {
                vec![("pit", pit.to_string()), ("seeds", seeds.to_string()), ("last", last.to_string())]
            }
            I::MustFeed { pit, hungry } => vec![("pit", pit.to_string()), ("hungry", hungry.to_string())],
            I::MustPass { seat } | I::CannotPass { seat } => vec![("seat", seat.to_string())],
            I::TradeSize { pits, most } => vec![("pits", pits.to_string()), ("most", most.to_string())],
            I::TradeNotAffordable { price, bank, payer } => {
                vec![("price", price.to_string()), ("bank", bank.to_string()), ("payer", payer.to_string())]
            }
            I::TradeKeepsNoPit { pits, seat } => vec![("pits", pits.to_string()), ("seat", seat.to_string())],
            I::RedistributionSize { emptied, required } => {
                vec![("emptied", emptied.to_string()), ("required", required.to_string())]
            }
            I::RedistributionUnbalanced { lifted, placed } => {
                vec![("lifted", lifted.to_string()), ("placed", placed.to_string())]
            }
        }
    }
}
