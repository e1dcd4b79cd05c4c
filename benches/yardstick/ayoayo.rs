//! Ayoayo by hand.

use super::relay::Relay;
use super::{Board, Same, SinceCapture};
use mancala::game::Dice;

/// The move of a seat that has nothing to sow.
pub const PASS: usize = usize::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ayoayo {
    pub pits: [u8; 12],
    pub banks: [u8; 2],
    pub seat: usize,
    pub last_sower: Option<usize>,
    pub over: bool,
}

impl Board for Ayoayo {
    type Move = usize;
    type History = SinceCapture<Ayoayo>;
    const QUIET: u32 = 200;

    fn start() -> Ayoayo {
        Ayoayo { pits: [4; 12], ..Ayoayo::default() }
    }

    #[inline]
    fn draw(&self, dice: &mut impl Dice) -> usize {
        let must_feed = self.is_row_empty(1 - self.seat);
        let mut moves = [0; 6];
        let mut count = 0;
        for pit in self.seat * 6..self.seat * 6 + 6 {
            if self.pits[pit] > 0 && (!must_feed || self.feeds(self.seat, pit)) {
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
        let mut captured = 0;
        if pit != PASS {
            captured = sow(&mut self.pits, self.seat, pit).unwrap_or(0);
            self.banks[self.seat] += captured;
            self.last_sower = Some(self.seat);
        }
        self.seat = 1 - self.seat;
        let (own_empty, other_empty) = (self.is_row_empty(self.seat), self.is_row_empty(1 - self.seat));
        if own_empty || other_empty {
            let feeder = if own_empty { 1 - self.seat } else { self.seat };
            if !(feeder * 6..feeder * 6 + 6).any(|pit| self.pits[pit] > 0 && self.feeds(feeder, pit)) {
                self.end();
            }
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

impl Ayoayo {
    #[inline]
    fn is_row_empty(&self, seat: usize) -> bool {
        self.pits[seat * 6..seat * 6 + 6].iter().all(|&seeds| seeds == 0)
    }

    /// Whether the other seat has a seed after this sowing.
    fn feeds(&self, seat: usize, pit: usize) -> bool {
        let mut after = *self;
        sow(&mut after.pits, seat, pit).is_some() && !after.is_row_empty(1 - seat)
    }

    fn end(&mut self) {
        match self.last_sower {
            Some(seat) => {
                self.banks[seat] += self.pits.iter().sum::<u8>();
                self.pits = [0; 12];
                self.over = true;
            }
            None => self.stop(),
        }
    }
}

impl Same for Ayoayo {
    #[inline]
    fn same(&self, other: &Ayoayo) -> bool {
        self.pits == other.pits && self.seat == other.seat
    }
}

/// Sows and takes what is captured off the board; `None`: endless, and nothing has changed.
#[inline(always)]
fn sow(pits: &mut [u8; 12], seat: usize, pit: usize) -> Option<u8> {
    let before = *pits;
    let mut relay = Relay::new();
    let mut last = lap(pits, pit);
    while pits[last] > 1 {
        if relay.is_endless(pits, last) {
            *pits = before;
            return None;
        }
        last = lap(pits, last);
    }
    let opposite = 11 - last;
    if last / 6 != seat || pits[opposite] == 0 {
        return Some(0);
    }
    let captured = pits[opposite] + 1;
    pits[opposite] = 0;
    pits[last] = 0;
    Some(captured)
}

/// One seed a pit, the pit itself passed over.
#[inline(always)]
fn lap(pits: &mut [u8; 12], origin: usize) -> usize {
    let hand = pits[origin];
    pits[origin] = 0;
    let mut at = origin;
    for _ in 0..hand {
        at = next(at);
        // Never so with fewer than twelve seeds.
        if at == origin {
            at = next(at);
        }
        pits[at] += 1;
    }
    at
}

#[inline(always)]
fn next(pit: usize) -> usize {
    if pit == 11 { 0 } else { pit + 1 }
}
