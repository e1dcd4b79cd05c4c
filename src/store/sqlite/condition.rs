//! Whether the store can be written, and what callers are told while it can't.

use super::errors::Stop;
use crate::store::{Health, StoreError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Shared by the writer, which mends it, and the readers, which may find damage first.
pub(super) struct Condition {
    health: watch::Sender<Health>,
    refusal: Mutex<Option<StoreError>>,
}

impl Condition {
    /// Of a store that has just been opened, which is to say written.
    pub fn writable() -> Condition {
        Condition { health: watch::Sender::new(Health::Writable), refusal: Mutex::new(None) }
    }

    /// Follows it.
    pub fn subscribe(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    /// What it is now.
    pub fn health(&self) -> Health {
        *self.health.borrow()
    }

    /// What a write is to be refused with, unless it may be tried.
    pub fn refusal(&self) -> Option<StoreError> {
        self.lock().clone()
    }

    /// Notes a failure. Nothing makes a broken store better or otherwise broken: the first cause is the one to know.
    pub fn worsen(&self, stop: &Stop) {
        let mut refusal = self.lock();
        if self.health() == Health::Broken {
            return;
        }
        if self.health() != stop.health {
            tracing::error!(health = ?stop.health, cause = %stop.refusal, "the store can't be written");
        }
        *refusal = Some(stop.refusal.clone());
        self.health.send_if_modified(|health| std::mem::replace(health, stop.health) != stop.health);
    }

    /// Notes that a write has succeeded after failures.
    pub fn recover(&self) {
        let mut refusal = self.lock();
        if self.health() == Health::Unwritable {
            tracing::info!("the store can be written again");
            *refusal = None;
            self.health.send_replace(Health::Writable);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
