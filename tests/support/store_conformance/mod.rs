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

/// Gives a macro the names of all functions of the suite: those that write, a semicolon, and those that only read.
macro_rules! each_test {
    ($then:ident) => {
        $then! {
            what_is_created_is_read_back
            a_session_id_is_taken_once
            a_creation_request_makes_one_session
            creations_without_request_are_not_repetitions
            an_append_adds_events_and_changes_the_head
            appends_in_a_row_are_stored_whole_or_not_at_all
            a_read_is_a_slice
            a_missing_session_is_not_found
            a_conflict_leaves_nothing
            a_request_id_is_taken_within_its_session_only
            a_deleted_session_is_gone_for_good
            a_deletion_without_request_is_remembered
            a_batch_is_made_whole_or_not_at_all
            a_batch_request_makes_its_sessions_once
            heads_come_in_the_order_asked_for
            changes_come_in_the_order_of_writing_and_whole
            changes_bear_events_and_sessions_as_they_are
            deletions_are_changes_too
            a_place_that_is_not_reached_is_unknown
            followers_miss_nothing_that_many_write
            one_of_many_racing_appends_wins
            one_of_many_racing_creations_wins
            many_sessions_are_written_at_once
            a_big_append_is_one
            a_refused_write_spares_its_neighbours
            a_closed_store_says_so
            what_is_imported_is_read_back
            an_import_is_refused_as_a_creation_is
            every_event_has_its_hash
            ;
            lists_filter_and_order
            pages_are_stable_while_others_write
            a_change_of_state_moves_between_lists
            changed_players_are_found_by_their_names
            what_is_rare_is_found_all_the_same
            idle_sessions_come_longest_first
            due_sessions_come_first_due_first
            overdue_sessions_come_longest_overdue_first
        }
    };
}
pub(crate) use each_test;

#[test]
fn no_function_of_the_suite_is_left_out() {
    macro_rules! names {
        ($($write:ident)*; $($read:ident)*) => { [$(stringify!($write),)* $(stringify!($read)),*] };
    }
    let files = [
        include_str!("outcomes.rs"),
        include_str!("batches.rs"),
        include_str!("changes.rs"),
        include_str!("races.rs"),
        include_str!("imports.rs"),
        include_str!("lists.rs"),
        include_str!("expiry.rs"),
    ];
    let functions = files.iter().flat_map(|file| file.lines());
    let functions: Vec<_> = functions.filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next()).collect();
    assert_eq!(functions, each_test!(names));
}

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
