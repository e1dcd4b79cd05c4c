//! What became of connections, counted since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What became of connections and streams since the start. Read it whenever it is wanted; nothing waits for it.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that are open now.
    pub open: Count,
    /// HTTP/2 streams that are not answered to their end yet.
    pub streams: Count,
    /// Connections that were let in.
    pub accepted: Count,
    /// Connections that were refused because there were too many.
    pub refused_in_total: Count,
    /// Connections that were refused because there were too many from their address.
    pub refused_by_address: Count,
    /// Connections that were closed because their first bytes did not come in time.
    pub silent: Count,
    /// Connections that were closed because a frame or its headers did not come in time.
    pub unruly: Count,
    /// Connections that were closed because the peer broke the protocol, or flooded them with frames that ask for nothing.
    pub breaches: Count,
    /// TLS handshakes that failed.
    pub tls_failures: Count,
    /// Connections that were told to go because of their age.
    pub aged: Count,
    /// Streams (of HTTP/1 connections) that were given up because the peer took nothing of what it had asked for.
    pub stalled: Count,
    /// Pauses of accepting because there were no descriptors or no memory left.
    pub back_offs: Count,
    /// Certificates that were taken over while the server ran.
    pub tls_reloads: Count,
    /// Certificates that could not be taken over, so that the old ones stay.
    pub tls_reload_failures: Count,
}

/// A number that goes up, and for what is counted now, down.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts something as long as it is there.
pub struct Present {
    counts: Arc<Counts>,
    count: fn(&Counts) -> &Count,
}

impl Present {
    /// One more of what `count` chooses.
    pub fn new(counts: &Arc<Counts>, count: fn(&Counts) -> &Count) -> Self {
        count(counts).up();
        Self { counts: counts.clone(), count }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        (self.count)(&self.counts).down();
    }
}
