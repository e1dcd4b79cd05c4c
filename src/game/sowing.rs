//! The sowing that all games share: laps as table look-ups, and the judge of endless relays.

use super::observer::{Observer, Step};
use super::{MAX_PITS, Pits};

/// For each pit and each number of seeds lifted from it, what one lap adds to every pit: what falls there, and from the pit
/// itself the hand is taken away (modulo 256).
///
/// A lap is then one addition of `LANES` bytes instead of a loop over seeds. (A loop's end can't be predicted, and a relay has
/// many laps. And to empty the pit by a write of its own would make the addition wait for that write.) `LANES` is 16 where the
/// ring fits, since that is one machine register.
pub(super) type Laps<const RING: usize, const HANDS: usize, const LANES: usize> = [[[u8; LANES]; HANDS]; RING];

/// The next pit that a hand from `origin` drops a seed in.
const fn next_drop(at: usize, origin: usize, ring: usize, skip_origin: bool) -> usize {
    let next = (at + 1) % ring;
    if skip_origin && next == origin { (next + 1) % ring } else { next }
}

/// The table for a ring of `RING` pits and hands below `HANDS` seeds.
pub(super) const fn laps<const RING: usize, const HANDS: usize, const LANES: usize>(
    skip_origin: bool,
) -> Laps<RING, HANDS, LANES> {
    assert!(RING <= LANES && LANES <= MAX_PITS);
    let mut table = [[[0u8; LANES]; HANDS]; RING];
    let mut origin = 0;
    while origin < RING {
        let mut at = origin;
        let mut hand = 1;
        while hand < HANDS {
            at = next_drop(at, origin, RING, skip_origin);
            table[origin][hand] = table[origin][hand - 1];
            table[origin][hand][at] = table[origin][hand][at].wrapping_add(1);
            table[origin][hand][origin] = table[origin][hand][origin].wrapping_sub(1);
            hand += 1;
        }
        origin += 1;
    }
    table
}

/// How hands are sown in a game.
#[derive(Clone, Copy)]
pub(super) struct Sowing<const RING: usize, const HANDS: usize, const LANES: usize> {
    pub(super) table: &'static Laps<RING, HANDS, LANES>,
    /// Whether the pit just emptied is passed over each time round.
    pub(super) skip_origin: bool,
}

impl<const RING: usize, const HANDS: usize, const LANES: usize> Sowing<RING, HANDS, LANES> {
    /// Lifts all seeds of an occupied pit and drops them one by one from the next pit on. Returns where the last one fell.
    #[inline(always)]
    pub(super) fn lap(self, pits: &mut Pits, origin: u8, relay: bool, observer: &mut impl Observer) -> u8 {
        self.lap_of(pits, origin, pits[usize::from(origin)], relay, observer)
    }

    /// The same with some of the pit's seeds, at least one.
    #[inline(always)]
    pub(super) fn lap_of(self, pits: &mut Pits, origin: u8, hand: u8, relay: bool, observer: &mut impl Observer) -> u8 {
        observer.step(Step::Lift { pit: origin, seeds: hand, relay });
        let (origin, hand) = (usize::from(origin), usize::from(hand));
        watch_drops(origin, hand, RING, self.skip_origin, observer);
        let lap = &self.table[origin][hand];
        for (pit, change) in pits[..LANES].iter_mut().zip(lap) {
            *pit = pit.wrapping_add(*change);
        }
        let circuit = if self.skip_origin { RING - 1 } else { RING };
        let steps = if hand <= circuit { hand } else { (hand - 1) % circuit + 1 };
        let last = origin + steps;
        (if last >= RING { last - RING } else { last }) as u8
    }
}

#[inline(always)]
fn watch_drops<O: Observer>(origin: usize, hand: usize, ring: usize, skip_origin: bool, observer: &mut O) {
    if O::WATCHES {
        let mut at = origin;
        for _ in 0..hand {
            at = next_drop(at, origin, ring, skip_origin);
            observer.step(Step::Drop(at as u8));
        }
    }
}

/// Takes the whole content of a pit in hand.
#[inline(always)]
pub(super) fn lift(pits: &mut Pits, pit: u8, relay: bool, observer: &mut impl Observer) -> u8 {
    let seeds = std::mem::take(&mut pits[usize::from(pit)]);
    observer.step(Step::Lift { pit, seeds, relay });
    seeds
}

/// A sowing of more laps than this is endless (ruling in [the common rules](super#relay-sowing)).
pub const MAX_LAPS: u32 = 10_000;

/// Laps that are sown before a judge begins to look for a repetition. Few sowings get that far.
const UNWATCHED_LAPS: u32 = 64;

/// Tells an endless relay from a long one.
///
/// By the ruling a sowing is endless when it comes back to an earlier state or has not ended after [`MAX_LAPS`] laps. One that
/// comes back would never end, so counting laps alone gives the same answer; the repetition is looked for (Brent's algorithm:
/// compare with a state kept at each power of two) only because most endless sowings repeat early and are then cheap.
pub(super) struct RelayJudge {
    laps: u32,
    kept: (Pits, u8),
}

impl RelayJudge {
    #[inline(always)]
    pub(super) fn new() -> RelayJudge {
        RelayJudge { laps: 0, kept: ([0; MAX_PITS], 0) }
    }

    /// Whether the sowing is known to be endless, now that a lap has ended and `pit` is to be lifted next.
    #[inline(always)]
    pub(super) fn is_endless(&mut self, pits: &Pits, pit: u8) -> bool {
        self.laps += 1;
        self.laps > UNWATCHED_LAPS && self.look(pits, pit)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, pits: &Pits, pit: u8) -> bool {
        if self.kept == (*pits, pit) || self.laps >= MAX_LAPS {
            return true;
        }
        if self.laps.is_power_of_two() || self.laps == UNWATCHED_LAPS + 1 {
            self.kept = (*pits, pit);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table look-up is the seed-by-seed sowing that its name says, round the ring and over the origin or not.
    #[test]
    fn a_lap_is_one_seed_a_pit() {
        fn check<const R: usize, const H: usize, const L: usize>(sowing: Sowing<R, H, L>) {
            for origin in 0..R as u8 {
                for hand in 1..H as u8 {
                    let mut pits = [0; MAX_PITS];
                    // One seed more than is lifted stays behind.
                    pits[usize::from(origin)] = hand + 1;
                    let mut by_hand = [0; MAX_PITS];
                    by_hand[usize::from(origin)] = 1;
                    let mut steps = Vec::new();
                    let last = sowing.lap_of(&mut pits, origin, hand, false, &mut steps);
                    assert_eq!(steps.remove(0), Step::Lift { pit: origin, seeds: hand, relay: false });
                    for step in &steps {
                        let Step::Drop(pit) = *step else { panic!("{step:?}") };
                        assert!(!(sowing.skip_origin && pit == origin));
                        by_hand[usize::from(pit)] += 1;
                    }
                    assert_eq!(pits, by_hand);
                    assert_eq!(steps.len(), usize::from(hand));
                    assert_eq!(steps.last(), Some(&Step::Drop(last)), "origin {origin}, hand {hand}");
                }
            }
        }
        static SKIPPING: Laps<12, 49, 16> = laps(true);
        static PLAIN: Laps<20, 61, 20> = laps(false);
        check(Sowing { table: &SKIPPING, skip_origin: true });
        check(Sowing { table: &PLAIN, skip_origin: false });
    }
}
