//! Replicas on Postgres while things go wrong with their database and with what lies between: clients play by the published retry policy,
//! a ledger keeps what they were told, and an auditor holds what is stored against that.
//!
//! Every run prints its seed; MANCALA_TEST_SEED repeats what clients and faults draw. MANCALA_TEST_LONG=1 runs the long form, of which
//! MANCALA_TEST_SECONDS limits the time that each test goes on.

#![cfg(feature = "server")]

#[macro_use]
#[path = "../support/report.rs"]
mod report;

mod answer;
#[path = "../battery/audit.rs"]
#[allow(dead_code)]
mod audit;
#[path = "../battery/call.rs"]
#[allow(dead_code)]
mod call;
mod client;
mod clocks;
mod connection;
mod cuts;
#[path = "../battery/door.rs"]
#[allow(dead_code)]
mod door;
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
mod messages;
mod mutants;
mod outages;
mod partitions;
#[path = "../battery/player.rs"]
#[allow(dead_code)]
mod player;
#[path = "../support/postgres.rs"]
mod postgres;
mod proxy;
#[path = "../battery/remote.rs"]
#[allow(dead_code)]
mod remote;
mod replica;
mod rolling;
mod scene;
mod slow;
mod starts;
#[path = "../battery/watcher.rs"]
#[allow(dead_code)]
mod watcher;
mod watches;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Whether the large counts are run.
fn long_form() -> bool {
    std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1")
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The seed that is asked for by MANCALA_TEST_SEED, or one of the time.
fn first_seed() -> u64 {
    let seed = number("MANCALA_TEST_SEED");
    let seed = seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64);
    report!("MANCALA_TEST_SEED={seed}");
    seed
}

/// How often something is to be done: so often in the short and in the long form.
fn times(short: u32, long: u32) -> u32 {
    if long_form() { long } else { short }
}

/// A limit on a time: in earnest it holds in the long form, which has the machine to itself. The short form runs beside other tests, and
/// finds out only that nothing hangs.
fn within(limit: Duration) -> Duration {
    if long_form() { limit } else { limit + Duration::from_secs(15) }
}

/// Whether a test that has begun then should stop, since MANCALA_TEST_SECONDS are over.
fn time_is_up(begun: Instant) -> bool {
    number("MANCALA_TEST_SECONDS").is_some_and(|seconds| begun.elapsed() > Duration::from_secs(seconds))
}
