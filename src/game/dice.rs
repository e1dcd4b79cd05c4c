//! Chance, from outside: the rules draw moves, but have no randomness of their own.

/// A source of numbers.
pub trait Dice {
    /// A number from 0 to `sides - 1`, each as likely as any other. `sides` is at least 1.
    fn below(&mut self, sides: u64) -> u64;
}
