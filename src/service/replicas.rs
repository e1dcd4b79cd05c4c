//! Several servers on one store: what watchers here learn of changes made elsewhere.
//!
//! Other servers send hints, which may be lost. So the versions of the sessions that are watched here are looked up now and then
//! too: seldom while hints come, often while they don't.

use super::jitter::jittered;
use super::{ServiceError, Sessions};
use crate::store::{Heard, Hearing};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// Time between two looks while no hints come, and while they do. Then only those of a server that died between a change and its hint
/// are missing.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOOK_SELDOM: Duration = Duration::from_secs(1);
/// Sessions whose versions are looked up at once.
const BATCH: usize = 1_000;

impl Sessions {
    /// Tells watchers, here and at the other servers of the store, that a session has come to a version; 0: there is other news.
    pub(super) fn tell(&self, session_id: &str, version: u32) {
        self.watched.came_to(session_id, version);
        self.store.tell(session_id, version);
    }

    /// Tells watchers here what happens at other servers of the store, for as long as this runs.
    pub async fn keep_informed(self) -> Infallible {
        let Some(mut hearing) = self.store.hear() else { return std::future::pending().await };
        let mut hints_come = false;
        loop {
            let pause = jittered(if hints_come { LOOK_SELDOM } else { LOOK_EVERY });
            hints_come = self.hear_until(Instant::now() + pause, &mut hearing, hints_come).await;
            if let Err(error) = self.look_for_changes().await {
                tracing::debug!(%error, "what other servers have changed could not be looked up; trying again");
            }
        }
    }

    /// Passes on what is heard, until a time or until something may have been missed. Whether hints come.
    async fn hear_until(&self, end: Instant, hearing: &mut Hearing, mut hints_come: bool) -> bool {
        loop {
            match tokio::time::timeout_at(end, hearing.recv()).await {
                Ok(Ok(Heard::Hints(hints))) => {
                    // That they have begun to come may have been said before anybody listened here.
                    hints_come = true;
                    for hint in hints.iter() {
                        self.watched.came_to(&hint.session_id, hint.version);
                    }
                }
                Ok(Ok(Heard::Lost)) => return false,
                Ok(Ok(Heard::Connected)) => return true,
                Ok(Err(RecvError::Lagged(_))) => return hints_come,
                Ok(Err(RecvError::Closed)) => {
                    // Nobody will tell anything any more; without a pause this would be asked again and again.
                    tokio::time::sleep_until(end).await;
                    return false;
                }
                Err(_elapsed) => return hints_come,
            }
        }
    }

    async fn look_for_changes(&self) -> Result<(), ServiceError> {
        for batch in self.watched.ids().chunks(BATCH) {
            let versions = self.store.versions(batch.to_vec()).await?;
            for (session_id, version) in batch.iter().zip(versions) {
                self.watched.found(session_id, version);
            }
        }
        self.watched.stir_followers();
        Ok(())
    }
}
