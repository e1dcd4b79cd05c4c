//! Ali Guli Mane by hand.

use super::relay::Relay;
use super::{Board, Same, SinceCapture};
use mancala::game::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AliGuliMane {
    pub pits: [u8; 14],
    pub banks: [u8; 2],
    pub seat: usize,
    /// The seat makes its second sowing.
    pub bonus: bool,
    pub over: bool,
}

impl Board for AliGuliMane {
    type Move = usize;
    type History = SinceCapture<AliGuliMane>;
    const QUIET: u32 = 200;

    fn start() -> AliGuliMane {
        AliGuliMane { pits: [5; 14], ..AliGuliMane::default() }
    }

    #[inline]
    fn draw(&self, dice: &mut impl Dice) -> usize {
        let mut moves = [0; 7];
        let mut count = 0;
        for pit in self.seat * 7..self.seat * 7 + 7 {
            if self.pits[pit] > 0 {
                moves[count] = pit;
                count += 1;
            }
        }
        moves[dice.below(count as u64) as usize]
    }

    #[inline]
    fn play(&mut self, pit: usize) -> u8 {
        let captured = sow(&mut self.pits, pit);
        self.banks[self.seat] += captured;
        if captured > 0 && !self.bonus && !self.is_row_empty(self.seat) {
            self.bonus = true;
        } else {
            self.bonus = false;
            self.seat = 1 - self.seat;
            self.over = self.is_row_empty(self.seat);
        }
        captured
    }

    fn is_over(&self) -> bool {
        self.over
    }

    /// What is left counts for nobody.
    fn stop(&mut self) {
        self.over = true;
    }
}

impl AliGuliMane {
    #[inline]
    fn is_row_empty(&self, seat: usize) -> bool {
        self.pits[seat * 7..seat * 7 + 7].iter().all(|&seeds| seeds == 0)
    }
}

impl Same for AliGuliMane {
    #[inline]
    fn same(&self, other: &AliGuliMane) -> bool {
        self.pits == other.pits && self.seat == other.seat && self.bonus == other.bonus
    }
}

/// Sows and takes what is captured off the board. An endless sowing changes nothing.
#[inline(always)]
fn sow(pits: &mut [u8; 14], pit: usize) -> u8 {
    let before = *pits;
    let mut relay = Relay::new();
    let mut after = next(lap(pits, pit));
    while pits[after] > 0 {
        if relay.is_endless(pits, after) {
            *pits = before;
            return 0;
        }
        after = next(lap(pits, after));
    }
    let beyond = next(after);
    let opposite = 13 - beyond;
    let captured = pits[beyond] + pits[opposite];
    pits[beyond] = 0;
    pits[opposite] = 0;
    captured
}

#[inline(always)]
fn next(pit: usize) -> usize {
    if pit == 13 { 0 } else { pit + 1 }
}

#[inline(always)]
fn lap(pits: &mut [u8; 14], origin: usize) -> usize {
    let hand = pits[origin];
    pits[origin] = 0;
    let mut at = origin;
    for _ in 0..hand {
        at = next(at);
        pits[at] += 1;
    }
    at
}
