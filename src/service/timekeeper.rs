//! Rounds that are lost by time although nobody looks.
//!
//! What is to be done follows from the store alone, and ending a round names the version that it is for. So several servers
//! can look through one store: each round ends once.

use super::jitter::jittered;
use super::{ServiceError, Sessions};
use std::convert::Infallible;
use std::time::Duration;

/// Sessions that are looked at between two looks into the store.
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
            for (session_id, _) in &found {
                match self.settle_time(session_id).await {
                    Ok(true) => {
                        settled += 1;
                        self.counts.timed_out.add(1);
                    }
                    // Another server was faster, or has deleted it.
                    Ok(false) | Err(ServiceError::NotFound { .. }) => {}
                    Err(error @ ServiceError::Damaged { .. }) => tracing::error!(%error, "a session can't be ended by time"),
                    Err(error) => return Err(error),
                }
            }
            if last_batch {
                return Ok(settled);
            }
        }
    }
}
