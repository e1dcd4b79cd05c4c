//! Durable event logs: one trait, and an implementation for each database.
//!
//! A store knows nothing of games. It keeps, for every session, a dense list of events (opaque text) and one [`Head`], the
//! summary that lists are made from. The events are the only truth: a head can be made again from them.
//!
//! Every write is durable when its call returns `Ok`, and atomic: a call that fails has left nothing behind, except
//! for [`StoreError::Unknown`], after which the caller must look the request up.

pub mod archive;
pub mod compare;
mod feed;
mod filter;
mod hints;
mod location;
mod metrics;
pub mod postgres;
pub mod sqlite;
pub mod transfer;
mod walk;
mod writes;

pub use crate::session::{EventHash, Micros, State};
pub use feed::{Change, Changed, Changes, Cursor};
pub use filter::{Filter, Span};
pub use hints::{Heard, Hearing, Hint};
pub use location::{Location, UnknownKind};
pub use metrics::StoreMetrics;
pub use writes::{Append, Appended, Create, CreateAll, Created, CreatedAll, Creation, Delete, Deleted, Import};

use async_trait::async_trait;
use std::collections::BTreeMap;
use tokio::sync::watch;

/// What makes a repeated request recognisable: the caller's id, and a digest of what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Chosen by the caller; unique within a session, or among creations.
    pub id: String,
    /// Digest of the request's content, so that an id used again for something else is noticed.
    pub digest: [u8; 32],
}

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Place in the session's list: 1, 2, 3, ... without gaps.
    pub seq: u32,
    /// When the server took it in.
    pub time: Micros,
    /// The request that caused it, if the caller named it. All events of one append bear the same one.
    pub request: Option<Request>,
    /// What happened, as the session layer wrote it.
    pub body: String,
    /// Its hash in the [chain](crate::session::EventHash). Events that are older than hashes have none; every later one has.
    pub hash: Option<EventHash>,
}

/// The summary of a session that lists are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The session.
    pub session_id: String,
    /// The game's identifier.
    pub game: String,
    /// The caller's own marks.
    pub labels: BTreeMap<String, String>,
    /// When it was made.
    pub created: Micros,
    /// When it last changed.
    pub updated: Micros,
    /// Where it stands.
    pub state: State,
    /// Number of its events.
    pub version: u32,
    /// Who holds its seats.
    pub players: Players,
    /// When it is to be deleted, if that has been announced.
    pub expires: Option<Micros>,
    /// When the clock of the seat to act will have run out, if it runs.
    pub deadline: Option<Micros>,
    /// The rest, as the session layer wrote it.
    pub summary: String,
}

/// The players who hold South's and North's seat, as the caller refers to them.
pub type Players = [Option<String>; 2];

/// A place in the order of lists, newest first: `created` and `session_id` of the session there.
pub type Place = (Micros, String);

/// Which heads to list, newest first by (`created`, `session_id`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Those that are like this.
    pub filter: Filter,
    /// Only those that come after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

/// Heads of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadPage {
    /// Newest first. They may be fewer than the limit, even none, though more follow: a page is a bounded piece of work.
    pub heads: Vec<Head>,
    /// Where to go on after; none: this was the last page.
    pub next: Option<Place>,
}

/// Sessions that nothing has happened to for long and whose deletion is not announced, longest first: by the minute of their
/// last change, and then by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleQuery {
    /// In this state.
    pub state: State,
    /// Last changed at this time or before.
    pub since: Micros,
    /// Only those that come after this one, given by its `updated` and `session_id`.
    pub after: Option<(Micros, String)>,
    /// At most so many.
    pub limit: usize,
}

/// How many sessions there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Being played.
    pub active: u64,
    /// Played to a result.
    pub finished: u64,
    /// Ended without one.
    pub aborted: u64,
}

/// A session at a version, to be expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expirable {
    /// The session.
    pub session_id: String,
    /// Its version.
    pub version: u32,
    /// When it last changed.
    pub updated: Micros,
}

/// Whether writes succeed at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// They do.
    Writable,
    /// They do not (disk full, read-only file); the store tries again by itself.
    Unwritable,
    /// They never will again in this process: the file is damaged or the disk failed. The server must stop.
    Broken,
}

/// Why a store could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No room. Nothing was written; the store tries by itself until there is room.
    #[error("no room left to store anything: {0}")]
    Full(String),
    /// The file can't be written. Nothing was written; the store tries by itself until it can.
    #[error("the store can't be written: {0}")]
    Unwritable(String),
    /// The store can't be reached or is stopping. Nothing was written.
    #[error("the store can't be reached: {0}")]
    Unavailable(String),
    /// The write may or may not have happened: ask again with the same request id.
    #[error("the outcome of a write is unknown: {0}")]
    Unknown(String),
    /// What was read is not what was written. If only one session is concerned, the store's health stays as it is.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// A durable store of sessions. All implementations pass one conformance suite.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Makes a session. A request id that is known comes before a session id that is taken.
    async fn create(&self, create: Create) -> Result<Created, StoreError>;

    /// Makes a session with its history. What refuses a creation refuses this.
    async fn import(&self, import: Import) -> Result<Created, StoreError>;

    /// Makes sessions, all or none. A request id that is known comes before session ids that are taken.
    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError>;

    /// The creation that a request id stands for, if any.
    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError>;

    /// Adds events to a session.
    async fn append(&self, append: Append) -> Result<Appended, StoreError>;

    /// How many appends in a row [`Store::append_all`] takes at once.
    fn longest_row(&self) -> usize {
        1
    }

    /// Adds events to a session by appends in a row, each expecting the version that the one before it leads to: all of them or none. Where
    /// the session stands after them the last one says; the others' state, players, times and summary are not looked at.
    ///
    /// There is at least one, and at most [`Store::longest_row`].
    async fn append_all(&self, mut appends: Vec<Append>) -> Result<Appended, StoreError> {
        assert_eq!(appends.len(), 1, "as many at once as the store says");
        self.append(appends.remove(0)).await
    }

    /// Removes a session and its events; its id and request ids stay taken.
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError>;

    /// Events of a session from `after + 1` on, at most `limit`, in order; `None` if there is no such session.
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError>;

    /// The head of a session, if there is such a session.
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError>;

    /// The heads of these sessions, in this order, as they are at one moment.
    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError>;

    /// The versions of these sessions, in this order; none of those that are not there.
    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError>;

    /// A page of heads, newest first.
    async fn list(&self, query: Query) -> Result<HeadPage, StoreError>;

    /// Sessions whose deletion may be announced.
    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError>;

    /// Sessions in this state whose announced time of deletion is `by` or before, the first due first, at most `limit`.
    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError>;

    /// Sessions whose deadline has passed before a time, with it, the longest overdue first: those after a place in that order
    /// (deadline, session), at most `limit`.
    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError>;

    /// How many sessions are like this, counted up to `most`.
    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError>;

    /// How many sessions there are in each state. It reads an entry of each session.
    async fn census(&self) -> Result<Census, StoreError>;

    /// Where the order of all changes ends at present.
    async fn latest_change(&self) -> Result<Cursor, StoreError>;

    /// What has been stored after a place in the order of all changes, of all sessions that are still there, and which sessions have
    /// been deleted: `limit` events or fewer, cut between two appends unless one alone has more. `None` if the place is not of this store, or it has
    /// not come there yet.
    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError>;

    /// Whether other servers may write to the same store. Then what is in memory may be old.
    fn is_shared(&self) -> bool {
        false
    }

    /// Tells other servers of this store that a session has come to a version, or 0 if it has changed in another way. It may not
    /// reach them, and nobody waits for it.
    fn tell(&self, _session_id: &str, _version: u32) {}

    /// Listens to what other servers of this store tell, if there can be any.
    fn hear(&self) -> Option<Hearing> {
        None
    }

    /// Whether writes succeed, as it changes.
    fn health(&self) -> watch::Receiver<Health>;

    /// Finishes what is queued and closes. Later calls answer [`StoreError::Unavailable`].
    async fn close(&self);
}
