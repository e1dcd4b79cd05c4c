//! Chance.

use mancala::game::Dice;
use mancala::random::SeededDice;

/// One of a list.
pub fn pick<'a, T>(dice: &mut SeededDice, from: &'a [T]) -> &'a T {
    &from[below(dice, from.len())]
}

/// A number below another one.
pub fn below(dice: &mut SeededDice, limit: usize) -> usize {
    dice.below(limit as u64) as usize
}

/// Whether something happens that happens so many times in 100.
pub fn percent(dice: &mut SeededDice, chance: u64) -> bool {
    dice.below(100) < chance
}
