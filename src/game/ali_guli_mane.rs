//! Ali Guli Mane: the pit after the last seed is sown on, captures beyond an empty pit, a second sowing, and closed pits.
#![doc = include_str!("pages/ali_guli_mane.md")]

use super::observer::{Observer, Step};
use super::options::choice;
use super::sowing::{Laps, RelayJudge, Sowing, laps, lift};
use super::variant::{Ply, Variant, check_sowing};
use super::{EndReason, Game, IllegalMove, MAX_PITS, Move, OptionSpec, Phase, PitSet, Position, Ring, Seat};

const RING: Ring = Ring { row: 7 };
static LAPS: Laps<14, 71, 16> = laps(false);
const SOWING: Sowing<14, 71, 16> = Sowing { table: &LAPS, skip_origin: false };

choice! {
    /// Whether the second sowing, which a capture earns, must be made (rule 3).
    Bonus {
        /// It must.
        Compulsory = "compulsory",
        /// It may be waived by a pass.
        Optional = "optional",
    }
}

choice! {
    /// What becomes of the seeds that are left at the end (rule 5).
    Leftovers {
        /// They stay on the board and count for nobody.
        Uncounted = "uncounted",
        /// The seat whose row holds them is given them.
        RowOwner = "row_owner",
    }
}

/// The rules of Ali Guli Mane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AliGuliMane {
    /// Whether the second sowing must be made.
    pub bonus: Bonus,
    /// What becomes of the seeds that are left at the end.
    pub leftovers: Leftovers,
}

impl Variant for AliGuliMane {
    const GAME: Game = Game::AliGuliMane;
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "bonus",
            description: "Whether a seat whose first sowing captured must sow once more, or may also pass.",
            values: Bonus::VALUES,
        },
        OptionSpec {
            name: "leftovers",
            description: "Whether the seeds left on the board at the end count for nobody, or for the seat whose row holds them.",
            values: Leftovers::VALUES,
        },
    ];

    fn option(&self, name: &str) -> Option<&'static str> {
        match name {
            "bonus" => Some(self.bonus.text()),
            "leftovers" => Some(self.leftovers.text()),
            _ => None,
        }
    }

    fn set_option(&mut self, name: &str, value: usize) {
        match name {
            "bonus" => self.bonus = Bonus::ALL[value],
            "leftovers" => self.leftovers = Leftovers::ALL[value],
            _ => {}
        }
    }

    fn start(&self, first: Seat) -> Position {
        let mut pits = [0; MAX_PITS];
        pits[..14].fill(5);
        Position::new(Game::AliGuliMane, pits, first, Phase::Sow)
    }

    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove> {
        match *mv {
            Move::Sow { pit, seeds } => check_sowing(p, pit, seeds),
            Move::Pass if self.may_pass(p) => Ok(()),
            Move::Pass => Err(IllegalMove::CannotPass { seat: p.to_act }),
            _ => Err(IllegalMove::NotInThisGame { game: p.game, given: mv.kind() }),
        }
    }

    #[inline]
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move)) {
        row(p).iter().for_each(|pit| visit(Move::sow(pit)));
        if self.may_pass(p) {
            visit(Move::Pass);
        }
    }

    #[inline]
    fn pits_to_sow(&self, p: &Position) -> PitSet {
        if self.may_pass(p) { PitSet::EMPTY } else { row(p) }
    }

    #[inline]
    fn play(&self, p: &mut Position, mv: Move, observer: &mut impl Observer) -> Ply {
        let before = *p;
        let mut ply = Ply::default();
        if let Move::Sow { pit, .. } = mv {
            ply = match sow(p, pit, observer) {
                Some(captured) => Ply { captured, endless: false },
                None => p.void(&before, observer),
            };
        }
        // Rule 3: the first sowing of a turn earns a second one by a capture, if there is anything to sow.
        if ply.captured > 0 && p.phase == Phase::Sow && !row(p).is_empty() {
            p.phase = Phase::Bonus;
            observer.step(Step::Turn(p.to_act));
            return ply;
        }
        p.phase = Phase::Sow;
        p.to_act = p.to_act.other();
        self.settle(p, observer);
        ply
    }

    /// Rule 4.
    #[inline]
    fn end(&self, p: &Position) -> Option<EndReason> {
        row(p).is_empty().then_some(EndReason::NoSeeds)
    }

    fn leftovers_to(&self, _: &Position, pit: u8, _: EndReason) -> Option<Seat> {
        (self.leftovers == Leftovers::RowOwner).then(|| RING.row_of(pit))
    }
}

impl AliGuliMane {
    fn may_pass(&self, p: &Position) -> bool {
        p.phase == Phase::Bonus && self.bonus == Bonus::Optional
    }
}

/// The occupied pits of the row of the seat to act.
#[inline(always)]
fn row(p: &Position) -> PitSet {
    p.occupied() & RING.row(p.to_act)
}

/// The pit after this one, closed ones passed over.
#[inline(always)]
fn next_open(p: &Position, pit: u8) -> u8 {
    let mut next = RING.next(pit);
    while p.closed.has(next) {
        next = RING.next(next);
    }
    next
}

#[inline(always)]
fn lap(p: &mut Position, origin: u8, relay: bool, observer: &mut impl Observer) -> u8 {
    if p.closed.is_empty() { SOWING.lap(&mut p.pits, origin, relay, observer) } else { open_lap(p, origin, relay, observer) }
}

/// A lap on a board with closed pits, which differ from match to match, so that no table serves.
fn open_lap(p: &mut Position, origin: u8, relay: bool, observer: &mut impl Observer) -> u8 {
    let hand = lift(&mut p.pits, origin, relay, observer);
    let mut last = origin;
    for _ in 0..hand {
        last = next_open(p, last);
        p.pits[usize::from(last)] += 1;
        observer.step(Step::Drop(last));
    }
    last
}

/// Rules 1 and 2: the seeds captured, or `None` when the sowing is endless.
#[inline(always)]
fn sow(p: &mut Position, pit: u8, observer: &mut impl Observer) -> Option<u8> {
    let mut judge = RelayJudge::new();
    let mut last = lap(p, pit, false, observer);
    let mut after = next_open(p, last);
    while p.seeds(after) > 0 {
        if judge.is_endless(&p.pits, after) {
            return None;
        }
        last = lap(p, after, true, observer);
        after = next_open(p, last);
    }
    // A closed pit is empty, so that nothing need be said of it here.
    let beyond = next_open(p, after);
    let mut captured = 0;
    for pit in [beyond, RING.opposite(beyond)] {
        if p.seeds(pit) > 0 {
            captured += p.capture(pit, observer);
        }
    }
    Some(captured)
}
