//! Whole stores: read from end to end, and taken in by another store.
//!
//! What is moved is everything that a store answers by: sessions with their heads and events, deleted sessions, and which sessions
//! each request has made. What is not moved is the order of all changes, which is a store's own: the cursors of one are
//! refused by the other.

use super::{Cursor, EventHash, Head, Micros, Request, StoreError, StoredEvent};
use async_trait::async_trait;

/// A place in the order of session ids: after an event of a session, or after all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The session.
    pub session_id: String,
    /// The last event before the place; [`Mark::END`] if the session is done with.
    pub version: u32,
}

impl Mark {
    /// No event has this version.
    pub const END: u32 = u32::MAX;

    /// Before all sessions: no id is empty.
    #[must_use]
    pub fn start() -> Mark {
        Mark::default()
    }

    /// After a session.
    #[must_use]
    pub fn after(session_id: &str) -> Mark {
        Mark { session_id: session_id.to_owned(), version: Mark::END }
    }
}

/// How much is read at a time. A session that is larger is read in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Events; at least one.
    pub events: usize,
    /// Bytes of their bodies, of which the last event may go beyond.
    pub bytes: usize,
}

impl Default for Limit {
    /// What a database writes in one go without keeping others waiting.
    fn default() -> Limit {
        Limit { events: 2_000, bytes: 4 << 20 }
    }
}

/// A session, or a part of one that is too large for one portion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The session as it stands after all of its events, also those of other parts.
    pub head: Head,
    /// Some of its events, in order.
    pub events: Vec<StoredEvent>,
    /// No further event of it is stored.
    pub is_last: bool,
}

/// Gives events that are older than hashes the ones that follow from what is stored of them, as whoever reads them does. So a copy has
/// the hashes of all events.
pub(super) struct Chain {
    session_id: String,
    last: EventHash,
}

impl Chain {
    pub(super) const fn new() -> Chain {
        Chain { session_id: String::new(), last: EventHash::START }
    }

    /// Takes parts in their order.
    pub(super) fn complete(&mut self, part: &mut Part) {
        if part.head.session_id != self.session_id {
            *self = Chain { session_id: part.head.session_id.clone(), last: EventHash::START };
        }
        for event in &mut part.events {
            let request_id = event.request.as_ref().map(|request| request.id.as_str());
            self.last = event.hash.unwrap_or_else(|| self.last.then(event.seq, event.time, request_id, &event.body));
            event.hash = Some(self.last);
        }
    }
}

/// What is read of a session at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// This.
    Part(Part),
    /// Its rows make no sense, and nothing more of it is read.
    Unreadable {
        /// The session.
        session_id: String,
        /// What is wrong.
        what: String,
    },
}

impl Piece {
    /// The session that it is of.
    #[must_use]
    pub fn session_id(&self) -> &str {
        match self {
            Piece::Part(part) => &part.head.session_id,
            Piece::Unreadable { session_id, .. } => session_id,
        }
    }
}

/// Sessions in the order of their ids, as they are at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    /// In order.
    pub pieces: Vec<Piece>,
    /// Where to go on, though perhaps nothing follows; none: these were the last.
    pub next: Option<Mark>,
}

/// A session that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its id, which stays taken.
    pub session_id: String,
    /// When that was.
    pub deleted: Micros,
    /// The request that asked for it, if that had an id.
    pub request: Option<Request>,
}

/// What a request for one or more sessions has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making {
    /// The request.
    pub request: Request,
    /// The sessions, in its order; at least one.
    pub sessions: Vec<MadeSession>,
}

/// A session that a request has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeSession {
    /// Its id.
    pub session_id: String,
    /// There is such a session, or it is known to have been deleted.
    pub is_known: bool,
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions that are there.
    pub sessions: u64,
    /// Their events, by their heads.
    pub events: u64,
    /// Sessions that were deleted.
    pub tombstones: u64,
    /// Requests that have made sessions.
    pub makings: u64,
}

/// What became of what a store was to take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is there and durable: so many sessions, events, deletions or requests are new, the others were there before.
    Done(usize),
    /// Something else is there: this. What came before it may have been taken in.
    Different(String),
}

/// Whether servers are kept off a store while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// They may run and write.
    Shared,
    /// None may run.
    Alone,
}

/// A store that can be read from end to end. Ids are ordered by their bytes.
#[async_trait]
pub trait Archive: Send + Sync {
    /// Sessions from a place on. They are consistent with each other; the next portion may be of a later moment.
    async fn sessions(&self, from: Mark, limit: Limit) -> Result<Portion, StoreError>;

    /// Deleted sessions whose ids come after this one, at most `limit`.
    async fn tombstones(&self, after: &str, limit: usize) -> Result<Vec<Tombstone>, StoreError>;

    /// Requests that have made sessions, those whose ids come after this one, at most `limit`.
    async fn makings(&self, after: &str, limit: usize) -> Result<Vec<Making>, StoreError>;

    /// What these requests have made, in this order; none of those that have made nothing.
    async fn made_by(&self, request_ids: Vec<String>) -> Result<Vec<Option<Making>>, StoreError>;

    /// How much there is. It reads an entry of each session.
    async fn totals(&self) -> Result<Totals, StoreError>;

    /// The last of all changes at present. The same as before, and the same totals: nothing has changed.
    async fn latest(&self) -> Result<Cursor, StoreError>;

    /// What is wrong with the store beside what it holds of each session, if the store itself can tell.
    async fn damage(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}

/// What a store says that is to take in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It was empty, and is marked now.
    New,
    /// It is marked by a copy from there that did not come to its end: it can go on.
    Resumed,
    /// A copy from there has come to its end before. Nothing has changed.
    Whole,
    /// It holds something that no copy has put there. Nothing has changed.
    InUse,
    /// A copy from elsewhere is in it, or a part of one. Nothing has changed.
    OtherSource(String),
}

/// A store that takes in what another one gives. Everything can be done again: what is there and the same is passed over.
#[async_trait]
pub trait Intake: Send + Sync {
    /// What it has taken in.
    fn archive(&self) -> &dyn Archive;

    /// Marks the store as half copied, so that no server opens it until [`Intake::finish`].
    ///
    /// `from` names the source. `now` becomes a place in the order of all changes that no other store of the same sessions has come
    /// to, so that their cursors are told from its own.
    async fn begin(&self, from: &str, now: Micros) -> Result<Begun, StoreError>;

    /// Takes in sessions, or parts of them in their order.
    async fn take_sessions(&self, parts: Vec<Part>) -> Result<Taken, StoreError>;

    /// Takes in that sessions were deleted.
    async fn take_tombstones(&self, tombstones: Vec<Tombstone>) -> Result<Taken, StoreError>;

    /// Takes in what requests have made.
    async fn take_makings(&self, makings: Vec<Making>) -> Result<Taken, StoreError>;

    /// Takes the mark away: the copy is whole.
    async fn finish(&self) -> Result<(), StoreError>;

    /// Finishes what is under way and closes.
    async fn close(&self);
}
