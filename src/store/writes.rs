//! What a store is asked to change, and what became of it.

use super::{EventHash, Head, Micros, Players, Request, State, StoredEvent};

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
