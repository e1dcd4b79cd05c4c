//! Places of sessions in memory: each with a lock, the most recently used kept.

use super::live::Live;
use lru::LruCache;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A session's place in memory. The lock is held while a command is decided and stored; empty: the store must be read.
pub(super) type Slot = Arc<tokio::sync::Mutex<Option<Box<Live>>>>;

/// The most recently used slots, and those that are no longer among them but that somebody holds: of a session there is one at a time. Were
/// there two, a change by the one would leave the other as it was, and who reads that would be told what is no longer so.
pub(super) struct Slots(Mutex<Places>);

struct Places {
    lately: LruCache<String, Slot>,
    /// Some of them are held by nobody any more.
    held: HashMap<String, Weak<tokio::sync::Mutex<Option<Box<Live>>>>>,
    /// So many are held before those are looked for that nobody holds any more.
    most_held: usize,
}

/// The least that is ever looked through.
const HELD: usize = 64;

impl Places {
    /// Goes on knowing a slot for as long as somebody holds it. Nobody else can take hold of it meanwhile.
    fn let_go(&mut self, session_id: String, slot: &Slot) {
        if Arc::strong_count(slot) == 1 {
            return;
        }
        self.held.insert(session_id, Arc::downgrade(slot));
        if self.held.len() > self.most_held {
            self.held.retain(|_, slot| slot.strong_count() > 0);
            self.most_held = HELD.max(2 * self.held.len());
        }
    }
}

impl Slots {
    pub(super) fn new(capacity: usize) -> Slots {
        let lately = LruCache::new(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
        Slots(Mutex::new(Places { lately, held: HashMap::new(), most_held: HELD }))
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, session_id: &str) -> Slot {
        let mut places = self.places();
        if let Some(slot) = places.lately.get(session_id) {
            return slot.clone();
        }
        let slot = places.held.remove(session_id).and_then(|slot| slot.upgrade()).unwrap_or_default();
        if let Some((pushed_out, old)) = places.lately.push(session_id.to_owned(), slot.clone()) {
            places.let_go(pushed_out, &old);
        }
        slot
    }

    pub(super) fn len(&self) -> usize {
        self.places().lately.len()
    }

    /// Forgets a session that is not there.
    pub(super) fn forget(&self, session_id: &str) {
        let mut places = self.places();
        if let Some((session_id, slot)) = places.lately.pop_entry(session_id) {
            places.let_go(session_id, &slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_session_there_is_one_slot_as_long_as_somebody_holds_it() {
        let slots = Slots::new(1);
        let held = slots.get("a");
        drop(slots.get("b"));
        assert!(Arc::ptr_eq(&held, &slots.get("a")), "it was pushed out");
        slots.forget("a");
        assert!(Arc::ptr_eq(&held, &slots.get("a")), "it was forgotten");
        drop(slots.get("b"));
        let gone = Arc::downgrade(&held);
        drop(held);
        assert_eq!(gone.strong_count(), 0, "nothing keeps it");
        drop(slots.get("a"));
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn slots_that_nobody_holds_are_not_kept_in_mind() {
        let slots = Slots::new(1);
        for n in 0..10 * HELD {
            let held = slots.get(&n.to_string());
            drop(slots.get("other"));
            drop(held);
        }
        assert!(slots.places().held.len() <= HELD + 1);
    }
}
