//! Goré by hand.

use super::{Board, Hashed, Key};
use mancala::game::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gore {
    pub pits: [u8; 8],
    pub banks: [u8; 2],
    pub seat: usize,
    /// For each pit who controls it.
    pub controller: [usize; 8],
    /// The pits on offer, as bits; 0: none.
    pub offer: u8,
    pub refused: [bool; 2],
    pub over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Sow(usize),
    /// These pits, as bits.
    Offer(u8),
    Answer(bool),
    Pass,
}

impl Board for Gore {
    type Move = Move;
    type History = Hashed;
    const QUIET: u32 = 200;

    fn start() -> Gore {
        Gore { pits: [6; 8], controller: [0, 0, 0, 0, 1, 1, 1, 1], ..Gore::default() }
    }

    #[inline]
    fn draw(&self, dice: &mut impl Dice) -> Move {
        if self.offer != 0 {
            return Move::Answer(dice.below(2) == 0);
        }
        let (mut own, mut sowable) = ([0; 8], [0; 8]);
        let (mut owned, mut sowings) = (0, 0);
        for pit in 0..8 {
            if self.controller[pit] == self.seat {
                own[owned] = pit;
                owned += 1;
                if self.pits[pit] > 0 {
                    sowable[sowings] = pit;
                    sowings += 1;
                }
            }
        }
        if sowings == 0 {
            dice.below(1);
            return Move::Pass;
        }
        let most = (usize::from(self.banks[1 - self.seat]) / 6).min(owned - 1).min(3);
        let ones = if most >= 1 { owned } else { 0 };
        let twos = if most >= 2 { owned * (owned - 1) / 2 } else { 0 };
        let threes = if most >= 3 { owned * (owned - 1) * (owned - 2) / 6 } else { 0 };
        let drawn = dice.below((sowings + ones + twos + threes) as u64) as usize;
        if drawn < sowings { Move::Sow(sowable[drawn]) } else { Move::Offer(offer(&own[..owned], drawn - sowings)) }
    }

    #[inline]
    fn play(&mut self, mv: Move) -> u8 {
        let mut captured = 0;
        match mv {
            Move::Sow(pit) => {
                captured = self.sow(pit);
                self.banks[self.seat] += captured;
                self.seat = 1 - self.seat;
            }
            Move::Offer(pits) => {
                self.offer = pits;
                self.seat = 1 - self.seat;
            }
            Move::Answer(true) => {
                for pit in 0..8 {
                    if self.offer >> pit & 1 == 1 {
                        self.controller[pit] = self.seat;
                        self.pits[pit] += 6;
                        self.banks[self.seat] -= 6;
                    }
                }
                self.offer = 0;
            }
            Move::Answer(false) => {
                self.refused[self.seat] = true;
                self.offer = 0;
            }
            Move::Pass => self.seat = 1 - self.seat,
        }
        if self.pits.iter().all(|&seeds| seeds < 3) {
            self.stop();
        }
        captured
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn stop(&mut self) {
        for pit in 0..8 {
            self.banks[self.controller[pit]] += self.pits[pit];
        }
        self.pits = [0; 8];
        self.offer = 0;
        self.over = true;
    }

    fn can_be_quiet(mv: Move) -> bool {
        !matches!(mv, Move::Answer(_))
    }
}

impl Gore {
    #[inline(always)]
    fn sow(&mut self, pit: usize) -> u8 {
        let hand = self.pits[pit];
        self.pits[pit] = 0;
        let mut last = pit;
        for _ in 0..hand {
            last = (last + 1) % 8;
            self.pits[last] += 1;
        }
        if self.controller[last] == self.seat || !is_catch(self.pits[last]) {
            return 0;
        }
        let mut captured = self.take(last);
        let mut at = (last + 1) % 8;
        while is_catch(self.pits[at]) {
            captured += self.take(at);
            at = (at + 1) % 8;
        }
        at = (last + 7) % 8;
        while is_catch(self.pits[at]) {
            captured += self.take(at);
            at = (at + 7) % 8;
        }
        captured
    }

    #[inline(always)]
    fn take(&mut self, pit: usize) -> u8 {
        std::mem::take(&mut self.pits[pit])
    }
}

#[inline(always)]
fn is_catch(seeds: u8) -> bool {
    seeds == 2 || seeds == 4
}

/// The offer of this number: single pits first, then twos, then threes.
#[inline]
fn offer(own: &[usize], mut number: usize) -> u8 {
    for &a in own {
        if number == 0 {
            return 1 << a;
        }
        number -= 1;
    }
    for (n, &a) in own.iter().enumerate() {
        let here = own.len() - n - 1;
        if number < here {
            return 1 << a | 1 << own[n + 1 + number];
        }
        number -= here;
    }
    for (n, &a) in own.iter().enumerate() {
        for (m, &b) in own.iter().enumerate().skip(n + 1) {
            let here = own.len() - m - 1;
            if number < here {
                return 1 << a | 1 << b | 1 << own[m + 1 + number];
            }
            number -= here;
        }
    }
    unreachable!("there are as many offers as were counted")
}

impl Key for Gore {
    /// An accepted trade puts seeds back on the board.
    const CAPTURES_ARE_FINAL: bool = false;

    #[inline]
    fn key(&self) -> [u64; 2] {
        let north = (0..8).fold(0, |bits, pit| bits | (self.controller[pit] as u8) << pit);
        let rest = [self.banks[0], self.banks[1], self.seat as u8, north, self.offer, 0, 0, 0];
        [u64::from_le_bytes(self.pits), u64::from_le_bytes(rest)]
    }
}
