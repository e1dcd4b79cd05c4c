//! Running sessions: commands are decided, stored, and only then answered.
//!
//! A reply means that its events are durable. Between a decision and its events' durability nobody else may decide on the same
//! session, so that every session has a slot with a lock. What a slot holds is only a copy: the store alone
//! says what happened, and an append that finds another version there makes the slot read again. Where several servers share a
//! store, a read asks it for the session's version first.

mod clock;
mod commands;
mod compute;
mod counts;
mod create;
mod create_all;
mod error;
mod jitter;
mod live;
mod quota;
mod reads;
mod records;
mod rematch;
mod replicas;
mod request;
mod retention;
mod row;
mod secret;
mod slots;
mod timekeeper;
mod under_way;
mod verify;
mod watch;
mod watched;

pub use crate::store::{Census, Cursor, Filter, Place, Span};
pub use clock::{Clock, SystemClock};
pub use commands::{Applied, Delete, Target};
pub use compute::{Cancel, Compute};
pub use counts::{Count, Counts};
pub use create::{Made, NewSession, is_reserved_label};
pub use create_all::MadeAll;
pub use error::ServiceError;
pub use reads::{EventRecord, Events, Listed, Page, Shown};
pub use records::{Import, record_of};
pub use request::RequestId;
pub use retention::{Retention, Swept};
pub use row::Asked;
pub use secret::{Secret, Token, is_operator_name, read_join_code};
pub use verify::{History, is_remembered, made_by};
pub use watch::{Feed, FeedPage, News, SessionChange, Watch};

use crate::session::Micros;
use crate::store::Store;
use quota::Quota;
use slots::Slots;
use std::sync::Arc;
use tokio::sync::Semaphore;
use under_way::UnderWay;
use watched::WatchedSessions;

/// All sessions of a store. Cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    slots: Arc<Slots>,
    counts: Arc<Counts>,
    quota: Arc<Quota>,
    under_way: UnderWay,
    watched: Arc<WatchedSessions>,
    /// Of watchers that wait to be told of what others know already.
    turns: Arc<Semaphore>,
}

impl Sessions {
    /// Sessions that are kept in a store. At most `cached` of them are held in memory between calls.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, cached: usize) -> Sessions {
        Sessions {
            store,
            clock,
            slots: Arc::new(Slots::new(cached)),
            counts: Arc::default(),
            quota: Arc::new(Quota::new(0)),
            under_way: UnderWay::new(0),
            watched: Arc::new(WatchedSessions::new()),
            turns: Arc::new(Semaphore::new(watch::TURNS)),
        }
    }

    /// The same, limited: to so many changes under way at once, and so many sessions being played of each operator. 0: any number.
    #[must_use]
    pub fn limited(self, changes: usize, open_sessions: usize) -> Sessions {
        Sessions { quota: Arc::new(Quota::new(open_sessions)), under_way: UnderWay::new(changes), ..self }
    }

    /// What is counted of them.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many have a place in memory.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.slots.len()
    }

    /// How many there are in each state. It reads an entry of each session.
    ///
    /// # Errors
    /// The store's.
    pub async fn census(&self) -> Result<Census, ServiceError> {
        Ok(self.store.census().await?)
    }

    /// The server's time.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.clock.now()
    }
}
