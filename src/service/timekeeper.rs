//! Rounds that are lost by time although nobody looks.
//!
//! What is to be done follows from the store alone, and ending a round names the version that it is for. So several servers
//! can look through one store: each round ends once.

use super::jitter::jittered;
use super::retention::each;
use super::{ServiceError, Sessions};
use std::convert::Infallible;
use std::time::Duration;

/// Sessions that are looked at between two looks into the store, all at once so that the store writes them in one go.
const BATCH: usize = 100;

impl Sessions {
    /// Ends rounds that are lost by time, again and again, `every` so often, give or take a tenth.
    pub async fn keep_time(self, every: Duration) -> Infallible {
        loop {
            tokio::time::sleep(jittered(every)).await;
            match self.settle_overdue().await {
                Ok(0) => {}
                Ok(sessions) => tracing::debug!(sessions, "rounds ended by time"),
                Err(error) => tracing::warn!(%error, "rounds could not be ended by time; trying again"),
            }
        }
    }

    /// Ends the rounds whose seat to act is out of time, and says how many sessions that were. One that can't be read is left
    /// as it is.
    ///
    /// # Errors
    /// The store's; what has been done until then is done.
    pub async fn settle_overdue(&self) -> Result<usize, ServiceError> {
        let now = self.now();
        let (mut settled, mut after) = (0, None);
        loop {
            let found = self.store.overdue(now, after, BATCH).await?;
            let last_batch = found.len() < BATCH;
            after = found.last().map(|(session_id, deadline)| (*deadline, session_id.clone()));
            let this = self.clone();
            let ended = each("ended by time", found, move |(session_id, _)| {
                let this = this.clone();
                // Not if another server was faster.
                async move { this.settle_now(&session_id).await }
            })
            .await?;
            self.counts.timed_out.add(ended);
            settled += ended;
            if last_batch {
                return Ok(settled);
            }
        }
    }
}
