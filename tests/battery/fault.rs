//! What may happen to servers, to what they stand on and to single calls, and how often it has.

use crate::proxy::{Cut, Way};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A server is killed, and after a while another one starts in its place.
    Killed,
    /// A server does not reach the store for a while.
    CutOff,
    /// A server's clock is set, forward or back.
    ClockSet,
    /// All servers are killed and the store stops at once.
    PowerCut,
    /// A write met a disk without room.
    DiskFull,
    /// A write met a disk that can't be written.
    ReadOnly,
    /// The store stopped as if the power had gone, and came back.
    Stopped,
    /// The store stopped, and its standby took over.
    FailedOver,
    /// A server and the database could not reach each other for a while, in this way.
    Partitioned(Way),
    /// Messages between servers and the database took long for a while.
    SlowNetwork,
    /// A call on the store took long.
    Slow,
    /// A call on the store failed before it was sent.
    NotSent,
    /// A write was carried out, and its answer lost.
    AnswerLost,
    /// A write was given up, and carried out much later.
    Late,
    /// A write was carried out or not, and nothing was heard of it until it was given up.
    HalfOpen,
    /// A write was under way when the store stopped.
    Interrupted,
    /// A bit of what was read was another one.
    BitFlipped,
    /// This was done to a write on its way to the database.
    Write(Cut),
}

/// How often each has happened. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Counts>>);

pub type Counts = BTreeMap<Fault, u64>;

impl Faults {
    pub fn note(&self, fault: Fault) {
        self.add(fault, 1);
    }

    pub fn add(&self, fault: Fault, times: u64) {
        if times > 0 {
            *self.0.lock().expect("no panic").entry(fault).or_default() += times;
        }
    }

    pub fn counts(&self) -> Counts {
        self.0.lock().expect("no panic").clone()
    }
}
