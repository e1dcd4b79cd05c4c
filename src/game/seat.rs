//! The two seats, and a pair of things that has one for each.

use std::fmt;
use std::ops::{Index, IndexMut};

/// One of the two players. In a single game South moves first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Seat {
    /// Owns the row `0..n-1`.
    South,
    /// Owns the row `n..2n-1`.
    North,
}

impl Seat {
    /// South, then North.
    pub const BOTH: [Seat; 2] = [Seat::South, Seat::North];

    /// The opponent.
    #[must_use]
    pub const fn other(self) -> Seat {
        match self {
            Seat::South => Seat::North,
            Seat::North => Seat::South,
        }
    }

    /// `S` or `N`, as in position text.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Seat::South => 'S',
            Seat::North => 'N',
        }
    }

    /// The seat with this letter.
    #[must_use]
    pub const fn from_letter(letter: char) -> Option<Seat> {
        match letter {
            'S' => Some(Seat::South),
            'N' => Some(Seat::North),
            _ => None,
        }
    }
}

/// "South" or "North".
impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Seat::South => "South",
            Seat::North => "North",
        })
    }
}

/// One `T` for each seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BySeat<T>([T; 2]);

impl<T> BySeat<T> {
    /// South's, then North's.
    pub const fn new(south: T, north: T) -> BySeat<T> {
        BySeat([south, north])
    }
}

impl<T> Index<Seat> for BySeat<T> {
    type Output = T;
    #[inline]
    fn index(&self, seat: Seat) -> &T {
        &self.0[seat as usize]
    }
}

impl<T> IndexMut<Seat> for BySeat<T> {
    #[inline]
    fn index_mut(&mut self, seat: Seat) -> &mut T {
        &mut self.0[seat as usize]
    }
}
