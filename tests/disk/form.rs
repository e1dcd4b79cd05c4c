//! The short form, the long one, and chance.

use mancala::game::Dice;
use mancala::random::SeededDice;
use std::time::{SystemTime, UNIX_EPOCH};

/// The first in the short form, the second in the long one.
pub fn by_form<T>(short: T, long: T) -> T {
    if std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// The seed that is asked for by MANCALA_TEST_SEED, or one of the time.
pub fn seed() -> u64 {
    let given = std::env::var("MANCALA_TEST_SEED").ok().map(|seed| seed.parse().expect("MANCALA_TEST_SEED is a number"));
    let seed = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64);
    report!("MANCALA_TEST_SEED={seed}");
    seed
}

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
