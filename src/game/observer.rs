//! What happens to seeds while a move is carried out, step by step.

use super::{PitSet, Pits, Position, Seat};

/// One thing that happens while a move is carried out. Together, in order, they lead from one position to the next without any
/// knowledge of rules: see [`Board::apply`]. But whatever comes before [`Step::Void`] has not happened: who applies steps as they come
/// goes back to where the move began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A hand of seeds is taken from a pit, whole or in part; a mark on the pit goes.
    Lift {
        /// From this pit.
        pit: u8,
        /// So many seeds.
        seeds: u8,
        /// It is lifted because the sowing goes on, and not the first hand of the move.
        relay: bool,
    },
    /// One seed of the hand falls in this pit.
    Drop(u8),
    /// A pit gives seeds to a seat's bank.
    Capture {
        /// The pit.
        pit: u8,
        /// Its seeds, all of them.
        seeds: u8,
        /// Whose bank.
        by: Seat,
    },
    /// Seeds are put in a pit.
    Place {
        /// The pit.
        pit: u8,
        /// How many.
        seeds: u8,
        /// From whose bank; `None`: from the hand of a redistribution.
        from_bank: Option<Seat>,
    },
    /// Pits change controller.
    Transfer {
        /// The pits.
        pits: PitSet,
        /// The new controller.
        to: Seat,
    },
    /// Pits become protected from capture.
    Mark(PitSet),
    /// At the end of the game a pit's seeds are handed out.
    Sweep {
        /// The pit.
        pit: u8,
        /// Its seeds, all of them.
        seeds: u8,
        /// To whom.
        to: Seat,
    },
    /// The sowing turned out endless: all since the move began is undone.
    Void,
    /// This seat must act next. The last step of every move that does not end the game.
    Turn(Seat),
}

/// Sees the steps of a move as they happen.
pub trait Observer {
    /// `false` lets the compiler leave out all work that only an observer needs.
    const WATCHES: bool = true;

    /// One step.
    fn step(&mut self, step: Step);
}

/// Watches nothing and costs nothing.
impl Observer for () {
    const WATCHES: bool = false;
    #[inline(always)]
    fn step(&mut self, _: Step) {}
}

/// Collects the steps of one move. Of an endless sowing, which may have thousands, only [`Step::Void`] and what follows is kept.
impl Observer for Vec<Step> {
    fn step(&mut self, step: Step) {
        if step == Step::Void {
            self.clear();
        }
        self.push(step);
    }
}

/// The part of a position that steps change: what a client draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// Seeds by pit.
    pub pits: Pits,
    /// South's and North's bank.
    pub banks: super::BySeat<u8>,
    /// Pits that North may sow from.
    pub north_controls: PitSet,
    /// Protected pits.
    pub marked: PitSet,
    /// Who must act.
    pub to_act: Seat,
}

impl From<&Position> for Board {
    fn from(position: &Position) -> Board {
        Board {
            pits: position.pits,
            banks: position.banks,
            north_controls: position.north_controls,
            marked: position.marked,
            to_act: position.to_act,
        }
    }
}

impl Board {
    /// Does what a step says. The steps must be those of a move from this board.
    pub fn apply(&mut self, step: Step) {
        match step {
            Step::Lift { pit, seeds, .. } => {
                self.pits[usize::from(pit)] -= seeds;
                self.marked = self.marked - PitSet::of(pit);
            }
            Step::Drop(pit) => self.pits[usize::from(pit)] += 1,
            Step::Capture { pit, seeds, by: seat } | Step::Sweep { pit, seeds, to: seat } => {
                self.pits[usize::from(pit)] -= seeds;
                self.banks[seat] += seeds;
            }
            Step::Place { pit, seeds, from_bank } => {
                self.pits[usize::from(pit)] += seeds;
                if let Some(seat) = from_bank {
                    self.banks[seat] -= seeds;
                }
            }
            Step::Transfer { pits, to: Seat::North } => self.north_controls = self.north_controls | pits,
            Step::Transfer { pits, to: Seat::South } => self.north_controls = self.north_controls - pits,
            Step::Mark(pits) => self.marked = self.marked | pits,
            Step::Void => {}
            Step::Turn(seat) => self.to_act = seat,
        }
    }
}
