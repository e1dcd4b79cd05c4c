//! A position: everything that decides how play goes on from here, and nothing of how it got here.

use super::{BySeat, Game, MAX_PITS, PitSet, Pits, Ring, Seat};

/// What must be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A sowing; in Goré an offer is possible too.
    Sow,
    /// Kiothi: the first of the two opening redistributions.
    Open1,
    /// Kiothi: the second of them.
    Open2,
    /// Ali Guli Mane: the second sowing of a turn whose first one captured.
    Bonus,
    /// Goré: these pits are on offer to the seat to act.
    Answer(PitSet),
    /// Nothing: the game has ended.
    Over(EndReason),
}

/// By which rule a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Goré: every pit holds fewer than three.
    AllBelowThree,
    /// Ayoayo: a seat's row is empty and the other has no move that feeds it.
    CannotFeed,
    /// Ayoayo: no seeds are left on the board.
    BoardEmpty,
    /// Kiothi: the seat to move has no legal sowing.
    NoMove,
    /// Ali Guli Mane: a seat began its turn with its row empty.
    NoSeeds,
    /// Hoyito III: a capture left exactly four seeds on the board.
    FinalFour,
    /// Guard: a position occurred too often.
    Repetition,
    /// Guard: too many plies without a capture.
    Quiet,
    /// Guard: too many plies.
    MaxPlies,
}

impl EndReason {
    /// All of them.
    pub const ALL: [EndReason; 9] = [
        EndReason::AllBelowThree,
        EndReason::CannotFeed,
        EndReason::BoardEmpty,
        EndReason::NoMove,
        EndReason::NoSeeds,
        EndReason::FinalFour,
        EndReason::Repetition,
        EndReason::Quiet,
        EndReason::MaxPlies,
    ];

    /// Its name in text, such as `final_four`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EndReason::AllBelowThree => "all_below_three",
            EndReason::CannotFeed => "cannot_feed",
            EndReason::BoardEmpty => "board_empty",
            EndReason::NoMove => "no_move",
            EndReason::NoSeeds => "no_seeds",
            EndReason::FinalFour => "final_four",
            EndReason::Repetition => "repetition",
            EndReason::Quiet => "quiet",
            EndReason::MaxPlies => "max_plies",
        }
    }

    /// Whether a guard gave it, and not a rule of the game.
    #[must_use]
    pub const fn is_guard(self) -> bool {
        matches!(self, EndReason::Repetition | EndReason::Quiet | EndReason::MaxPlies)
    }
}

/// How a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The seat with the larger bank; none: a draw.
    pub winner: Option<Seat>,
    /// By which rule.
    pub reason: EndReason,
    /// Seeds banked by each seat.
    pub banks: BySeat<u8>,
    /// Goré: the winner had declined an offer.
    pub without_glory: bool,
}

/// A position of one of the games that keeps the game's invariants: seeds add up, and unless it is over, the seat to act has a
/// legal move. It is made by [`Rules::start`](super::Rules::start), by playing a move, or from a checked [`SetUp`](super::SetUp).
///
/// ```text
///   Ayoayo: 11 10  9  8  7  6   North, from its right to its left
///            0  1  2  3  4  5   South, from its left to its right; sowing goes 0, 1, ... 11, 0
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    pub(super) pits: Pits,
    pub(super) banks: BySeat<u8>,
    pub(super) game: Game,
    pub(super) to_act: Seat,
    pub(super) phase: Phase,
    /// Pits that North may sow from. Only Goré's trades change it.
    pub(super) north_controls: PitSet,
    pub(super) marked: PitSet,
    pub(super) closed: PitSet,
    pub(super) last_sower: Option<Seat>,
    pub(super) heir: Option<Seat>,
    pub(super) refused: BySeat<bool>,
}

impl Position {
    /// A board with its rows still in their seats' control and nothing banked.
    pub(super) const fn new(game: Game, pits: Pits, to_act: Seat, phase: Phase) -> Position {
        Position {
            pits,
            banks: BySeat::new(0, 0),
            game,
            to_act,
            phase,
            north_controls: game.ring().row(Seat::North),
            marked: PitSet::EMPTY,
            closed: PitSet::EMPTY,
            last_sower: None,
            heir: None,
            refused: BySeat::new(false, false),
        }
    }

    /// The game that is played.
    #[must_use]
    pub const fn game(&self) -> Game {
        self.game
    }

    /// The shape of its board.
    #[must_use]
    pub const fn ring(&self) -> Ring {
        self.game.ring()
    }

    /// Seeds of each pit in ring order.
    #[must_use]
    pub fn pits(&self) -> &[u8] {
        &self.pits[..usize::from(self.ring().pits())]
    }

    /// Seeds in a pit; 0 for an index that is not on the board.
    #[must_use]
    #[inline]
    pub const fn seeds(&self, pit: u8) -> u8 {
        if (pit as usize) < MAX_PITS { self.pits[pit as usize] } else { 0 }
    }

    /// Seeds captured by each seat.
    #[must_use]
    pub const fn banks(&self) -> BySeat<u8> {
        self.banks
    }

    /// Who must decide. When the game is over: whose turn it would be.
    #[must_use]
    pub const fn to_act(&self) -> Seat {
        self.to_act
    }

    /// What must be decided.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Pits that a seat may sow from, occupied or not.
    #[must_use]
    #[inline]
    pub fn controlled(&self, seat: Seat) -> PitSet {
        match seat {
            Seat::South => self.ring().all() - self.north_controls,
            Seat::North => self.north_controls,
        }
    }

    /// Who may sow from a pit.
    #[must_use]
    pub const fn controller(&self, pit: u8) -> Seat {
        if self.north_controls.has(pit) { Seat::North } else { Seat::South }
    }

    /// Occupied pits.
    #[must_use]
    #[inline]
    pub fn occupied(&self) -> PitSet {
        PitSet::occupied(&self.pits)
    }

    /// Kiothi: pits protected from capture.
    #[must_use]
    pub const fn marked(&self) -> PitSet {
        self.marked
    }

    /// Ali Guli Mane: pits out of play.
    #[must_use]
    pub const fn closed(&self) -> PitSet {
        self.closed
    }

    /// Ayoayo: who made the last sowing.
    #[must_use]
    pub const fn last_sower(&self) -> Option<Seat> {
        self.last_sower
    }

    /// Hoyito III from the third round of a match on: who is given the last four seeds.
    #[must_use]
    pub const fn heir(&self) -> Option<Seat> {
        self.heir
    }

    /// Goré: who has declined an offer in this game.
    #[must_use]
    pub const fn refused(&self) -> BySeat<bool> {
        self.refused
    }

    /// Seeds on the board.
    #[must_use]
    pub fn on_board(&self) -> u32 {
        self.pits.iter().map(|&seeds| u32::from(seeds)).sum()
    }

    /// Whether the game has ended.
    #[must_use]
    #[inline]
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// How the game ended, if it has: the larger bank wins.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        let Phase::Over(reason) = self.phase else { return None };
        let winner = match self.banks[Seat::South].cmp(&self.banks[Seat::North]) {
            std::cmp::Ordering::Greater => Some(Seat::South),
            std::cmp::Ordering::Less => Some(Seat::North),
            std::cmp::Ordering::Equal => None,
        };
        let without_glory = winner.is_some_and(|seat| self.refused[seat]);
        Some(Outcome { winner, reason, banks: self.banks, without_glory })
    }
}
