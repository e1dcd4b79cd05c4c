//! What is measured of a store's writes.

use prometheus_client::metrics::histogram::Histogram;

/// Upper bounds of the durations that are told apart, in seconds.
const SECONDS: [f64; 13] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// Upper bounds of the sizes that are told apart.
const JOBS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 512.0, 1024.0];

/// What is measured of a store's writes. Clones measure the same.
#[derive(Debug, Clone)]
pub struct StoreMetrics {
    /// Time that a commit takes until it is on the disk, in seconds.
    pub commit_seconds: Histogram,
    /// Writes of one commit.
    pub batch_writes: Histogram,
}

impl Default for StoreMetrics {
    fn default() -> StoreMetrics {
        StoreMetrics { commit_seconds: Histogram::new(SECONDS), batch_writes: Histogram::new(JOBS) }
    }
}
