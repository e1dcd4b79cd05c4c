//! What is counted while calls are made.

use super::mix::Call;
use crate::wire::reason::code_name;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::Status;
use tonic_types::StatusExt;

/// Latencies are told apart up to an hour, in microseconds, by three digits.
const LONGEST_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The status code.
    pub code: &'static str,
    /// The server's reason; empty if what failed was the way to it.
    pub reason: String,
}

impl Fault {
    /// An answer that is not what the rules say.
    pub fn wrong_answer() -> Fault {
        Fault { code: code_name(tonic::Code::Ok), reason: "WRONG_ANSWER".to_owned() }
    }
}

impl From<Status> for Fault {
    fn from(status: Status) -> Fault {
        let reason = status.get_details_error_info().map(|info| info.reason).unwrap_or_default();
        Fault { code: code_name(status.code()), reason }
    }
}

/// All calls so far.
pub struct Tally {
    calls: BTreeMap<Call, CallTally>,
    faults: BTreeMap<(Call, Fault), u64>,
}

/// The tally that all callers share.
pub fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls of one kind.
pub struct CallTally {
    /// Of those that succeeded, in microseconds.
    pub latency_us: Histogram<u64>,
    pub failed: u64,
}

impl CallTally {
    fn new() -> CallTally {
        let latency_us = Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("these bounds are valid");
        CallTally { latency_us, failed: 0 }
    }

    pub fn calls(&self) -> u64 {
        self.latency_us.len() + self.failed
    }
}

impl Tally {
    pub fn new() -> Tally {
        Tally { calls: BTreeMap::new(), faults: BTreeMap::new() }
    }

    pub fn count(&mut self, call: Call, latency: Duration, outcome: Result<(), Fault>) {
        let calls = self.calls.entry(call).or_insert_with(CallTally::new);
        match outcome {
            Ok(()) => calls.latency_us.saturating_record(latency.as_micros() as u64),
            Err(fault) => {
                calls.failed += 1;
                *self.faults.entry((call, fault)).or_default() += 1;
            }
        }
    }

    /// By kind, those that there were.
    pub fn calls(&self) -> impl Iterator<Item = (Call, &CallTally)> {
        self.calls.iter().map(|(&call, tally)| (call, tally))
    }

    /// How often each fault was met.
    pub fn faults(&self) -> impl Iterator<Item = (Call, &Fault, u64)> {
        self.faults.iter().map(|((call, fault), &count)| (*call, fault, count))
    }

    /// Calls made, and how many of them failed.
    pub fn totals(&self) -> (u64, u64) {
        self.calls.values().fold((0, 0), |(calls, failed), tally| (calls + tally.calls(), failed + tally.failed))
    }
}
