//! The rules of the games, as the library alone has them.

mod counts;
mod guards;
mod illegal_moves;
mod input;
mod properties;
mod rules;
mod set_up_faults;
mod vectors;

#[path = "../support/game_laws.rs"]
mod laws;
#[path = "../support/game_set_ups.rs"]
mod set_ups;
#[path = "../support/game.rs"]
mod support;
