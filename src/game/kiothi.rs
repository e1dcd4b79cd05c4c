//! Kiothi: opening redistributions, partial harvests, protected pits.
#![doc = include_str!("pages/kiothi.md")]

use super::observer::{Observer, Step};
use super::opening;
use super::options::choice;
use super::sowing::{Laps, RelayJudge, Sowing, laps};
use super::variant::{Ply, Variant, check_pit};
use super::{Dice, EndReason, Game, IllegalMove, MAX_PITS, Move, OptionSpec, Phase, PitSet, Position, Ring, Seat};

const RING: Ring = Ring { row: 10 };
static LAPS: Laps<20, 61, 20> = laps(false);
const SOWING: Sowing<20, 61, 20> = Sowing { table: &LAPS, skip_origin: false };

choice! {
    /// How a seat's rightmost pits are filled at first (rule 1).
    Opening {
        /// Six pits of five.
        SixOfFive = "six_of_five",
        /// Five pits of five: 25 a side.
        FiveOfFive = "five_of_five",
        /// Five pits of six.
        FiveOfSix = "five_of_six",
    }
}

choice! {
    /// What a capture by the leftmost pit takes as well (rule 9).
    LeftmostBonus {
        /// The three pits to the right of the opposite one, if all are occupied and unmarked.
        AllThree = "all_three",
        /// The unbroken run of occupied, unmarked pits from the opposite one on.
        Run = "run",
    }
}

choice! {
    /// How many wins a win by exactly two seeds counts in a match (rule 11).
    TwoCounterWin {
        /// Two.
        Two = "2",
        /// Three.
        Three = "3",
        /// Four.
        Four = "4",
        /// Five.
        Five = "5",
        /// Six.
        Six = "6",
        /// Seven.
        Seven = "7",
        /// Eight.
        Eight = "8",
        /// Nine.
        Nine = "9",
        /// Ten.
        Ten = "10",
    }
}

impl TwoCounterWin {
    /// The number of wins.
    pub(super) const fn points(self) -> u32 {
        self as u32 + 2
    }
}

/// The rules of Kiothi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Kiothi {
    /// How the board is filled at first.
    pub opening: Opening,
    /// What a capture by the leftmost pit takes as well.
    pub leftmost_bonus: LeftmostBonus,
    /// How many wins a win by exactly two seeds counts in a match.
    pub two_counter_win: TwoCounterWin,
}

impl Variant for Kiothi {
    const GAME: Game = Game::Kiothi;
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "opening",
            description: "How each seat's rightmost pits are filled: six pits of five, five of five, or five of six.",
            values: Opening::VALUES,
        },
        OptionSpec {
            name: "leftmost_bonus",
            description: "What a capture by the mover's leftmost pit takes besides: the three pits to the right of the opposite \
                          one if all are occupied and unmarked, or the unbroken run of occupied unmarked pits from it on.",
            values: LeftmostBonus::VALUES,
        },
        OptionSpec {
            name: "two_counter_win",
            description: "How many wins a win by exactly two seeds counts in a match.",
            values: TwoCounterWin::VALUES,
        },
    ];

    fn option(&self, name: &str) -> Option<&'static str> {
        match name {
            "opening" => Some(self.opening.text()),
            "leftmost_bonus" => Some(self.leftmost_bonus.text()),
            "two_counter_win" => Some(self.two_counter_win.text()),
            _ => None,
        }
    }

    fn set_option(&mut self, name: &str, value: usize) {
        match name {
            "opening" => self.opening = Opening::ALL[value],
            "leftmost_bonus" => self.leftmost_bonus = LeftmostBonus::ALL[value],
            "two_counter_win" => self.two_counter_win = TwoCounterWin::ALL[value],
            _ => {}
        }
    }

    fn start(&self, first: Seat) -> Position {
        let (pits_a_side, seeds) = match self.opening {
            Opening::SixOfFive => (6, 5),
            Opening::FiveOfFive => (5, 5),
            Opening::FiveOfSix => (5, 6),
        };
        let mut pits = [0; MAX_PITS];
        for row in pits.chunks_exact_mut(usize::from(RING.row)) {
            row[usize::from(RING.row) - pits_a_side..].fill(seeds);
        }
        Position::new(Game::Kiothi, pits, first, Phase::Open1)
    }

    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove> {
        match (p.phase, *mv) {
            (Phase::Sow, Move::Sow { pit, seeds }) => check_harvest(p, pit, seeds),
            (Phase::Sow, Move::Redistribute(_)) => Err(IllegalMove::WrongPhase { phase: p.phase, given: mv.kind() }),
            (_, Move::Redistribute(redistribution)) => opening::check(p, &redistribution),
            (_, Move::Sow { .. }) => Err(IllegalMove::WrongPhase { phase: p.phase, given: mv.kind() }),
            (_, Move::Pass) => Err(IllegalMove::CannotPass { seat: p.to_act }),
            (_, Move::Offer(_) | Move::Answer { .. }) => Err(IllegalMove::NotInThisGame { game: p.game, given: mv.kind() }),
        }
    }

    /// A sowing bears its number of seeds.
    #[inline]
    fn canonical(&self, p: &Position, mv: Move) -> Move {
        match mv {
            Move::Sow { pit, seeds: None } => Move::Sow { pit, seeds: Some(p.seeds(pit)) },
            _ => mv,
        }
    }

    #[inline]
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move)) {
        if p.phase == Phase::Sow {
            for pit in (p.occupied() & RING.row(p.to_act)).iter() {
                for seeds in harvests(p, pit).iter() {
                    visit(Move::Sow { pit, seeds: Some(seeds) });
                }
            }
        }
    }

    #[inline]
    fn draw(&self, p: &Position, dice: &mut impl Dice) -> Option<Move> {
        if p.phase != Phase::Sow {
            return opening::draw(p, dice).map(Move::from);
        }
        let pits = p.occupied() & RING.row(p.to_act);
        let count: u32 = pits.iter().map(|pit| harvests(p, pit).len()).sum();
        let mut left = dice.below(count.into()) as u32;
        for pit in pits.iter() {
            let numbers = harvests(p, pit);
            if left < numbers.len() {
                return Some(Move::Sow { pit, seeds: Some(numbers.nth(left)) });
            }
            left -= numbers.len();
        }
        None
    }

    #[inline]
    fn play(&self, p: &mut Position, mv: Move, observer: &mut impl Observer) -> Ply {
        let before = *p;
        let mut ply = Ply::default();
        match mv {
            Move::Sow { pit, seeds } => {
                ply = match self.sow(p, pit, seeds.unwrap_or(p.seeds(pit)), observer) {
                    Some(captured) => Ply { captured, endless: false },
                    None => p.void(&before, observer),
                };
            }
            Move::Redistribute(redistribution) => {
                opening::place(p, &redistribution, observer);
                if p.phase == Phase::Open1 {
                    p.phase = Phase::Open2;
                } else {
                    // Rule 3.
                    p.marked = p.occupied();
                    observer.step(Step::Mark(p.marked));
                    p.phase = Phase::Sow;
                }
            }
            Move::Offer(_) | Move::Answer { .. } | Move::Pass => {}
        }
        p.to_act = p.to_act.other();
        self.settle(p, observer);
        ply
    }

    /// Rule 10.
    #[inline]
    fn end(&self, p: &Position) -> Option<EndReason> {
        (p.phase == Phase::Sow && !can_sow(p, p.to_act)).then_some(EndReason::NoMove)
    }

    fn leftovers_to(&self, p: &Position, pit: u8, reason: EndReason) -> Option<Seat> {
        let other = p.to_act.other();
        if reason.is_guard() || !can_sow(p, other) { Some(RING.row_of(pit)) } else { Some(other) }
    }
}

/// Rules 4 and 5.
fn check_harvest(p: &Position, pit: u8, seeds: Option<u8>) -> Result<(), IllegalMove> {
    check_pit(p, pit)?;
    let held = p.seeds(pit);
    let seeds = seeds.unwrap_or(held);
    if seeds == 0 || seeds > held {
        return Err(IllegalMove::SeedsOutOfRange { pit, seeds, held });
    }
    if !harvests(p, pit).has(seeds) {
        let last = (pit + seeds) % RING.pits();
        return Err(IllegalMove::FirstLapEndsInOwnOccupiedPit { pit, seeds, last });
    }
    Ok(())
}

/// The numbers of seeds that can be sown from a pit: those of which the last one falls outside the seat's row, or in a pit of it
/// that is empty by then (rule 5).
#[inline(always)]
fn harvests(p: &Position, pit: u8) -> Numbers {
    let (own, held) = (RING.row(RING.row_of(pit)), p.seeds(pit));
    // Bit n: the pit n places ahead. Up to 19 seeds meet what is there now; after that every pit has had a seed.
    let ahead = |pits: PitSet| u64::from(RING.rotated(pits, pit));
    let once_round = ahead(own);
    let occupied = ahead(own & (p.occupied() - PitSet::of(pit))) | once_round << 20 | once_round << 40 | once_round << 60;
    // Twenty come back to the pit itself, which is empty if that was all.
    let free = if held == RING.pits() { !occupied | 1 << 20 } else { !occupied };
    Numbers(free & ((2 << held) - 2))
}

/// A set of numbers of seeds, at most sixty, as bits.
#[derive(Clone, Copy)]
struct Numbers(u64);

impl Numbers {
    fn has(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The number that has `n` smaller ones in the set.
    fn nth(self, n: u32) -> u8 {
        (0..n).fold(self.0, |rest, _| rest & rest.wrapping_sub(1)).trailing_zeros() as u8
    }

    fn iter(self) -> impl Iterator<Item = u8> {
        (0..self.len()).map(move |n| self.nth(n))
    }
}

/// A row with warriors always has a sowing: the last occupied pit of it can sow one, which falls in an empty pit or in the other
/// row. So nothing need be said of warriors that have only forbidden first laps.
fn can_sow(p: &Position, seat: Seat) -> bool {
    !(p.occupied() & RING.row(seat)).is_empty()
}

impl Kiothi {
    /// Rules 4 to 9: the seeds captured, or `None` when the sowing is endless.
    #[inline(always)]
    fn sow(&self, p: &mut Position, pit: u8, hand: u8, observer: &mut impl Observer) -> Option<u8> {
        let mut judge = RelayJudge::new();
        p.marked = p.marked - PitSet::of(pit);
        let mut last = SOWING.lap_of(&mut p.pits, pit, hand, false, observer);
        while p.seeds(last) > 1 {
            if judge.is_endless(&p.pits, last) {
                return None;
            }
            p.marked = p.marked - PitSet::of(last);
            last = SOWING.lap(&mut p.pits, last, true, observer);
        }
        let opposite = RING.opposite(last);
        if RING.row_of(last) != p.to_act || !is_prey(p, opposite) {
            return Some(0);
        }
        let captured = p.capture(opposite, observer) + p.capture(last, observer);
        let bonus = if last.is_multiple_of(RING.row) { self.take_bonus(p, opposite, observer) } else { 0 };
        Some(captured + bonus)
    }

    /// Rule 9. From the mover's leftmost pit, "to the right of the opposite one" is down the ring.
    fn take_bonus(&self, p: &mut Position, opposite: u8, observer: &mut impl Observer) -> u8 {
        let rest_of_row = (opposite + 1 - RING.row..opposite).rev();
        let run = rest_of_row.take_while(|&pit| is_prey(p, pit)).count() as u8;
        let taken = match self.leftmost_bonus {
            LeftmostBonus::AllThree if run >= 3 => 3,
            LeftmostBonus::AllThree => 0,
            LeftmostBonus::Run => run,
        };
        (opposite - taken..opposite).rev().map(|pit| p.capture(pit, observer)).sum()
    }
}

/// Occupied and not protected.
fn is_prey(p: &Position, pit: u8) -> bool {
    p.seeds(pit) > 0 && !p.marked.has(pit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule 5, seed by seed.
    fn is_legal_by_hand(p: &Position, pit: u8, seeds: u8) -> bool {
        let mut pits = p.pits;
        pits[usize::from(pit)] -= seeds;
        let mut last = pit;
        for left in (0..seeds).rev() {
            last = RING.next(last);
            if left == 0 {
                break;
            }
            pits[usize::from(last)] += 1;
        }
        RING.row_of(last) != RING.row_of(pit) || pits[usize::from(last)] == 0
    }

    #[test]
    fn harvests_are_those_of_rule_5() {
        for pattern in 0..1u32 << 10 {
            for held in [1, 5, 11, 19, 20, 21, 39, 40, 41, 50] {
                for pit in [0, 4, 9, 10, 13, 19] {
                    // One warrior in each pit of the pattern, in either row, and these in the pit looked at.
                    let mut pits = std::array::from_fn(|at| (pattern >> (at % 10) & 1) as u8);
                    pits[usize::from(pit)] = held;
                    let p = Position::new(Game::Kiothi, pits, RING.row_of(pit), Phase::Sow);
                    let by_hand: Vec<_> = (1..=held).filter(|&seeds| is_legal_by_hand(&p, pit, seeds)).collect();
                    assert_eq!(harvests(&p, pit).iter().collect::<Vec<_>>(), by_hand, "{p} from {pit}");
                    assert!(can_sow(&p, RING.row_of(pit)));
                    assert!(p.occupied().iter().any(|pit| harvests(&p, pit).len() > 0));
                }
            }
        }
    }
}
