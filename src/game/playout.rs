//! Random playouts: games in which every move is drawn from the legal ones.

use super::observer::Observer;
use super::{Dice, Outcome, Record};

/// Plays a record to its end and says how it ended. `None`: the guards are off, and after `limit` plies it has not ended.
pub fn playout(record: &mut Record, limit: u32, dice: &mut impl Dice) -> Option<Outcome> {
    playout_observed(record, limit, dice, &mut ())
}

/// [`playout`], watched.
pub fn playout_observed(record: &mut Record, limit: u32, dice: &mut impl Dice, observer: &mut impl Observer) -> Option<Outcome> {
    for _ in 0..limit {
        let Some(mv) = record.rules().sample(record.position(), dice) else { break };
        record.play(mv, observer).expect("a drawn move is legal");
    }
    record.position().outcome()
}
