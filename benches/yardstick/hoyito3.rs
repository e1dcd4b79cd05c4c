//! Hoyito III by hand.

use super::relay::Relay;
use super::{Board, Hashed, Key};
use mancala::game::Dice;

/// The move of a seat that has nothing to sow.
pub const PASS: usize = usize::MAX;
/// All seeds.
const SEEDS: u8 = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hoyito3 {
    pub pits: [u8; 12],
    pub banks: [u8; 2],
    pub seat: usize,
    pub over: bool,
}

impl Board for Hoyito3 {
    type Move = usize;
    type History = Hashed;
    const QUIET: u32 = 400;

    fn start() -> Hoyito3 {
        Hoyito3 { pits: [4; 12], ..Hoyito3::default() }
    }

    #[inline]
    fn draw(&self, dice: &mut impl Dice) -> usize {
        let mut moves = [0; 6];
        let mut count = 0;
        for pit in self.seat * 6..self.seat * 6 + 6 {
            if self.pits[pit] > 0 {
                moves[count] = pit;
                count += 1;
            }
        }
        if count == 0 {
            dice.below(1);
            return PASS;
        }
        moves[dice.below(count as u64) as usize]
    }

    #[inline]
    fn play(&mut self, pit: usize) -> u8 {
        let captured = if pit == PASS { 0 } else { sow(&mut self.pits, pit) };
        self.banks[self.seat] += captured;
        if captured > 0 && self.banks[0] + self.banks[1] == SEEDS - 4 {
            self.banks[self.seat] += 4;
            let again = !self.is_row_empty(self.seat);
            self.pits = [0; 12];
            self.over = true;
            self.seat = if again { self.seat } else { 1 - self.seat };
        } else if captured == 0 || self.is_row_empty(self.seat) {
            self.seat = 1 - self.seat;
        }
        captured
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn stop(&mut self) {
        for seat in 0..2 {
            self.banks[seat] += self.pits[seat * 6..seat * 6 + 6].iter().sum::<u8>();
        }
        self.pits = [0; 12];
        self.over = true;
    }
}

impl Hoyito3 {
    #[inline]
    fn is_row_empty(&self, seat: usize) -> bool {
        self.pits[seat * 6..seat * 6 + 6].iter().all(|&seeds| seeds == 0)
    }
}

impl Key for Hoyito3 {
    const CAPTURES_ARE_FINAL: bool = true;

    #[inline]
    fn key(&self) -> [u64; 2] {
        let [p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11] = self.pits;
        [u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7]), u64::from_le_bytes([p8, p9, p10, p11, self.seat as u8, 0, 0, 0])]
    }
}

/// Sows, and takes four off the board if a lap ends so. An endless sowing changes nothing.
#[inline(always)]
fn sow(pits: &mut [u8; 12], pit: usize) -> u8 {
    let before = *pits;
    let mut relay = Relay::new();
    let mut last = lap(pits, pit);
    loop {
        if pits[last] == 4 {
            pits[last] = 0;
            return 4;
        }
        if pits[last] == 1 {
            return 0;
        }
        if relay.is_endless(pits, last) {
            *pits = before;
            return 0;
        }
        last = lap(pits, last);
    }
}

#[inline(always)]
fn lap(pits: &mut [u8; 12], origin: usize) -> usize {
    let hand = pits[origin];
    pits[origin] = 0;
    let mut at = origin;
    for _ in 0..hand {
        at = if at == 11 { 0 } else { at + 1 };
        pits[at] += 1;
    }
    at
}
