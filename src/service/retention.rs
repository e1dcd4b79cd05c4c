//! Sessions that nobody needs any more: their end is announced by an event, and when the notice is over they are deleted.
//!
//! What is to be done follows from the store alone, and every step names the version that it is for. So a sweep can be cut
//! short anywhere, and several servers can sweep one store: each step is taken once.

use super::error::join;
use super::jitter::{chance, jittered};
use super::{ServiceError, Sessions, Target};
use crate::session::{Credential, Event, Micros, State};
use crate::store::{Expirable, IdleQuery};
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long sessions are kept after their last change, by where they stand; `None`: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Played to a result.
    pub finished: Option<Duration>,
    /// Ended without one.
    pub aborted: Option<Duration>,
    /// Still being played.
    pub abandoned: Option<Duration>,
    /// Time between the announcement and the end.
    pub notice: Duration,
}

/// What a sweep has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sessions whose end was announced.
    pub announced: usize,
    /// Sessions that were deleted.
    pub deleted: usize,
}

/// Sessions that are expired at a time: few, so that players don't wait for the sweep's writes.
const BATCH: usize = 100;

impl Retention {
    /// The states whose sessions are not kept for ever, and how long they are kept.
    fn terms(&self) -> impl Iterator<Item = (State, Duration)> {
        let Retention { finished, aborted, abandoned, notice: _ } = *self;
        let terms = [(State::Finished, finished), (State::Aborted, aborted), (State::Active, abandoned)];
        terms.into_iter().filter_map(|(state, term)| Some((state, term?)))
    }
}

impl Sessions {
    /// Sweeps again and again, `every` so often, give or take a tenth: servers of one store are not to sweep at the same moment.
    pub async fn keep_swept(self, retention: Retention, every: Duration) -> Infallible {
        let mut pause = every.mul_f64(chance());
        loop {
            tokio::time::sleep(pause).await;
            match self.sweep(&retention).await {
                Ok(Swept { announced: 0, deleted: 0 }) => {}
                Ok(Swept { announced, deleted }) => tracing::info!(announced, deleted, "sessions expired"),
                Err(error) => tracing::warn!(%error, "sessions could not be expired; trying again"),
            }
            pause = jittered(every);
        }
    }

    /// Announces the end of the sessions that have not changed for as long as they are kept, and deletes those whose notice is
    /// over. A session that can't be read is left as it is.
    ///
    /// # Errors
    /// The store's; what has been done until then is done.
    pub async fn sweep(&self, retention: &Retention) -> Result<Swept, ServiceError> {
        let mut swept = Swept::default();
        for (state, term) in retention.terms() {
            let announced = self.announce_idle(state, term, retention.notice).await?;
            self.counts.announced.add(announced);
            let deleted = self.delete_due(state).await?;
            self.counts.expired.add(deleted);
            swept = Swept { announced: swept.announced + announced, deleted: swept.deleted + deleted };
        }
        Ok(swept)
    }

    async fn announce_idle(&self, state: State, term: Duration, notice: Duration) -> Result<usize, ServiceError> {
        let now = self.clock.now();
        let (since, at) = (now.saturating_sub(micros(term)), now.saturating_add(micros(notice)));
        let mut announced = 0;
        let mut after = None;
        loop {
            let begun = Instant::now();
            let found = self.store.idle(IdleQuery { state, since, after, limit: BATCH }).await?;
            let last_batch = found.len() < BATCH;
            after = found.last().map(|last| (last.updated, last.session_id.clone()));
            let this = self.clone();
            announced += each("announced to end", found, move |session| {
                let this = this.clone();
                async move { this.announce(session, at).await }
            })
            .await?;
            if last_batch {
                return Ok(announced);
            }
            rest(begun).await;
        }
    }

    /// Whether the end was announced: not if something has happened to the session since it was found.
    async fn announce(&self, found: Expirable, at: Micros) -> Result<bool, ServiceError> {
        let id = &found.session_id;
        let slot = self.slots.get(id);
        let mut slot = slot.lock().await;
        let done = match self.fill(id, &mut slot).await {
            Ok(live) => {
                let now = self.time_of_next(&live.session);
                // Time that is out is news of the session: whoever looks at it will bring it about.
                let unchanged = live.session.version() == found.version && live.session.timed_out(now).is_none();
                if unchanged {
                    self.commit(&mut slot, &[Event::Expiring { at }], None, now).await.map(|live| live.is_some())
                } else {
                    Ok(false)
                }
            }
            Err(error) => Err(error),
        };
        // It is not one of those that are used, so it is not to take the place of one in memory.
        *slot = None;
        self.slots.forget(id);
        done
    }

    async fn delete_due(&self, state: State) -> Result<usize, ServiceError> {
        let now = self.clock.now();
        let mut deleted = 0;
        loop {
            let begun = Instant::now();
            let found = self.store.due(state, now, BATCH).await?;
            let last_batch = found.len() < BATCH;
            let this = self.clone();
            let gone = each("deleted", found, move |session| {
                let this = this.clone();
                async move { this.delete_as_found(session).await }
            })
            .await?;
            deleted += gone;
            // If all of a batch have changed meanwhile, others are at the same work.
            if last_batch || gone == 0 {
                return Ok(deleted);
            }
            rest(begun).await;
        }
    }

    /// Whether it was deleted: not if something has happened to it since it was found.
    async fn delete_as_found(&self, found: Expirable) -> Result<bool, ServiceError> {
        let Expirable { session_id, version, updated: _ } = found;
        let delete = Target { session_id, expected_version: Some(version), request_id: None, credential: Credential::Trusted };
        // Callers' changes have places, of which this needs none: there are never more of these than of a batch.
        match self.delete_now(delete).await {
            Ok(()) => Ok(true),
            Err(ServiceError::StaleVersion { .. } | ServiceError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Does something with each session, all at once so that the store writes them in one go. Returns with how many it was done;
/// those that are damaged or gone are passed over.
pub(super) async fn each<T, F>(what: &'static str, found: Vec<T>, step: impl Fn(T) -> F) -> Result<usize, ServiceError>
where
    F: Future<Output = Result<bool, ServiceError>> + Send + 'static,
{
    let mut steps: JoinSet<_> = found.into_iter().map(step).collect();
    let (mut done, mut failed) = (0, None);
    // All of them to their end, whatever becomes of one: what is stored is to be told too.
    while let Some(end) = steps.join_next().await {
        match join(end).flatten() {
            Ok(was_done) => done += usize::from(was_done),
            Err(ServiceError::NotFound { .. }) => {}
            Err(error @ ServiceError::Damaged { .. }) => tracing::error!(%error, "a session can't be {what}"),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(done), Err)
}

/// Rests as long as the work since then took, so that a long sweep leaves half of the store's time to players.
async fn rest(since: Instant) {
    tokio::time::sleep(since.elapsed()).await;
}

fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
