//! Time, from outside, so that tests can set it.

use crate::session::Micros;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Micros;
}

/// The machine's clock as it was at the start, and the time that has gone by since. Whoever sets the machine's clock while the
/// server runs changes nobody's time.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: SystemTime,
    running: Instant,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock { start: SystemTime::now(), running: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let now = self.start + self.running.elapsed();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
    }
}
