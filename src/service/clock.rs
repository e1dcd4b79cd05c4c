//! Time, from outside, so that tests can set it.

use super::jitter::chance;
use crate::session::Micros;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Micros;

    /// What an event comes after the one before where that is ahead of this clock, for another server's clock is: microseconds that are
    /// this server's own. Servers that share a store tell their events apart by the hash where a connection was lost while one was being
    /// written, and if all gave the same time, then a request that is sent to two of them would have the same hash from both.
    fn step(&self) -> Micros {
        0
    }
}

/// The machine's clock as it was at the start, and the time that has gone by since. Whoever sets the machine's clock while the
/// server runs changes nobody's time.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: SystemTime,
    running: Instant,
    step: Micros,
}

/// No step is longer, so that a game's clock loses a millisecond at most by it.
const LONGEST_STEP: f64 = 1_000.0;

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock { start: SystemTime::now(), running: Instant::now(), step: (chance() * LONGEST_STEP).ceil() as Micros }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let now = self.start + self.running.elapsed();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
    }

    fn step(&self) -> Micros {
        self.step
    }
}
