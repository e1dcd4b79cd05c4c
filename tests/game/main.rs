//! The rules of the games, as the library alone has them.

#[cfg(feature = "random")]
mod allocations;
mod counts;
mod guards;
mod illegal_moves;
mod input;
mod properties;
mod rules;
mod set_up_faults;
mod slow_text;
#[cfg(feature = "random")]
mod translate;
mod vectors;
#[cfg(feature = "random")]
mod yardstick;

#[cfg(feature = "random")]
#[path = "../../benches/yardstick/mod.rs"]
mod by_hand;

#[path = "../support/game_laws.rs"]
mod laws;
#[path = "../support/game_set_ups.rs"]
mod set_ups;
#[path = "../support/game.rs"]
mod support;
