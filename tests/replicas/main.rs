//! Replicas on Postgres while things go wrong with their database and with what lies between: clients play by the published retry policy,
//! a ledger keeps what they were told, and an auditor holds what is stored against that.
//!
//! Every run prints its seed; MANCALA_TEST_SEED repeats what clients and faults draw. MANCALA_TEST_LONG=1 runs the long form, of which
//! MANCALA_TEST_SECONDS limits the time that each test goes on.

#![cfg(feature = "server")]

#[macro_use]
#[path = "../support/form.rs"]
mod form;

mod answer;
#[path = "../battery/audit.rs"]
#[allow(dead_code)]
mod audit;
#[path = "../battery/call.rs"]
#[allow(dead_code)]
mod call;
mod client;
mod clocks;
mod cuts;
#[path = "../battery/door.rs"]
#[allow(dead_code)]
mod door;
mod feeds;
mod fleet;
mod judge;
#[path = "../battery/ledger.rs"]
#[allow(dead_code)]
mod ledger;
#[path = "../battery/linear.rs"]
#[allow(dead_code)]
mod linear;
#[path = "../battery/machine.rs"]
#[allow(dead_code)]
mod machine;
mod mutants;
mod outages;
mod partitions;
#[path = "../battery/player.rs"]
#[allow(dead_code)]
mod player;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../support/proxy/mod.rs"]
mod proxy;
#[path = "../battery/remote.rs"]
#[allow(dead_code)]
mod remote;
mod replica;
mod rolling;
#[cfg(target_os = "linux")]
#[path = "../support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
mod scene;
mod slow;
mod starts;
#[path = "../battery/watcher.rs"]
#[allow(dead_code)]
mod watcher;
mod watches;

use form::{long_form, number};
use std::time::{Duration, Instant};

/// A limit on a time: in earnest it holds in the long form, which has the machine to itself. The short form runs beside other tests, and
/// finds out only that nothing hangs.
fn within(limit: Duration) -> Duration {
    if long_form() { limit } else { limit + Duration::from_secs(3) }
}

/// Whether a test that has begun then should stop, since MANCALA_TEST_SECONDS are over.
fn time_is_up(begun: Instant) -> bool {
    number("MANCALA_TEST_SECONDS").is_some_and(|seconds| begun.elapsed() > Duration::from_secs(seconds))
}
