//! Counts of move sequences, by which implementations of rules are compared.

use super::{Position, Rules};
use thiserror::Error;

/// A redistribution comes up, and those are too many to count one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("Kiothi's opening redistributions can't be enumerated; start from a position after them")]
pub struct OpeningNotCounted;

/// How many sequences of `depth` legal moves there are from a position. Offers, answers and passes are moves; a game that is over
/// has none; guards are off.
///
/// # Errors
/// When a position on the way is one of Kiothi's openings.
pub fn perft(rules: &Rules, position: &Position, depth: u32) -> Result<u64, OpeningNotCounted> {
    if depth == 0 {
        return Ok(1);
    }
    if rules.redistributions(position).is_some() {
        return Err(OpeningNotCounted);
    }
    let mut count = 0;
    for mv in rules.legal_moves(position) {
        let legal = rules.check(position, mv).expect("a listed move is legal");
        count += if depth == 1 { 1 } else { perft(rules, &legal.play(&mut ()).0, depth - 1)? };
    }
    Ok(count)
}
