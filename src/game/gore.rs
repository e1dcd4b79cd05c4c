//! Goré: no relay, captures of two and four, and pits that are traded for seeds.
#![doc = include_str!("pages/gore.md")]

use super::observer::{Observer, Step};
use super::sowing::{Laps, Sowing, laps};
use super::variant::{Ply, Variant, check_sowing};
use super::{Dice, EndReason, Game, IllegalMove, MAX_PITS, Move, OptionSpec, Phase, PitSet, Position, Ring, Seat};

const RING: Ring = Ring { row: 4 };
static LAPS: Laps<8, 49, 8> = laps(false);
const SOWING: Sowing<8, 49, 8> = Sowing { table: &LAPS, skip_origin: false };

/// Seeds that are paid for one pit.
pub const PIT_PRICE: u8 = 6;
/// The most pits in one offer.
pub const MAX_OFFER: u32 = 3;

/// The rules of Goré. No options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Gore;

/// Seeds that an acceptor pays for these pits.
#[must_use]
pub fn price(pits: PitSet) -> u8 {
    pits.len() as u8 * PIT_PRICE
}

impl Variant for Gore {
    const GAME: Game = Game::Gore;
    const OPTIONS: &'static [OptionSpec] = &[];
    /// An accepted trade puts seeds back on the board.
    const CAPTURES_ARE_FINAL: bool = false;

    fn option(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn set_option(&mut self, _: &str, _: usize) {}

    fn start(&self, first: Seat) -> Position {
        let mut pits = [0; MAX_PITS];
        pits[..8].fill(6);
        Position::new(Game::Gore, pits, first, Phase::Sow)
    }

    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove> {
        match (p.phase, *mv) {
            (_, Move::Redistribute(_)) => Err(IllegalMove::NotInThisGame { game: p.game, given: mv.kind() }),
            (Phase::Answer(pits), Move::Answer { accept }) => {
                if accept && p.banks[p.to_act] < price(pits) {
                    return Err(IllegalMove::TradeNotAffordable { price: price(pits), bank: p.banks[p.to_act], payer: p.to_act });
                }
                Ok(())
            }
            (Phase::Sow, Move::Answer { .. }) if must_pass(p) => Err(IllegalMove::MustPass { seat: p.to_act }),
            (Phase::Answer(_), _) | (_, Move::Answer { .. }) => Err(IllegalMove::WrongPhase { phase: p.phase, given: mv.kind() }),
            (_, Move::Pass) if must_pass(p) => Ok(()),
            (_, Move::Pass) => Err(IllegalMove::CannotPass { seat: p.to_act }),
            (_, Move::Sow { .. } | Move::Offer(_)) if must_pass(p) => Err(IllegalMove::MustPass { seat: p.to_act }),
            (_, Move::Sow { pit, seeds }) => check_sowing(p, pit, seeds),
            (_, Move::Offer(pits)) => check_offer(p, pits),
        }
    }

    #[inline]
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move)) {
        match p.phase {
            Phase::Answer(_) => {
                visit(Move::Answer { accept: true });
                visit(Move::Answer { accept: false });
            }
            _ if must_pass(p) => visit(Move::Pass),
            _ => {
                sowable(p).iter().for_each(|pit| visit(Move::sow(pit)));
                let own = p.controlled(p.to_act);
                offers(p).iter().for_each(|&chosen| visit(Move::Offer(picked(own, chosen))));
            }
        }
    }

    #[inline]
    fn draw(&self, p: &Position, dice: &mut impl Dice) -> Option<Move> {
        match p.phase {
            Phase::Over(_) => return None,
            Phase::Answer(_) => return Some(Move::Answer { accept: dice.below(2) == 0 }),
            _ => {}
        }
        let (sowable, offers) = (sowable(p), offers(p));
        let sowings = sowable.len() as usize;
        if sowings == 0 {
            // The pass is drawn, too, like any other move.
            dice.below(1);
            return Some(Move::Pass);
        }
        let drawn = dice.below((sowings + offers.len()) as u64) as usize;
        Some(if drawn < sowings {
            Move::sow(sowable.nth(drawn as u32))
        } else {
            Move::Offer(picked(p.controlled(p.to_act), offers[drawn - sowings]))
        })
    }

    #[inline]
    fn play(&self, p: &mut Position, mv: Move, observer: &mut impl Observer) -> Ply {
        let (seat, other) = (p.to_act, p.to_act.other());
        let mut ply = Ply::default();
        match (mv, p.phase) {
            (Move::Sow { pit, .. }, _) => {
                ply.captured = sow(p, pit, observer);
                p.to_act = other;
            }
            (Move::Offer(pits), _) => {
                p.phase = Phase::Answer(pits);
                p.to_act = other;
            }
            (Move::Answer { accept }, Phase::Answer(pits)) => {
                if accept {
                    trade(p, pits, observer);
                } else {
                    p.refused[seat] = true;
                }
                p.phase = Phase::Sow;
            }
            _ => p.to_act = other,
        }
        self.settle(p, observer);
        ply
    }

    #[inline]
    fn end(&self, p: &Position) -> Option<EndReason> {
        // All eight pits at once: a pit's top bit shows up where it holds three or more, of at most 48.
        let (pits, _) = p.pits.as_chunks::<8>();
        let three_or_more = (u64::from_le_bytes(pits[0]) + (0x80 - 3) * 0x0101_0101_0101_0101) & 0x8080_8080_8080_8080;
        (three_or_more == 0).then_some(EndReason::AllBelowThree)
    }

    fn leftovers_to(&self, p: &Position, pit: u8, _: EndReason) -> Option<Seat> {
        Some(p.controller(pit))
    }
}

/// The pits that the seat to act can sow from.
#[inline]
fn sowable(p: &Position) -> PitSet {
    p.controlled(p.to_act) & p.occupied()
}

fn must_pass(p: &Position) -> bool {
    sowable(p).is_empty()
}

fn check_offer(p: &Position, pits: PitSet) -> Result<(), IllegalMove> {
    let own = p.controlled(p.to_act);
    if pits.is_empty() || pits.len() > MAX_OFFER {
        return Err(IllegalMove::TradeSize { pits: pits.len(), most: MAX_OFFER });
    }
    if let Some(pit) = (pits - RING.all()).iter().next() {
        return Err(IllegalMove::PitOffBoard { pit, pits: RING.pits() });
    }
    if let Some(pit) = (pits - own).iter().next() {
        return Err(IllegalMove::PitNotYours { pit, seat: p.to_act, owner: p.to_act.other() });
    }
    if pits == own {
        return Err(IllegalMove::TradeKeepsNoPit { pits: pits.len(), seat: p.to_act });
    }
    let payer = p.to_act.other();
    if p.banks[payer] < price(pits) {
        return Err(IllegalMove::TradeNotAffordable { price: price(pits), bank: p.banks[payer], payer });
    }
    Ok(())
}

/// A choice of one to three of the pits that a seat controls: bit `n` is the one with `n` smaller ones.
type Choice = u8;

/// For each number of pits all choices: ones, then twos, then threes, each in the order of their pits.
static CHOICES: [[Choice; 92]; 9] = {
    let mut table = [[0; 92]; 9];
    let mut pits = 0;
    while pits <= 8 {
        let mut count = 0;
        let mut size = 1;
        while size <= MAX_OFFER {
            // In descending order of the mirrored bits, which is the ascending one of the lists of pits.
            let mut mirrored = u8::MAX;
            while mirrored > 0 {
                let choice = mirrored.reverse_bits();
                if choice.count_ones() == size && (choice as u32) < 1 << pits {
                    table[pits][count] = choice;
                    count += 1;
                }
                mirrored -= 1;
            }
            size += 1;
        }
        pits += 1;
    }
    table
};

/// How many of the [`CHOICES`] have at most so many pits: of each number of pits, those of none, one, two or three.
static CHOICES_UP_TO: [[usize; 4]; 9] = [
    [0, 0, 0, 0],
    [0, 1, 1, 1],
    [0, 2, 3, 3],
    [0, 3, 6, 7],
    [0, 4, 10, 14],
    [0, 5, 15, 25],
    [0, 6, 21, 41],
    [0, 7, 28, 63],
    [0, 8, 36, 92],
];

/// The offers that the seat to act can make.
#[inline]
fn offers(p: &Position) -> &'static [Choice] {
    let own = p.controlled(p.to_act).len();
    let most = u32::from(p.banks[p.to_act.other()] / PIT_PRICE).min(MAX_OFFER).min(own.saturating_sub(1));
    &CHOICES[own as usize][..CHOICES_UP_TO[own as usize][most as usize]]
}

/// The pits of a choice.
#[inline(always)]
fn picked(own: PitSet, choice: Choice) -> PitSet {
    let mut left = choice;
    let mut pits = PitSet::EMPTY;
    while left != 0 {
        pits = pits | PitSet::of(own.nth(left.trailing_zeros()));
        left &= left - 1;
    }
    pits
}

/// Rules 3 and 4.
#[inline]
fn sow(p: &mut Position, pit: u8, observer: &mut impl Observer) -> u8 {
    let last = SOWING.lap(&mut p.pits, pit, false, observer);
    if p.controller(last) == p.to_act || !is_catch(p.seeds(last)) {
        return 0;
    }
    let mut captured = p.capture(last, observer);
    for onward in [Ring::next, Ring::previous] {
        let mut at = onward(RING, last);
        while is_catch(p.seeds(at)) {
            captured += p.capture(at, observer);
            at = onward(RING, at);
        }
    }
    captured
}

fn is_catch(seeds: u8) -> bool {
    seeds == 2 || seeds == 4
}

/// Rule 5: the seat to act takes the pits and pays six of its seeds into each.
fn trade(p: &mut Position, pits: PitSet, observer: &mut impl Observer) {
    let seat = p.to_act;
    p.north_controls = match seat {
        Seat::North => p.north_controls | pits,
        Seat::South => p.north_controls - pits,
    };
    observer.step(Step::Transfer { pits, to: seat });
    for pit in pits.iter() {
        p.pits[usize::from(pit)] += PIT_PRICE;
        p.banks[seat] -= PIT_PRICE;
        observer.step(Step::Place { pit, seeds: PIT_PRICE, from_bank: Some(seat) });
    }
}
