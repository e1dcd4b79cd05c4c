//! Kiothi by hand.

use super::relay::Relay;
use super::{Board, Same, SinceCapture};
use mancala::game::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kiothi {
    pub pits: [u8; 20],
    pub marked: [bool; 20],
    pub banks: [u8; 2],
    pub seat: usize,
    pub phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Open1,
    Open2,
    Sow,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Sow { pit: usize, seeds: u8 },
    Redistribute { emptied: [usize; 2], placed: [u8; 20] },
}

impl Board for Kiothi {
    type Move = Move;
    type History = SinceCapture<Kiothi>;
    const QUIET: u32 = 200;

    fn start() -> Kiothi {
        let mut pits = [0; 20];
        pits[4..10].fill(5);
        pits[14..20].fill(5);
        Kiothi { pits, ..Kiothi::default() }
    }

    #[inline]
    fn draw(&self, dice: &mut impl Dice) -> Move {
        if self.phase != Phase::Sow {
            return self.draw_opening(dice);
        }
        let row = self.seat * 10..self.seat * 10 + 10;
        let mut moves = [(0, 0); 60];
        let mut count = 0;
        for pit in row.clone() {
            let held = self.pits[pit];
            let mut last = pit;
            for seeds in 1..=held {
                last = if last == 19 { 0 } else { last + 1 };
                // After once round every pit has had a seed, but the one that was emptied by twenty.
                let is_free = if seeds < 20 { self.pits[last] == 0 } else { seeds == 20 && held == 20 };
                if is_free || !row.contains(&last) {
                    moves[count] = (pit, seeds);
                    count += 1;
                }
            }
        }
        let (pit, seeds) = moves[dice.below(count as u64) as usize];
        Move::Sow { pit, seeds }
    }

    #[inline]
    fn play(&mut self, mv: Move) -> u8 {
        let mut captured = 0;
        match mv {
            Move::Sow { pit, seeds } => {
                captured = self.sow(pit, seeds);
                self.banks[self.seat] += captured;
            }
            Move::Redistribute { emptied, placed } => self.redistribute(emptied, &placed),
        }
        self.seat = 1 - self.seat;
        if self.phase == Phase::Sow && self.pits[self.seat * 10..self.seat * 10 + 10].iter().all(|&seeds| seeds == 0) {
            self.banks[1 - self.seat] += self.pits.iter().sum::<u8>();
            self.pits = [0; 20];
            self.phase = Phase::Over;
        }
        captured
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn stop(&mut self) {
        for seat in 0..2 {
            self.banks[seat] += self.pits[seat * 10..seat * 10 + 10].iter().sum::<u8>();
        }
        self.pits = [0; 20];
        self.phase = Phase::Over;
    }
}

impl Kiothi {
    /// Sows and takes what is captured off the board. An endless sowing changes nothing.
    #[inline(always)]
    fn sow(&mut self, pit: usize, seeds: u8) -> u8 {
        let before = *self;
        let mut relay = Relay::new();
        let mut last = self.lap(pit, seeds);
        while self.pits[last] > 1 {
            if relay.is_endless(&self.pits, last) {
                *self = before;
                return 0;
            }
            last = self.lap(last, self.pits[last]);
        }
        let opposite = 19 - last;
        if last / 10 != self.seat || !self.is_prey(opposite) {
            return 0;
        }
        let mut captured = self.pits[opposite] + 1;
        self.pits[opposite] = 0;
        self.pits[last] = 0;
        if last.is_multiple_of(10) && (opposite - 3..opposite).all(|pit| self.is_prey(pit)) {
            for pit in opposite - 3..opposite {
                captured += self.pits[pit];
                self.pits[pit] = 0;
            }
        }
        captured
    }

    #[inline(always)]
    fn lap(&mut self, origin: usize, hand: u8) -> usize {
        self.marked[origin] = false;
        self.pits[origin] -= hand;
        let mut at = origin;
        for _ in 0..hand {
            at = if at == 19 { 0 } else { at + 1 };
            self.pits[at] += 1;
        }
        at
    }

    #[inline(always)]
    fn is_prey(&self, pit: usize) -> bool {
        self.pits[pit] > 0 && !self.marked[pit]
    }

    /// A pair of pits, each as often as there are ways to place its seeds, and then a way to place them: bars between pits.
    #[cold]
    fn draw_opening(&self, dice: &mut impl Dice) -> Move {
        let own: Vec<_> = (self.seat * 10..self.seat * 10 + 10).filter(|&pit| self.pits[pit] > 0).collect();
        let pairs = || own.iter().enumerate().flat_map(|(n, &a)| own[n + 1..].iter().map(move |&b| (a, b)));
        let seeds_of = |(a, b): (usize, usize)| u64::from(self.pits[a] + self.pits[b]);
        let mut left = dice.below(pairs().map(|pair| placements(seeds_of(pair))).sum());
        let drawn = pairs().find(|&pair| {
            let here = placements(seeds_of(pair));
            let found = left < here;
            left = left.wrapping_sub(here);
            found
        });
        let (a, b) = drawn.expect("a pair");
        let mut placed = [0; 20];
        let (mut bars, mut pit) = (19, 0);
        for marks in (1..=seeds_of((a, b)) + 19).rev() {
            if dice.below(marks) < bars {
                bars -= 1;
                pit += 1;
            } else {
                placed[pit] += 1;
            }
        }
        Move::Redistribute { emptied: [a, b], placed }
    }

    fn redistribute(&mut self, emptied: [usize; 2], placed: &[u8; 20]) {
        for pit in emptied {
            self.pits[pit] = 0;
        }
        for (pit, seeds) in placed.iter().enumerate() {
            self.pits[pit] += seeds;
        }
        if self.phase == Phase::Open1 {
            self.phase = Phase::Open2;
        } else {
            self.phase = Phase::Sow;
            self.marked = self.pits.map(|seeds| seeds > 0);
        }
    }
}

impl Same for Kiothi {
    #[inline]
    fn same(&self, other: &Kiothi) -> bool {
        self.pits == other.pits && self.seat == other.seat && self.marked == other.marked && self.phase == other.phase
    }
}

/// C(seeds + 19, 19).
fn placements(seeds: u64) -> u64 {
    (1..=seeds).fold(1u128, |ways, n| ways * u128::from(n + 19) / u128::from(n)) as u64
}
