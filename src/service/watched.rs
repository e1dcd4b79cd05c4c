//! Which sessions are watched, and how far they have come.
//!
//! All that goes from here to a watcher is that there is news. What the news is it reads from the store. So a watcher that
//! is slow costs no memory and misses nothing, and whatever tells of changes may do so twice, too early or not at all.

use super::EventRecord;
use super::watch::News;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// So many of a session's last events are kept for its other watchers...
pub(super) const RECENT: usize = 16;
/// ...unless they have more steps than this together.
const RECENT_STEPS: usize = 2_000;

/// The sessions that are watched, and the whole store.
pub(super) struct WatchedSessions {
    sessions: Mutex<HashMap<String, Arc<Watched>>>,
    /// Changes whenever anything does.
    any: watch::Sender<()>,
}

/// A session that is watched.
pub(super) struct Watched {
    /// How far it has come, as far as anybody has told: 0 at first.
    latest: watch::Sender<u32>,
    /// Its last events, without and with steps: what one watcher has read the others need not.
    pub(super) recent: [tokio::sync::Mutex<Recent>; 2],
}

/// A session's last events, without gaps, as far as they were read.
#[derive(Default)]
pub(super) struct Recent {
    events: VecDeque<Arc<EventRecord>>,
}

impl Recent {
    /// The version of the last one; 0 without any.
    pub(super) fn version(&self) -> u32 {
        self.events.back().map_or(0, |last| last.version)
    }

    /// Whether it bears all events after a version that it has come to.
    pub(super) fn bears(&self, after: u32) -> bool {
        self.events.front().is_some_and(|first| first.version <= after + 1) && after <= self.version()
    }

    /// Takes in what follows on a version. What doesn't follow on that is forgotten.
    pub(super) fn take_in(&mut self, after: u32, events: Vec<EventRecord>) {
        if after != self.version() {
            self.events.clear();
        }
        self.events.extend(events.into_iter().map(Arc::new));
        let mut steps: usize = self.events.iter().map(|event| event.steps.len()).sum();
        while self.events.len() > RECENT || steps > RECENT_STEPS {
            steps -= self.events.pop_front().map_or(0, |first| first.steps.len());
        }
    }

    /// The events after a version, if it bears them all and there are some.
    pub(super) fn after(&self, version: u32) -> Option<News> {
        if !self.bears(version) || version == self.version() {
            return None;
        }
        let events = self.events.iter().filter(|event| event.version > version).cloned().collect();
        Some(News { events, version: self.version() })
    }
}

/// A place among a session's watchers. It is left by dropping it.
pub(super) struct Seat {
    registry: Arc<WatchedSessions>,
    session_id: String,
    pub(super) watched: Arc<Watched>,
    pub(super) latest: watch::Receiver<u32>,
}

impl WatchedSessions {
    pub(super) fn new() -> WatchedSessions {
        WatchedSessions { sessions: Mutex::default(), any: watch::Sender::new(()) }
    }

    /// Takes a place among the watchers of a session, of whom there may be `most`.
    pub(super) fn join(self: &Arc<Self>, session_id: &str, most: usize) -> Option<Seat> {
        let mut sessions = self.lock();
        let watched = sessions.entry(session_id.to_owned()).or_insert_with(|| Arc::new(Watched::new()));
        if watched.latest.receiver_count() >= most {
            return None;
        }
        let (watched, latest) = (watched.clone(), watched.latest.subscribe());
        Some(Seat { registry: self.clone(), session_id: session_id.to_owned(), watched, latest })
    }

    /// Tells of a session's new version; 0: there is other news, such as that it is gone.
    pub(super) fn came_to(&self, session_id: &str, version: u32) {
        if let Some(watched) = self.lock().get(session_id) {
            watched.latest.send_modify(|latest| *latest = version.max(*latest));
        }
        self.stir_followers();
    }

    /// The sessions that are watched.
    pub(super) fn ids(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Tells of the version that a session was found to have, if that is news; none: it is gone.
    pub(super) fn found(&self, session_id: &str, version: Option<u32>) {
        if let Some(watched) = self.lock().get(session_id) {
            watched.latest.send_if_modified(|latest| {
                let is_news = version.is_none_or(|version| version > *latest);
                *latest = version.unwrap_or_default().max(*latest);
                is_news
            });
        }
    }

    /// Has those who follow the whole store look.
    pub(super) fn stir_followers(&self) {
        self.any.send_replace(());
    }

    /// Changes whenever anything in the store has.
    pub(super) fn any(&self) -> watch::Receiver<()> {
        self.any.subscribe()
    }

    /// Watchers, and the sessions that they watch.
    pub(super) fn count(&self) -> (usize, usize) {
        let sessions = self.lock();
        (sessions.values().map(|watched| watched.latest.receiver_count()).sum(), sessions.len())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Watched>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    fn new() -> Watched {
        Watched { latest: watch::Sender::new(0), recent: Default::default() }
    }

    /// Whether others watch it too.
    pub(super) fn is_shared(&self) -> bool {
        self.latest.receiver_count() > 1
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut sessions = self.registry.lock();
        // This one is still counted; nobody joins while the registry is locked.
        if self.watched.latest.receiver_count() <= 1 {
            sessions.remove(&self.session_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_leave_closes_the_door() {
        let registry = Arc::new(WatchedSessions::new());
        let (first, second) = (registry.join("game", 2), registry.join("game", 2));
        assert!(first.is_some() && second.is_some());
        assert!(registry.join("game", 2).is_none());
        assert_eq!(registry.count(), (2, 1));
        drop(first);
        assert_eq!(registry.count(), (1, 1));
        assert!(registry.join("game", 2).is_some());
        drop(second);
        assert_eq!(registry.count(), (0, 0));
    }

    #[test]
    fn news_reach_those_who_watch() {
        let registry = Arc::new(WatchedSessions::new());
        let mut seat = registry.join("game", 1).expect("room");
        seat.latest.borrow_and_update();
        registry.came_to("other", 3);
        assert!(!seat.latest.has_changed().expect("open"));
        registry.came_to("game", 3);
        assert_eq!(*seat.latest.borrow_and_update(), 3);
        // Late news of an older version, and of a session that is gone, take nothing back.
        registry.came_to("game", 2);
        registry.came_to("game", 0);
        assert!(seat.latest.has_changed().expect("open"));
        assert_eq!(*seat.latest.borrow_and_update(), 3);
        // What is found is news only if it is.
        for (found, is_news) in [(Some(2), false), (Some(3), false), (Some(5), true), (None, true)] {
            registry.found("game", found);
            assert_eq!(seat.latest.has_changed().expect("open"), is_news, "{found:?}");
            assert_eq!(*seat.latest.borrow_and_update(), if is_news { 5 } else { 3 });
        }
    }
}
