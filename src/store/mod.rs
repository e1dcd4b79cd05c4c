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

pub use crate::session::{EventHash, Micros, State};
pub use feed::{Change, Changed, Changes, Cursor};
pub use filter::{Filter, Span};
pub use hints::{Heard, Hearing, Hint};
pub use location::{Location, UnknownKind};
pub use metrics::StoreMetrics;

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

/// A session to make: its head (with `version` = number of events) and its first events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Create {
    /// The session as it is after its first events.
    pub head: Head,
    /// Bodies of the events 1, 2, ...; at least one.
    pub events: Vec<String>,
    /// The request that asked for it. Its id is unique among all creations of the store. The first events bear it, so it
    /// is also taken within the session.
    pub request: Option<Request>,
}

impl Create {
    /// # Panics
    /// If it has no events, or another version than events: a fault of the caller.
    pub(crate) fn assert_valid(&self) {
        assert!(!self.events.is_empty(), "a session is made with its first events");
        assert_eq!(self.head.version as usize, self.events.len(), "a version is the number of events");
    }

    /// The hashes of its events, which bear this request: its own, or that of the batch that it is in.
    #[must_use]
    pub fn hashes(&self, request: Option<&Request>) -> Vec<EventHash> {
        let request_id = request.map(|request| request.id.as_str());
        let chain = (1..).zip(&self.events).scan(EventHash::START, |head, (version, body)| {
            *head = head.then(version, self.head.created, request_id, body);
            Some(*head)
        });
        chain.collect()
    }
}

/// A session to make with a history that it has had elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The session as it is after all of its events.
    pub head: Head,
    /// All of its events; at least one. Those of one request follow on each other.
    pub events: Vec<StoredEvent>,
    /// The request that asked for the import. Its id is unique among all creations of the store, and not taken within the session.
    pub request: Option<Request>,
}

impl Import {
    /// # Panics
    /// If it has no events, or they are not numbered from 1 to its version: a fault of the caller.
    pub(crate) fn assert_valid(&self) {
        assert!(!self.events.is_empty(), "a session is made with its first events");
        assert!(self.events.iter().map(|event| event.seq).eq(1..=self.head.version), "events are numbered from 1 to the version");
    }
}

/// What became of a [`Create`] or an [`Import`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It was made.
    Done,
    /// A session of this id is there, or was and has been deleted: ids are never used twice.
    IdTaken,
    /// The request id has made a session before.
    Repeated(Creation),
}

/// Sessions to make, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateAll {
    /// At least one, each without a request and with an id of its own.
    pub sessions: Vec<Create>,
    /// The request that asked for them. Its id is unique among all creations of the store, single ones too.
    pub request: Option<Request>,
}

impl CreateAll {
    /// # Panics
    /// If there are none, if one of them is no valid [`Create`] or has a request of its own: a fault of the caller.
    pub(crate) fn assert_valid(&self) {
        assert!(!self.sessions.is_empty(), "a batch has sessions");
        for create in &self.sessions {
            create.assert_valid();
            assert!(create.request.is_none(), "the request is the batch's");
        }
    }
}

/// What became of a [`CreateAll`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreatedAll {
    /// They were made.
    Done,
    /// None was made: the ids of these (places in the batch, from 0) are taken or were.
    IdsTaken(Vec<usize>),
    /// None was made: the request id has made these sessions before, in this order.
    Repeated(Vec<Creation>),
}

/// A creation that a request id stands for; of a batch, that of its first session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The session that it made.
    pub session_id: String,
    /// The request.
    pub request: Request,
    /// That session has been deleted since.
    pub deleted: bool,
}

/// Events to add to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The session.
    pub session_id: String,
    /// The version that it must have; the first new event is the one after it.
    pub expected_version: u32,
    /// When the server took the events in.
    pub time: Micros,
    /// The request that causes them. Its id is unique within the session.
    pub request: Option<Request>,
    /// Bodies of the events; at least one.
    pub events: Vec<String>,
    /// Their hashes, one for each.
    pub hashes: Vec<EventHash>,
    /// Where the session stands after them.
    pub state: State,
    /// Who holds its seats after them.
    pub players: Players,
    /// When it is to be deleted, if that is announced after them.
    pub expires: Option<Micros>,
    /// The head's new deadline.
    pub deadline: Option<Micros>,
    /// The head's new summary.
    pub summary: String,
}

impl Append {
    /// # Panics
    /// If it has no events, or not a hash for each: a fault of the caller.
    pub(crate) fn assert_valid(&self) {
        assert!(!self.events.is_empty(), "an append has events");
        assert_eq!(self.events.len(), self.hashes.len(), "every event has its hash");
    }

    /// The version that it leads to.
    pub(crate) fn version(&self) -> u32 {
        self.expected_version + self.events.len() as u32
    }
}

/// What became of an [`Append`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The events are durable.
    Done,
    /// The session's version is another one, or the request id is used within it: read it and decide again.
    Conflict,
    /// There is no such session.
    NotFound,
}

/// A session to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The session.
    pub session_id: String,
    /// The version that it must have, if that matters.
    pub expected_version: Option<u32>,
    /// The request, remembered after the session is gone so that a repetition is answered alike.
    pub request: Option<Request>,
    /// Now.
    pub time: Micros,
}

/// What became of a [`Delete`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone.
    Done,
    /// Its version is this one.
    Conflict(u32),
    /// There never was such a session.
    NotFound,
    /// It was deleted before, by this request if that had an id.
    Gone(Option<Request>),
}

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
    /// been deleted: `limit` events or fewer, or one append that has more. `None` if the place is not of this store, or it has
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
