//! The battery: clients play against servers to which everything happens, write down in a ledger what they asked for and were told,
//! and an auditor holds what is stored against that.
//!
//! Every run prints its seed; MANCALA_TEST_SEED repeats one. MANCALA_TEST_LONG=1 runs the long form, in which random schedules take an
//! hour, or as many seconds as MANCALA_TEST_SECONDS says.

#![cfg(all(feature = "server", unix))]

#[macro_use]
#[path = "../support/form.rs"]
mod form;

mod audit;
mod audit_tests;
mod call;
mod database;
mod door;
mod fault;
mod faulty;
mod fleet;
#[path = "../../fuzz/src/memory_store.rs"]
mod fuzzed;
mod ground;
mod kills;
mod ledger;
mod linear;
mod linear_tests;
mod machine;
mod mutants;
mod plan;
mod player;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/proxy/mod.rs"]
mod proxy;
mod random;
mod remote;
mod rows;
mod same;
#[path = "../support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
mod schedule;
mod series;
mod served;
mod story;
mod trouble;
mod watcher;
mod weather;
#[path = "../support/wrapped_store.rs"]
mod wrapped_store;

use form::{by_form, number};
use std::time::Duration;

/// How long to go on: as MANCALA_TEST_SECONDS says, or so many seconds in the short and in the long form.
fn seconds(short: u64, long: u64) -> Duration {
    Duration::from_secs(number("MANCALA_TEST_SECONDS").unwrap_or(by_form(short, long)))
}
