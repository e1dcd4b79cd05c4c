//! How often each position of a game has occurred.

use super::{MAX_PITS, Phase, PitSet, Position, Seat};

/// What makes two positions the same for the guard `repetition`, in as few words as it takes: it is written and compared in every ply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sameness([u64; 4]);

impl Sameness {
    #[inline]
    fn of(p: &Position) -> Sameness {
        let (words, rest) = p.pits.as_chunks::<8>();
        let (phase, offered) = match p.phase {
            Phase::Sow => (0, PitSet::EMPTY),
            Phase::Open1 => (1, PitSet::EMPTY),
            Phase::Open2 => (2, PitSet::EMPTY),
            Phase::Bonus => (3, PitSet::EMPTY),
            Phase::Answer(pits) => (4, pits),
            Phase::Over(_) => (5, PitSet::EMPTY),
        };
        let mut last = [0, 0, 0, 0, p.banks[Seat::South], p.banks[Seat::North], p.to_act as u8, phase];
        last[..rest.len()].copy_from_slice(rest);
        let sets = p.north_controls.bits() | p.marked.bits() << MAX_PITS | offered.bits() << (2 * MAX_PITS);
        Sameness([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]), u64::from_le_bytes(last), sets])
    }

    /// In which of so many buckets it belongs, a power of two. Four products that need not wait for each other; their sum is well mixed at
    /// its upper end.
    #[inline]
    fn bucket(&self, buckets: usize) -> usize {
        const FACTORS: [u64; 4] = [0x9E37_79B9_7F4A_7C15, 0xD134_2543_DE82_EF95, 0xA24B_AED4_963E_E407, 0xBF58_476D_1CE4_E5B9];
        let mixed = self.0.iter().zip(FACTORS).fold(0u64, |sum, (word, factor)| sum.wrapping_add(word.wrapping_mul(factor)));
        (mixed >> (u64::BITS - buckets.trailing_zeros())) as usize
    }
}

/// Buckets at first: enough for most games of four of the five.
const BUCKETS: usize = 128;

/// How often positions have occurred. Entries are compared whole, so that a guard never errs; they are found by chains through
/// buckets, which become more as entries do, so that long games stay cheap.
#[derive(Debug, Clone)]
pub(super) struct Occurrences {
    entries: Vec<Entry>,
    /// For each bucket its newest entry's place plus one.
    newest: Vec<u32>,
    /// Entries before this place are of the past and can't come back.
    from: u32,
}

#[derive(Debug, Clone)]
struct Entry {
    what: Sameness,
    times: u32,
    /// The bucket's entry before this one, its place plus one.
    older: u32,
}

impl Default for Occurrences {
    fn default() -> Occurrences {
        Occurrences { entries: Vec::new(), newest: vec![0; BUCKETS], from: 0 }
    }
}

impl Occurrences {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.newest.truncate(BUCKETS);
        self.newest.fill(0);
        self.from = 0;
    }

    /// Leaves behind all that occurred so far.
    pub(super) fn forget(&mut self) {
        self.from = self.entries.len() as u32;
    }

    /// Counts one more occurrence, and says how many that makes.
    #[inline]
    pub(super) fn count(&mut self, position: &Position) -> u32 {
        let what = Sameness::of(position);
        if let Some(place) = self.find(&what) {
            let times = &mut self.entries[place].times;
            *times += 1;
            return *times;
        }
        if self.entries.len() - self.from as usize >= self.newest.len() {
            self.grow();
        }
        let buckets = self.newest.len();
        let newest = &mut self.newest[what.bucket(buckets)];
        self.entries.push(Entry { what, times: 1, older: *newest });
        *newest = self.entries.len() as u32;
        1
    }

    /// How often a position has occurred.
    pub(super) fn times(&self, position: &Position) -> u32 {
        self.find(&Sameness::of(position)).map_or(0, |place| self.entries[place].times)
    }

    #[inline]
    fn find(&self, what: &Sameness) -> Option<usize> {
        let mut place = self.newest[what.bucket(self.newest.len())];
        while place > self.from {
            let entry = &self.entries[place as usize - 1];
            if entry.what == *what {
                return Some(place as usize - 1);
            }
            place = entry.older;
        }
        None
    }

    /// Twice as many buckets.
    #[cold]
    fn grow(&mut self) {
        let buckets = 2 * self.newest.len();
        self.newest.clear();
        self.newest.resize(buckets, 0);
        for (place, entry) in (1..).zip(&mut self.entries).skip(self.from as usize) {
            entry.older = std::mem::replace(&mut self.newest[entry.what.bucket(buckets)], place);
        }
    }
}
