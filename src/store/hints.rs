//! Hints: what servers of one store tell each other of changes, so that watchers need not wait.
//!
//! A hint is an id and a version, and never the truth: it may come twice, too late, or not at all. Whoever gets one reads the
//! store. Whoever gets none looks into the store now and then all the same.

use std::sync::Arc;
use tokio::sync::broadcast;

/// A session has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The session.
    pub session_id: String,
    /// A version that it has come to; 0: it has changed in another way, such as by being deleted.
    pub version: u32,
}

/// What a server of a shared store hears from the others.
#[derive(Debug, Clone)]
pub enum Heard {
    /// These sessions have changed.
    Hints(Arc<[Hint]>),
    /// From now on all hints come, but those of the time before may be lost.
    Connected,
    /// No hints come until further notice.
    Lost,
}

/// What is heard from other servers. One who falls behind misses the oldest.
pub type Hearing = broadcast::Receiver<Heard>;
