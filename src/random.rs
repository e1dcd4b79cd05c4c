//! Dice that a seed determines: the same numbers on every machine, in every run.

use crate::game::Dice;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Dice for playouts and samples. Not fit for secrets: a few numbers give away the rest.
///
/// ```
/// use mancala::game::Dice;
/// use mancala::random::SeededDice;
///
/// let mut dice = SeededDice::new(1);
/// assert_eq!([6, 6, 6, 6].map(|sides| dice.below(sides)), [4, 4, 0, 4]);
/// ```
#[derive(Debug, Clone)]
pub struct SeededDice(Xoshiro256PlusPlus);

impl SeededDice {
    /// Dice whose numbers follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> SeededDice {
        SeededDice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Dice for one of many games of a seed. Games are independent of each other and of how many there are.
    #[must_use]
    pub fn for_game(seed: u64, game: u64) -> SeededDice {
        // The seeding scrambles its number thoroughly (SplitMix64), so that neighbouring games have nothing in common; the
        // odd factor keeps the games of neighbouring seeds apart.
        SeededDice::new(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(game))
    }
}

/// Lemire's method: the upper half of `random * sides`, numbers in the biased part of the lower half drawn anew.
impl Dice for SeededDice {
    #[inline]
    fn below(&mut self, sides: u64) -> u64 {
        let mut draw = || u128::from(self.0.next_u64()) * u128::from(sides);
        let mut product = draw();
        if (product as u64) < sides {
            let biased = sides.wrapping_neg() % sides;
            while (product as u64) < biased {
                product = draw();
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever changes these numbers changes what a seed means to everybody who has written one down.
    #[test]
    fn a_seed_means_these_numbers() {
        let numbers = |mut dice: SeededDice, sides: u64| [(); 6].map(|()| dice.below(sides));
        assert_eq!(numbers(SeededDice::new(0), 100), [32, 38, 35, 1, 49, 2]);
        assert_eq!(numbers(SeededDice::new(1), 100), [81, 74, 10, 74, 18, 59]);
        assert_eq!(
            numbers(SeededDice::new(u64::MAX), 300_450_150),
            [101_872_167, 270_547_861, 267_486_224, 82_223_558, 196_978_439, 120_819_970]
        );
        assert_eq!(numbers(SeededDice::for_game(1, 0), 100), [74, 44, 43, 4, 79, 74]);
        assert_eq!(numbers(SeededDice::for_game(1, 1), 100), [14, 53, 83, 97, 65, 68]);
    }

    #[test]
    fn numbers_are_even_for_any_sides() {
        let mut dice = SeededDice::new(3);
        assert_eq!([(); 5].map(|()| dice.below(1)), [0; 5]);
        // Three quarters of the range: without drawing anew the first third would come up twice as often as the others.
        let sides = 3 << 62;
        let first_third = (0..30_000).filter(|_| dice.below(sides) < 1 << 62).count();
        assert!((9_500..10_500).contains(&first_third), "{first_third} of 30,000");
        let mut sixes = [0u32; 6];
        (0..60_000).for_each(|_| sixes[dice.below(6) as usize] += 1);
        assert!(sixes.iter().all(|times| (9_500..10_500).contains(times)), "{sixes:?}");
    }
}
