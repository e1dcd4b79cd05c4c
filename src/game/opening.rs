//! Kiothi's opening redistributions: described, drawn and checked, never listed (rule 2).
//!
//! Emptying two pits that hold `s` seeds together leaves C(s + 19, 19) ways to place them on twenty pits: 20,030,010 for ten
//! seeds, for each pair of pits.

use super::observer::{Observer, Step};
use super::{IllegalMove, MAX_PITS, Move, Phase, PitSet, Pits, Position, Redistribution};
use crate::game::Dice;

/// How many pits a redistribution empties.
pub const EMPTIED: u32 = 2;

/// The redistributions that are possible in a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedistributionFamily {
    /// Pits of which [`EMPTIED`] are emptied: the seat's own occupied ones.
    pub choices: PitSet,
    /// Pits that may receive seeds: all.
    pub targets: PitSet,
    /// How many different redistributions there are.
    pub total: u64,
}

/// The family of a position, if a redistribution is what it asks for.
#[must_use]
pub fn family(p: &Position) -> Option<RedistributionFamily> {
    if !matches!(p.phase, Phase::Open1 | Phase::Open2) {
        return None;
    }
    let total = pairs(p).map(|(a, b)| placements(seeds_of(p, a, b))).sum();
    Some(RedistributionFamily { choices: choices(p), targets: p.ring().all(), total })
}

/// Draws one of a position's family, each as likely as any other, if it asks for one.
#[cold]
pub(super) fn draw(p: &Position, dice: &mut impl Dice) -> Option<Redistribution> {
    let mut left = dice.below(family(p)?.total);
    let mut chosen = None;
    for (a, b) in pairs(p) {
        let here = placements(seeds_of(p, a, b));
        chosen = Some((a, b));
        if left < here {
            break;
        }
        left -= here;
    }
    let (a, b) = chosen?;
    Some(Redistribution { emptied: PitSet::of(a) | PitSet::of(b), placed: draw_placement(seeds_of(p, a, b), dice) })
}

/// Each way to put `seeds` in twenty pits is a way to choose which of `seeds + 19` marks in a row are bars between pits.
fn draw_placement(seeds: u8, dice: &mut impl Dice) -> Pits {
    let mut placed = [0; MAX_PITS];
    let mut bars = MAX_PITS as u64 - 1;
    let mut pit = 0;
    for marks_left in (1..=u64::from(seeds) + bars).rev() {
        if dice.below(marks_left) < bars {
            bars -= 1;
            pit += 1;
        } else {
            placed[pit] += 1;
        }
    }
    placed
}

/// Whether a redistribution is possible in an opening position.
pub(super) fn check(p: &Position, redistribution: &Redistribution) -> Result<(), IllegalMove> {
    let Redistribution { emptied, placed } = redistribution;
    if emptied.len() != EMPTIED {
        return Err(IllegalMove::RedistributionSize { emptied: emptied.len(), required: EMPTIED });
    }
    for pit in emptied.iter() {
        super::variant::check_pit(p, pit)?;
    }
    let lifted: u32 = emptied.iter().map(|pit| u32::from(p.seeds(pit))).sum();
    let placed: u32 = placed.iter().map(|&seeds| u32::from(seeds)).sum();
    if lifted == placed { Ok(()) } else { Err(IllegalMove::RedistributionUnbalanced { lifted, placed }) }
}

/// Carries out a checked redistribution.
pub(super) fn place(p: &mut Position, redistribution: &Redistribution, observer: &mut impl Observer) {
    for pit in redistribution.emptied.iter() {
        super::sowing::lift(&mut p.pits, pit, false, observer);
    }
    for (pit, &seeds) in (0..).zip(&redistribution.placed) {
        if seeds > 0 {
            p.pits[usize::from(pit)] += seeds;
            observer.step(Step::Place { pit, seeds, from_bank: None });
        }
    }
}

fn choices(p: &Position) -> PitSet {
    p.occupied() & p.ring().row(p.to_act)
}

fn pairs(p: &Position) -> impl Iterator<Item = (u8, u8)> {
    let pits = choices(p);
    pits.iter().flat_map(move |a| pits.iter().filter(move |&b| b > a).map(move |b| (a, b)))
}

fn seeds_of(p: &Position, a: u8, b: u8) -> u8 {
    p.seeds(a) + p.seeds(b)
}

/// C(seeds + 19, 19). At most C(79, 19), about 8.8e17, for all sixty seeds in two pits.
fn placements(seeds: u8) -> u64 {
    PLACEMENTS[usize::from(seeds)]
}

static PLACEMENTS: [u64; 61] = {
    let mut table = [1; 61];
    let mut seeds = 1;
    while seeds < table.len() {
        let ways = table[seeds - 1] as u128 * (seeds + MAX_PITS - 1) as u128 / seeds as u128;
        table[seeds] = ways as u64;
        seeds += 1;
    }
    table
};

impl From<Redistribution> for Move {
    fn from(redistribution: Redistribution) -> Move {
        Move::Redistribute(redistribution)
    }
}

#[cfg(test)]
mod tests {
    use super::placements;

    #[test]
    fn placements_are_binomial() {
        assert_eq!(placements(0), 1);
        assert_eq!(placements(1), 20);
        assert_eq!(placements(10), 20_030_010);
        assert_eq!(placements(60), 883_829_035_553_043_580);
    }
}
