//! Ayoayo: relay sowing, captures by the opposite pit, and the duty to feed.
#![doc = include_str!("pages/ayoayo.md")]

use super::observer::Observer;
use super::options::choice;
use super::sowing::{Laps, RelayJudge, Sowing, laps};
use super::variant::{Ply, Variant, check_sowing};
use super::{EndReason, Game, IllegalMove, MAX_PITS, Move, OptionSpec, Phase, PitSet, Position, Ring, Seat};

const RING: Ring = Ring { row: 6 };
static LAPS: Laps<12, 49, 16> = laps(true);
const SOWING: Sowing<12, 49, 16> = Sowing { table: &LAPS, skip_origin: true };

choice! {
    /// Who is given the seeds that are left at the end (rule 6).
    Leftovers {
        /// The seat that made the last sowing.
        LastMover = "last_mover",
        /// The seat whose row holds them.
        RowOwner = "row_owner",
    }
}

/// The rules of Ayoayo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ayoayo {
    /// Who is given the seeds that are left at the end.
    pub leftovers: Leftovers,
}

impl Variant for Ayoayo {
    const GAME: Game = Game::Ayoayo;
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "leftovers",
        description: "Who is given the seeds left on the board at the end: the seat that made the last sowing, or the seat whose \
                      row holds them.",
        values: Leftovers::VALUES,
    }];

    fn option(&self, name: &str) -> Option<&'static str> {
        (name == "leftovers").then(|| self.leftovers.text())
    }

    fn set_option(&mut self, name: &str, value: usize) {
        if name == "leftovers" {
            self.leftovers = Leftovers::ALL[value];
        }
    }

    fn start(&self, first: Seat) -> Position {
        let mut pits = [0; MAX_PITS];
        pits[..12].fill(4);
        Position::new(Game::Ayoayo, pits, first, Phase::Sow)
    }

    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove> {
        match *mv {
            Move::Pass if must_pass(p) => Ok(()),
            Move::Pass => Err(IllegalMove::CannotPass { seat: p.to_act }),
            Move::Sow { .. } if must_pass(p) => Err(IllegalMove::MustPass { seat: p.to_act }),
            Move::Sow { pit, seeds } => {
                check_sowing(p, pit, seeds)?;
                if row(p, p.to_act.other()).is_empty() && !feeds(p, pit) {
                    return Err(IllegalMove::MustFeed { pit, hungry: p.to_act.other() });
                }
                Ok(())
            }
            _ => Err(IllegalMove::NotInThisGame { game: p.game, given: mv.kind() }),
        }
    }

    #[inline]
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move)) {
        let own = row(p, p.to_act);
        if own.is_empty() {
            visit(Move::Pass);
        } else if row(p, p.to_act.other()).is_empty() {
            own.iter().filter(|&pit| feeds(p, pit)).for_each(|pit| visit(Move::sow(pit)));
        } else {
            own.iter().for_each(|pit| visit(Move::sow(pit)));
        }
    }

    #[inline]
    fn pits_to_sow(&self, p: &Position) -> PitSet {
        if row(p, p.to_act.other()).is_empty() { PitSet::EMPTY } else { row(p, p.to_act) }
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
            // Also of an endless sowing: it moved no seed, but it was made.
            p.last_sower = Some(p.to_act);
        }
        p.to_act = p.to_act.other();
        self.settle(p, observer);
        ply
    }

    /// Rule 5.
    #[inline]
    fn end(&self, p: &Position) -> Option<EndReason> {
        let (own, others) = (row(p, p.to_act), row(p, p.to_act.other()));
        if !own.is_empty() && !others.is_empty() {
            None
        } else if own.is_empty() && others.is_empty() {
            Some(EndReason::BoardEmpty)
        } else {
            let feeder = if own.is_empty() { Position { to_act: p.to_act.other(), ..*p } } else { *p };
            let can_feed = (own | others).iter().any(|pit| feeds(&feeder, pit));
            (!can_feed).then_some(EndReason::CannotFeed)
        }
    }

    fn leftovers_to(&self, p: &Position, pit: u8, reason: EndReason) -> Option<Seat> {
        match (self.leftovers, p.last_sower) {
            (Leftovers::LastMover, Some(seat)) if !reason.is_guard() => Some(seat),
            _ => Some(RING.row_of(pit)),
        }
    }
}

/// The occupied pits of a seat's row.
#[inline(always)]
fn row(p: &Position, seat: Seat) -> PitSet {
    p.occupied() & RING.row(seat)
}

fn must_pass(p: &Position) -> bool {
    row(p, p.to_act).is_empty()
}

/// Whether the opponent's row holds a seed after this sowing (rule 4).
fn feeds(p: &Position, pit: u8) -> bool {
    let mut after = *p;
    sow(&mut after, pit, &mut ()).is_some() && !row(&after, p.to_act.other()).is_empty()
}

/// Rules 1 to 3: the seeds captured, or `None` when the sowing is endless.
#[inline(always)]
fn sow(p: &mut Position, pit: u8, observer: &mut impl Observer) -> Option<u8> {
    let mut judge = RelayJudge::new();
    let mut last = SOWING.lap(&mut p.pits, pit, false, observer);
    while p.seeds(last) > 1 {
        if judge.is_endless(&p.pits, last) {
            return None;
        }
        last = SOWING.lap(&mut p.pits, last, true, observer);
    }
    let opposite = RING.opposite(last);
    if RING.row_of(last) != p.to_act || p.seeds(opposite) == 0 {
        return Some(0);
    }
    Some(p.capture(opposite, observer) + p.capture(last, observer))
}
