//! All changes of a store in one order, for those who follow it.

use super::{Head, StoredEvent};

/// A place in the order in which a store took in all changes, as text that means something to that store alone. Whoever has read
/// up to one and goes on from it has missed nothing, whenever that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub String);

impl Cursor {
    /// Before the first change.
    #[must_use]
    pub fn start() -> Cursor {
        Cursor("0".to_owned())
    }
}

/// What happened to one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The session as it is when this is read; without a summary if it was deleted.
    pub head: Head,
    /// What happened.
    pub what: Changed,
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// These events, in order; those of one append together.
    Events(Vec<StoredEvent>),
    /// It was deleted.
    Deleted,
}

/// A part of the order of all changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// In order.
    pub changes: Vec<Change>,
    /// Where to go on after.
    pub cursor: Cursor,
    /// Whether nothing followed when this was read.
    pub caught_up: bool,
}
