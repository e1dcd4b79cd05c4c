//! What the pages of the rules say of guards and matches, word by word.

use super::reference::Played;
use mancala::game::{EndReason, Game, Guards, Move, Phase, Position, Rules, Seat, SetUp, SetUpPit};
use mancala::session::{Cause, MatchResult};

fn set_up(position: &Position) -> SetUp {
    position.to_string().parse().expect("what is written can be read")
}

fn option(rules: &Rules, name: &str) -> Option<&'static str> {
    rules.options().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Pits, controllers, marks, banks, seat to act, phase and offer: the text without its keys.
fn sameness(position: &Position) -> String {
    position.to_string().split(' ').take(5).collect::<Vec<_>>().join(" ")
}

/// The position after the last of these moves, or its end if a guard ends it.
pub fn guarded(rules: &Rules, guards: Guards, start: &Position, played: &[Played], after: Position) -> Position {
    if after.is_over() {
        return after;
    }
    let positions = std::iter::once(start).chain(played.iter().map(|played| &played.position));
    let times = positions.filter(|&position| sameness(position) == sameness(&after)).count();
    let quiet = played.iter().rev().take_while(|played| played.captured == 0);
    let quiet = quiet.filter(|played| !matches!(played.mv, Move::Answer { .. })).count();
    let reached = |limit: u32, count: usize| limit > 0 && count >= limit as usize;
    let reason = if reached(guards.repetition, times) {
        EndReason::Repetition
    } else if reached(guards.quiet, quiet) {
        EndReason::Quiet
    } else if reached(guards.max_plies, played.len()) {
        EndReason::MaxPlies
    } else {
        return after;
    };
    // Every seed goes to the seat that controls its pit (Ali Guli Mane: by its option).
    let mut end = set_up(&after);
    end.phase = Phase::Over(reason);
    if option(rules, "leftovers") != Some("uncounted") {
        for seat in Seat::BOTH {
            for pit in 0..end.rows[seat].len() {
                let SetUpPit { seeds, crossed, .. } = std::mem::take(&mut end.rows[seat][pit]);
                let SetUpPit { marked, closed, .. } = set_up(&after).rows[seat][pit];
                end.rows[seat][pit] = SetUpPit { seeds: 0, crossed, marked, closed };
                end.banks[if crossed { seat.other() } else { seat }] += seeds;
            }
        }
    }
    end.position(rules).expect("the end of a game")
}

/// One for a win; in Kiothi more for one by exactly two.
pub fn points(rules: &Rules, result: &MatchResult) -> u32 {
    let played_out = matches!(result.cause, Cause::Rule(_));
    let by_two = result.south.abs_diff(result.north) == 2;
    match option(rules, "two_counter_win") {
        Some(worth) if played_out && by_two => worth.parse().expect("a number"),
        _ => 1,
    }
}

/// Bank and own row.
pub fn holdings(position: &Position) -> [u32; 2] {
    let set_up = set_up(position);
    Seat::BOTH.map(|seat| set_up.rows[seat].iter().map(|pit| u32::from(pit.seeds)).sum::<u32>() + u32::from(set_up.banks[seat]))
}

/// The start of a round, or the seat that can't fill one pit.
pub fn next_start(rules: &Rules, round: u32, starter: Seat, end: &Position, winner: Option<Seat>) -> Result<Position, Seat> {
    let mut start = set_up(&rules.start());
    start.to_act = starter;
    match rules.game() {
        Game::Gore | Game::Ayoayo | Game::Kiothi => {}
        Game::Hoyito3 => start.heir = if round >= 3 { winner } else { None },
        Game::AliGuliMane => {
            let held = holdings(end);
            for seat in Seat::BOTH {
                let mut left = held[seat as usize];
                if left < 5 {
                    return Err(seat);
                }
                for pit in &mut start.rows[seat] {
                    let fills = left >= 5;
                    *pit = SetUpPit { seeds: if fills { 5 } else { 0 }, closed: !fills, ..SetUpPit::default() };
                    left -= if fills { 5 } else { 0 };
                }
                start.banks[seat] = left as u16;
            }
        }
    }
    Ok(start.position(rules).expect("the start of a round"))
}
