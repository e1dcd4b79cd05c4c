//! What every store must do, whatever database it is made of. Each function wants a store of its own, empty.

pub mod archive;
mod batches;
mod changes;
mod expiry;
mod imports;
mod lists;
mod outcomes;
mod races;

pub use batches::*;
pub use changes::*;
pub use expiry::*;
pub use imports::*;
pub use lists::*;
pub use outcomes::*;
pub use races::*;

use mancala::store::{Append, Create, CreateAll, Delete, EventHash, Head, Query, Request, State, Store, StoredEvent};
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Subject = Arc<dyn Store>;

pub fn request(id: &str) -> Request {
    let mut digest = [7; 32];
    digest[..id.len().min(32)].copy_from_slice(&id.as_bytes()[..id.len().min(32)]);
    Request { id: id.into(), digest }
}

/// A session made at time 1,000 with one event.
pub fn create(session_id: &str) -> Create {
    Create {
        head: Head {
            session_id: session_id.into(),
            game: "gore".into(),
            labels: BTreeMap::new(),
            created: 1_000,
            updated: 1_000,
            state: State::Active,
            version: 1,
            players: [None, None],
            expires: None,
            deadline: None,
            summary: format!("{session_id} at 1"),
        },
        events: vec!["created".into()],
        request: None,
    }
}

/// A batch without a request.
pub fn create_all(sessions: impl IntoIterator<Item = Create>) -> CreateAll {
    CreateAll { sessions: sessions.into_iter().collect(), request: None }
}

/// One event on top of a version, at time 1,000 + that version.
pub fn append(session_id: &str, expected_version: u32) -> Append {
    append_of(session_id, expected_version, vec![format!("event {}", expected_version + 1)])
}

/// These events on top of a version, at time 1,000 + that version.
pub fn append_of(session_id: &str, expected_version: u32, events: Vec<String>) -> Append {
    Append {
        session_id: session_id.into(),
        expected_version,
        time: 1_000 + i64::from(expected_version),
        request: None,
        hashes: (1..).zip(&events).map(|(n, body)| EventHash::START.then(n, 0, None, body)).collect(),
        events,
        state: State::Active,
        players: [None, None],
        expires: None,
        deadline: None,
        summary: format!("{session_id} at {}", expected_version + 1),
    }
}

pub fn delete(session_id: &str) -> Delete {
    Delete { session_id: session_id.into(), expected_version: None, request: None, time: 5_000 }
}

async fn all(store: &Subject, session_id: &str) -> Vec<StoredEvent> {
    store.read(session_id, 0, usize::MAX).await.expect("read").expect("the session")
}

fn bodies(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|event| event.body.as_str()).collect()
}

async fn ids(store: &Subject, query: Query) -> Vec<String> {
    store.list(query).await.expect("list").heads.into_iter().map(|head| head.session_id).collect()
}
