//! Chance from a seed: the same on every machine and in every version.

use crate::game::Dice;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Dice whose throws follow from a seed alone.
#[derive(Debug, Clone)]
pub struct SeededDice(Xoshiro256PlusPlus);

impl SeededDice {
    /// The dice of a seed.
    #[must_use]
    pub fn new(seed: u64) -> SeededDice {
        SeededDice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
}

impl Dice for SeededDice {
    /// Lemire's method: the high half of a product, drawn again in the rare case that would favour some numbers.
    #[inline]
    fn below(&mut self, sides: u64) -> u64 {
        let mut product = u128::from(self.0.next_u64()) * u128::from(sides);
        if (product as u64) < sides {
            let favoured = sides.wrapping_neg() % sides;
            while (product as u64) < favoured {
                product = u128::from(self.0.next_u64()) * u128::from(sides);
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of simulations and samples are promised to stay the same, so these numbers must never change.
    #[test]
    fn a_seed_stands_for_its_numbers() {
        let mut dice = SeededDice::new(1);
        let throws: Vec<_> = (0..10).map(|_| dice.below(6)).collect();
        assert_eq!(throws, [4, 4, 0, 4, 1, 3, 5, 3, 0, 0]);
        assert_eq!(SeededDice::new(2).below(u64::MAX), SeededDice::new(2).below(u64::MAX));
    }

    #[test]
    fn all_sides_come_up_about_as_often() {
        let mut dice = SeededDice::new(3);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[dice.below(7) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }
}
