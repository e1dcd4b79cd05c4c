//! Where pits lie: the ring of a game's board, and sets of pits.

use super::Seat;
use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Sub};

/// The most pits that any of the boards has.
pub const MAX_PITS: usize = 20;

/// Seeds of each pit by ring index; those beyond the game's ring are 0.
pub type Pits = [u8; MAX_PITS];

/// A board of two rows, numbered as a ring: South's row `0..row`, North's `row..2*row`, each from its seat's left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ring {
    /// Pits in a row.
    pub row: u8,
}

impl Ring {
    /// Pits in all.
    #[must_use]
    pub const fn pits(self) -> u8 {
        2 * self.row
    }

    /// The pit sown after this one.
    #[must_use]
    pub const fn next(self, pit: u8) -> u8 {
        if pit + 1 == self.pits() { 0 } else { pit + 1 }
    }

    /// The pit sown before this one.
    #[must_use]
    pub const fn previous(self, pit: u8) -> u8 {
        if pit == 0 { self.pits() - 1 } else { pit - 1 }
    }

    /// The pit across the board.
    #[must_use]
    pub const fn opposite(self, pit: u8) -> u8 {
        self.pits() - 1 - pit
    }

    /// Whose row the pit stands in.
    #[must_use]
    pub const fn row_of(self, pit: u8) -> Seat {
        if pit < self.row { Seat::South } else { Seat::North }
    }

    /// A seat's row.
    #[must_use]
    pub const fn row(self, seat: Seat) -> PitSet {
        let south = (1 << self.row) - 1;
        match seat {
            Seat::South => PitSet(south),
            Seat::North => PitSet(south << self.row),
        }
    }

    /// Pits as bits, of which the lowest is this pit and each next one the next pit.
    #[inline]
    pub(super) const fn rotated(self, pits: PitSet, from: u8) -> u32 {
        (pits.0 >> from | pits.0 << (self.pits() - from)) & self.all().0
    }

    /// All pits.
    #[must_use]
    pub const fn all(self) -> PitSet {
        PitSet((1 << self.pits()) - 1)
    }
}

/// A set of pits, by ring index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PitSet(u32);

impl PitSet {
    /// No pit.
    pub const EMPTY: PitSet = PitSet(0);
    /// Pits with this index or a higher one can't be in a set.
    pub const CAPACITY: u8 = 32;

    /// One pit.
    ///
    /// # Panics
    /// When the pit is not below [`PitSet::CAPACITY`].
    #[must_use]
    pub const fn of(pit: u8) -> PitSet {
        assert!(pit < PitSet::CAPACITY);
        PitSet(1 << pit)
    }

    /// Whether the pit is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, pit: u8) -> bool {
        pit < PitSet::CAPACITY && self.0 >> pit & 1 == 1
    }

    /// How many pits.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The pits in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let pit = left.trailing_zeros() as u8;
            left &= left.checked_sub(1)?;
            Some(pit)
        })
    }

    /// One bit a pit, in a word with room for three boards.
    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// The occupied pits of a board.
    #[must_use]
    #[inline]
    pub fn occupied(pits: &Pits) -> PitSet {
        // Eight pits at a time, without a branch or a loop, which would not always be unrolled: this is asked several times a ply.
        let (words, rest) = pits.as_chunks::<8>();
        let mut last_word = [0; 8];
        last_word[..rest.len()].copy_from_slice(rest);
        PitSet(occupied_of_eight(words[0]) | occupied_of_eight(words[1]) << 8 | occupied_of_eight(last_word) << 16)
    }

    /// The pit that has `n` smaller ones in the set; the set has more than `n`.
    #[inline(always)]
    pub(super) fn nth(self, n: u32) -> u8 {
        let first = self.0.trailing_zeros();
        let window = self.0 >> first;
        if window < 1 << 8 {
            return first as u8 + NTH[window as usize][n as usize & 7];
        }
        let rest = (0..n).fold(self.0, |rest, _| rest & rest.wrapping_sub(1));
        rest.trailing_zeros() as u8
    }
}

/// For each eight bits the place of the one with `n` smaller ones: a row's pits are drawn from in every ply, and nobody could predict
/// where a loop over them ends.
static NTH: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut rest = bits;
        let mut n = 0;
        while rest != 0 {
            table[bits][n] = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            n += 1;
        }
        bits += 1;
    }
    table
};

/// A bit for each byte that is not 0.
#[inline(always)]
fn occupied_of_eight(pits: [u8; 8]) -> u32 {
    const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let word = u64::from_le_bytes(pits);
    // The top bit of each byte: it is set already, or becomes so when 127 is added to something in the bits below.
    let top_bits = (((word & LOW_BITS) + LOW_BITS) | word) & !LOW_BITS;
    // Multiplying moves the top bits, seven places apart each, next to each other into the highest byte.
    (top_bits.wrapping_mul(0x0002_0408_1020_4081) >> 56) as u32
}

impl FromIterator<u8> for PitSet {
    fn from_iter<I: IntoIterator<Item = u8>>(pits: I) -> PitSet {
        pits.into_iter().fold(PitSet::EMPTY, |set, pit| set | PitSet::of(pit))
    }
}

impl BitOr for PitSet {
    type Output = PitSet;
    #[inline]
    fn bitor(self, other: PitSet) -> PitSet {
        PitSet(self.0 | other.0)
    }
}

impl BitAnd for PitSet {
    type Output = PitSet;
    #[inline]
    fn bitand(self, other: PitSet) -> PitSet {
        PitSet(self.0 & other.0)
    }
}

impl BitXor for PitSet {
    type Output = PitSet;
    #[inline]
    fn bitxor(self, other: PitSet) -> PitSet {
        PitSet(self.0 ^ other.0)
    }
}

impl Sub for PitSet {
    type Output = PitSet;
    #[inline]
    fn sub(self, other: PitSet) -> PitSet {
        PitSet(self.0 & !other.0)
    }
}

/// Indices joined by `+`, as in move text.
impl fmt::Display for PitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, pit) in self.iter().enumerate() {
            write!(f, "{}{pit}", if n == 0 { "" } else { "+" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for PitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupied_pits_are_those_with_seeds() {
        for seeds in [1, 2, 127, 128, 255] {
            for set in (0..1 << MAX_PITS).step_by(777).chain([0, (1 << MAX_PITS) - 1]).map(PitSet) {
                let pits = std::array::from_fn(|pit| if set.has(pit as u8) { seeds } else { 0 });
                assert_eq!(PitSet::occupied(&pits), set);
            }
        }
    }

    #[test]
    fn pits_are_counted_from_the_lowest() {
        for set in (1..1 << 12).flat_map(|bits| [bits, bits << 8, bits << 20]).map(PitSet) {
            let counted: Vec<_> = (0..set.len()).map(|n| set.nth(n)).collect();
            assert_eq!(counted, set.iter().collect::<Vec<_>>());
        }
    }
}
