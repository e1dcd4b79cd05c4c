//! What is counted of sessions since the start.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// What it has come to.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is counted of sessions since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Sessions that were made or imported.
    pub created: Count,
    /// Events that were stored, those of imported sessions too.
    pub events: Count,
    /// Looks for a session that found it in memory.
    pub cache_hits: Count,
    /// Those that had to read it from the store.
    pub cache_misses: Count,
    /// Sessions whose time was found to be out by the look into the store, not by a caller.
    pub timed_out: Count,
    /// Sessions whose end was announced by retention.
    pub announced: Count,
    /// Sessions that were deleted by retention.
    pub expired: Count,
}
