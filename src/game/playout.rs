//! Random playouts: games in which every move is drawn from the legal ones.

use super::observer::Observer;
use super::rules::with_variant;
use super::variant::Variant;
use super::{Dice, Outcome, Record};

/// Plays a record to its end and says how it ended. `None`: the guards are off, and after `limit` plies it has not ended.
pub fn playout(record: &mut Record, limit: u32, dice: &mut impl Dice) -> Option<Outcome> {
    playout_observed(record, limit, dice, &mut ())
}

/// [`playout`], watched.
pub fn playout_observed(record: &mut Record, limit: u32, dice: &mut impl Dice, observer: &mut impl Observer) -> Option<Outcome> {
    // Games are told apart once a playout, so that each has a loop of its own.
    with_variant!(*record.rules(), variant => play_on(record, &variant, limit, dice, observer));
    record.position().outcome()
}

fn play_on<V: Variant>(record: &mut Record, variant: &V, limit: u32, dice: &mut impl Dice, observer: &mut impl Observer) {
    for _ in 0..limit {
        let Some(mv) = variant.draw(record.position(), dice) else { return };
        record.advance(variant, mv, observer);
    }
}
