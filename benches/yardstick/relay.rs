//! When a relay has no end.

/// A sowing of so many laps is endless.
const MAX_LAPS: u32 = 10_000;
/// Laps before anybody looks for a repetition.
const UNWATCHED: u32 = 64;

/// Tells a relay that goes round and round, by the board at the last power of two (Brent), so that few are sown to the last lap.
pub struct Relay<const N: usize> {
    laps: u32,
    kept: ([u8; N], usize),
}

impl<const N: usize> Relay<N> {
    #[inline(always)]
    pub fn new() -> Relay<N> {
        Relay { laps: 0, kept: ([0; N], 0) }
    }

    /// A lap has ended; the next one begins at a pit.
    #[inline(always)]
    pub fn is_endless(&mut self, pits: &[u8; N], pit: usize) -> bool {
        self.laps += 1;
        self.laps > UNWATCHED && self.look(pits, pit)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, pits: &[u8; N], pit: usize) -> bool {
        if self.laps >= MAX_LAPS || self.kept == (*pits, pit) {
            return true;
        }
        if self.laps == UNWATCHED + 1 || self.laps.is_power_of_two() {
            self.kept = (*pits, pit);
        }
        false
    }
}
