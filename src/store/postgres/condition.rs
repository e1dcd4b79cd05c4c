//! Whether the database can be used at present, for callers and for the server's health.

use crate::store::{Health, StoreError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Notify, watch};

pub(super) struct Condition {
    health: watch::Sender<Health>,
    state: Mutex<State>,
    /// Told when a statement met trouble, so that it is looked into at once.
    suspicion: Notify,
    /// Looks at the database that have begun, and the last of them that found all well.
    begun: AtomicU64,
    confirmed: watch::Sender<u64>,
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
        Condition {
            health: watch::Sender::new(Health::Unwritable),
            state,
            suspicion: Notify::new(),
            begun: AtomicU64::new(0),
            confirmed: watch::Sender::new(0),
        }
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
        let is_news = self.set(Some(refusal), readable);
        self.health.send_replace(Health::Unwritable);
        if is_news {
            tracing::warn!(why, "the database can't be used; it is tried until it can");
        }
    }

    /// It never will be well in this process.
    pub fn break_for_good(&self, why: String) {
        tracing::error!(why, "the database can't be used any more");
        self.set(Some(StoreError::Unavailable(why)), false);
        self.health.send_replace(Health::Broken);
    }

    /// Whether callers are told something else from now on.
    fn set(&self, refusal: Option<StoreError>, readable: bool) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = state.refusal != refusal;
        *state = State { refusal, readable };
        is_news
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

    /// The database is looked at from now on, by a write. The number is for [`Condition::confirm`].
    pub fn begin_look(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// That look has found all well.
    pub fn confirm(&self, look: u64) {
        self.confirmed.send_replace(look);
    }

    /// Waits for a look that begins after this and finds all well: what the database showed before it is then as durable as what it
    /// acknowledges. Where it can be read and not written, there is nothing to wait for.
    pub async fn confirmed(&self) {
        let wanted = self.begun.load(Ordering::SeqCst) + 1;
        if self.refuses_writes().is_some() && self.refuses_reads().is_none() {
            return;
        }
        self.suspect();
        // It can't fail while the sender is there.
        let _ = self.confirmed.subscribe().wait_for(|look| *look >= wanted).await;
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
    use futures_util::FutureExt;

    #[test]
    fn each_reason_is_news_once() {
        let condition = Condition::unreached();
        let absent = || Some(StoreError::Unavailable("connection refused".into()));
        let news = [absent(), absent(), Some(StoreError::Full("why".into())), absent(), None, None, absent()]
            .map(|refusal| condition.set(refusal, false));
        assert_eq!(news, [true, false, true, true, true, false, true]);
    }

    #[tokio::test]
    async fn a_look_that_has_begun_before_confirms_nothing() {
        let condition = Condition::unreached();
        condition.recover();
        let early = condition.begin_look();
        let mut waits = Box::pin(condition.confirmed());
        assert_eq!(waits.as_mut().now_or_never(), None);
        condition.suspected().now_or_never().expect("a look is asked for");
        condition.confirm(early);
        assert_eq!(waits.as_mut().now_or_never(), None);
        let later = condition.begin_look();
        condition.confirm(later);
        assert_eq!(waits.now_or_never(), Some(()));
        condition.worsen(StoreError::Full("why".into()), true);
        assert_eq!(condition.confirmed().now_or_never(), Some(()), "there will be none");
    }

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
