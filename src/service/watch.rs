//! Watching: register, read from the store, wait until there is more, read again.

use super::reads::{Shown, shown};
use super::watched::{RECENT, Seat};
use super::{EventRecord, Events, ServiceError, Sessions};
use crate::store::{Change, Changed, Cursor, Filter};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// Events that are read at a time, at most.
const PAGE: usize = 100;
/// Watchers that are told at a time of what others know already, at most.
pub(super) const TURNS: usize = 4;

/// What a watcher has not been told yet, or the beginning of it.
#[derive(Debug, Clone)]
pub struct News {
    /// In order.
    pub events: Vec<Arc<EventRecord>>,
    /// The session's version, which may be further on.
    pub version: u32,
}

/// One watcher of a session.
pub struct Watch {
    sessions: Sessions,
    session_id: String,
    seat: Seat,
}

impl Sessions {
    /// Watches a session, if it has fewer than `most` watchers. Whether it is there shows when its news is read.
    ///
    /// # Errors
    /// [`ServiceError::TooManyWatches`].
    pub fn watch(&self, session_id: &str, most: usize) -> Result<Watch, ServiceError> {
        let seat = self.watched.join(session_id, most).ok_or(ServiceError::TooManyWatches { most })?;
        Ok(Watch { sessions: self.clone(), session_id: session_id.to_owned(), seat })
    }

    /// Watchers of single sessions, and the sessions that they watch.
    #[must_use]
    pub fn watchers(&self) -> (usize, usize) {
        self.watched.count()
    }
}

impl Watch {
    /// What has happened after a version, oldest first, whole changes, or the beginning of it. All that is told of later is yet to
    /// be waited for by [`Watch::changed`].
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::VersionAhead`], or the store's.
    pub async fn news(&mut self, after: u32, want_steps: bool) -> Result<News, ServiceError> {
        let latest = *self.seat.latest.borrow_and_update();
        if is_near(after, latest) && self.seat.watched.is_shared() {
            // Locked while one reads, so that the others find what it has read.
            let mut recent = self.seat.watched.recent[usize::from(want_steps)].lock().await;
            if recent.version() < latest {
                // Who is further behind than what is kept reads for itself.
                let from = if recent.bears(after) { recent.version() } else { after };
                recent.take_in(from, self.read(from, want_steps).await?.events);
            }
            if let Some(news) = recent.after(after) {
                return Ok(news);
            }
        }
        if latest <= after {
            // Most look because it is time to, and there is nothing.
            let version = self.sessions.version(&self.session_id).await?;
            if version == after {
                return Ok(News { events: Vec::new(), version });
            }
        }
        let Events { events, version } = self.read(after, want_steps).await?;
        Ok(News { events: events.into_iter().map(Arc::new).collect(), version })
    }

    async fn read(&self, after: u32, want_steps: bool) -> Result<Events, ServiceError> {
        let mut read = self.sessions.stored_events(&self.session_id, after, PAGE, want_steps).await?;
        if read.events.len() == PAGE {
            leave_whole(&mut read.events);
        }
        Ok(read)
    }

    /// The turn of a watcher that has fallen behind or looks only because it is time to, to be kept until it has been told. None for
    /// one that keeps up, which waits for nobody: thousands of the others may look at once, and would keep it from reading.
    pub async fn turn(&self, after: u32) -> Option<OwnedSemaphorePermit> {
        let latest = *self.seat.latest.borrow();
        if is_near(after, latest) {
            return None;
        }
        // It fails only when it is closed, which it never is.
        self.sessions.turns.clone().acquire_owned().await.ok()
    }

    /// Whether there may be news after a version that [`Watch::news`] has not seen, as far as anybody has told.
    #[must_use]
    pub fn is_behind(&self, version: u32) -> bool {
        *self.seat.latest.borrow() > version || self.seat.latest.has_changed().unwrap_or(true)
    }

    /// Completes when there may be news that [`Watch::news`] has not seen.
    pub async fn changed(&mut self) {
        // It fails only without a sender, and this watch holds it.
        let _ = self.seat.latest.changed().await;
    }
}

/// Whether a watcher that has everything up to a version is told of the last few events, having been told that there are some.
fn is_near(after: u32, latest: u32) -> bool {
    latest > after && latest - after <= RECENT as u32
}

/// Takes off the last change, of which more may follow, unless there is no other.
///
/// The events of a change have one time and one request. Two changes may look alike so, which does no harm: they go together.
fn leave_whole(events: &mut Vec<EventRecord>) {
    let start = events.chunk_by(EventRecord::is_of_one_change).next_back().map_or(0, |last| events.len() - last.len());
    if start > 0 {
        events.truncate(start);
    }
}

impl EventRecord {
    /// Whether this event and the next one happened at once.
    #[must_use]
    pub fn is_of_one_change(&self, next: &EventRecord) -> bool {
        self.time == next.time && self.request_id == next.request_id
    }
}

/// One who follows all sessions that are like something.
pub struct Feed {
    sessions: Sessions,
    filter: Filter,
    any: watch::Receiver<()>,
}

/// What has happened to sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// In order.
    pub changes: Vec<SessionChange>,
    /// Where to go on.
    pub cursor: Cursor,
    /// Whether nothing followed when this was read.
    pub caught_up: bool,
}

/// What has happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// The session.
    pub session_id: String,
    /// Its events, without steps; none if it was deleted.
    pub events: Vec<EventRecord>,
    /// Its version with them.
    pub version: u32,
    /// As it is now; none if it was deleted.
    pub shown: Option<Shown>,
}

impl Sessions {
    /// Follows the sessions that are like something.
    #[must_use]
    pub fn follow(&self, filter: Filter) -> Feed {
        Feed { sessions: self.clone(), filter, any: self.watched.any() }
    }

    /// Where the order of all changes ends.
    ///
    /// # Errors
    /// The store's.
    pub async fn latest_change(&self) -> Result<Cursor, ServiceError> {
        Ok(self.store.latest_change().await?)
    }
}

impl Feed {
    /// What has happened after a place, or the beginning of it.
    ///
    /// # Errors
    /// [`ServiceError::CursorUnknown`], or the store's.
    pub async fn news(&mut self, after: &Cursor) -> Result<FeedPage, ServiceError> {
        self.any.borrow_and_update();
        let read = self.sessions.store.changes(after.clone(), PAGE).await?.ok_or(ServiceError::CursorUnknown)?;
        let mut changes = Vec::new();
        for change in read.changes.into_iter().filter(|change| self.filter.matches(&change.head)) {
            match self.session_change(change).await {
                Ok(change) => changes.push(change),
                // One session whose events make no sense must not keep the others from those who follow them. Where rows can't be read the
                // store refuses all that comes after: which session they are of is not known.
                Err(error @ ServiceError::Damaged { .. }) => tracing::error!(%error, "a change can't be told"),
                Err(error) => return Err(error),
            }
        }
        Ok(FeedPage { changes, cursor: read.cursor, caught_up: read.caught_up })
    }

    async fn session_change(&self, Change { head, what }: Change) -> Result<SessionChange, ServiceError> {
        let session_id = head.session_id.clone();
        let Changed::Events(stored) = what else {
            return Ok(SessionChange { session_id, events: Vec::new(), version: head.version, shown: None });
        };
        let version = stored.last().map_or(0, |event| event.seq);
        let events = if stored.iter().all(|event| event.hash.is_some()) {
            stored.into_iter().map(|stored| EventRecord::of(&session_id, stored)).collect::<Result<_, _>>()?
        } else {
            // Events that are older than hashes: theirs follow from those before them.
            let before = version - stored.len() as u32;
            self.sessions.stored_events(&session_id, before, stored.len(), false).await?.events
        };
        Ok(SessionChange { session_id, events, version, shown: Some(shown(head)?) })
    }

    /// Completes when anything may have changed that [`Feed::news`] has not seen.
    pub async fn changed(&mut self) {
        // It fails only without a sender, and this feed's sessions hold it.
        let _ = self.any.changed().await;
    }
}
