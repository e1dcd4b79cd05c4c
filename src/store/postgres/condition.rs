//! Whether the database can be used at present, for callers and for the server's health.

use crate::store::{Health, StoreError};
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Notify, watch};

pub(super) struct Condition {
    health: watch::Sender<Health>,
    state: Mutex<State>,
    /// Told when a statement met trouble, so that it is looked into at once.
    suspicion: Notify,
}

struct State {
    /// What callers are told who can't be served; none while all is well.
    refusal: Option<StoreError>,
    /// Whether reads can be tried all the same.
    readable: bool,
}

impl Condition {
    /// Before the database has been reached.
    pub fn unreached() -> Condition {
        let refusal = StoreError::Unavailable("the database has not been reached yet".into());
        let state = Mutex::new(State { refusal: Some(refusal), readable: false });
        Condition { health: watch::Sender::new(Health::Unwritable), state, suspicion: Notify::new() }
    }

    pub fn subscribe(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    pub fn health(&self) -> Health {
        *self.health.borrow()
    }

    /// All is well.
    pub fn recover(&self) {
        if self.health() == Health::Broken {
            return;
        }
        self.set(None, true);
        if self.health.send_replace(Health::Writable) != Health::Writable {
            tracing::info!("the database can be written");
        }
    }

    /// Nothing is read or written, or nothing is written, until it is well again.
    pub fn worsen(&self, refusal: StoreError, readable: bool) {
        if self.health() == Health::Broken {
            return;
        }
        let why = refusal.to_string();
        self.set(Some(refusal), readable);
        if self.health.send_replace(Health::Unwritable) != Health::Unwritable {
            tracing::warn!(why, "the database can't be used; it is tried until it can");
        }
    }

    /// It never will be well in this process.
    pub fn break_for_good(&self, why: String) {
        tracing::error!(why, "the database can't be used any more");
        self.set(Some(StoreError::Unavailable(why)), false);
        self.health.send_replace(Health::Broken);
    }

    fn set(&self, refusal: Option<StoreError>, readable: bool) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State { refusal, readable };
    }

    /// What a write is told instead of being tried.
    pub fn refuses_writes(&self) -> Option<StoreError> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).refusal.clone()
    }

    /// What a read is told instead of being tried.
    pub fn refuses_reads(&self) -> Option<StoreError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.readable { None } else { state.refusal.clone() }
    }

    /// A statement met trouble.
    pub fn suspect(&self) {
        self.suspicion.notify_one();
    }

    /// Waits until a statement meets trouble.
    pub async fn suspected(&self) {
        self.suspicion.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_told_what_health_says() {
        let condition = Condition::unreached();
        assert_eq!(condition.health(), Health::Unwritable);
        assert!(matches!(condition.refuses_reads(), Some(StoreError::Unavailable(_))));
        condition.recover();
        assert_eq!((condition.health(), condition.refuses_reads(), condition.refuses_writes()), (Health::Writable, None, None));
        let full = StoreError::Full("why".into());
        condition.worsen(full.clone(), true);
        assert_eq!(
            (condition.health(), condition.refuses_reads(), condition.refuses_writes()),
            (Health::Unwritable, None, Some(full))
        );
        condition.break_for_good("why".into());
        condition.recover();
        condition.worsen(StoreError::Full("later".into()), true);
        let broken = Some(StoreError::Unavailable("why".into()));
        assert_eq!(
            (condition.health(), condition.refuses_reads(), condition.refuses_writes()),
            (Health::Broken, broken.clone(), broken)
        );
    }
}
