//! Sessions as folds of their events, and records of them.
#![cfg(feature = "server")]

mod matches;
mod model;
mod records;
mod seats;

#[path = "../support/game.rs"]
mod game;
#[path = "../support/histories.rs"]
mod histories;
