//! The embedded store does what every store must, and keeps it.

#![cfg(feature = "server")]

mod support;

use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Create, Created, Creation, Deleted, Query, Store};
use std::sync::Arc;
use support::store_conformance as suite;
use tempfile::TempDir;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens")
}

/// Each function of the suite as a test, on a store of its own.
macro_rules! conformance {
    ($($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let folder = TempDir::new().expect("a folder");
                let store = Arc::new(open(&folder));
                suite::$name(store.clone()).await;
                store.close().await;
            }
        )*

        /// Names of all the suite's tests that run here.
        const RUN: &[&str] = &[$(stringify!($name)),*];
    };
}

conformance! {
    what_is_created_is_read_back
    a_session_id_is_taken_once
    a_creation_request_makes_one_session
    creations_without_request_are_not_repetitions
    an_append_adds_events_and_changes_the_head
    a_read_is_a_slice
    a_missing_session_is_not_found
    a_conflict_leaves_nothing
    a_request_id_is_taken_within_its_session_only
    a_deleted_session_is_gone_for_good
    a_deletion_without_request_is_remembered
    lists_filter_and_order
    pages_are_stable_while_others_write
    a_change_of_state_moves_between_lists
    changed_players_are_found_by_their_names
    what_is_rare_is_found_all_the_same
    a_batch_is_made_whole_or_not_at_all
    a_batch_request_makes_its_sessions_once
    heads_come_in_the_order_asked_for
    changes_come_in_the_order_of_writing_and_whole
    changes_bear_events_and_sessions_as_they_are
    deletions_are_changes_too
    a_place_that_is_not_reached_is_unknown
    followers_miss_nothing_that_many_write
    idle_sessions_come_longest_first
    due_sessions_come_first_due_first
    overdue_sessions_come_longest_overdue_first
    one_of_many_racing_appends_wins
    one_of_many_racing_creations_wins
    many_sessions_are_written_at_once
    a_big_append_is_one
    a_refused_write_spares_its_neighbours
    a_closed_store_says_so
    what_is_imported_is_read_back
    an_import_is_refused_as_a_creation_is
    every_event_has_its_hash
}

#[test]
fn the_whole_suite_runs() {
    let files = [
        include_str!("support/store_conformance/outcomes.rs"),
        include_str!("support/store_conformance/lists.rs"),
        include_str!("support/store_conformance/batches.rs"),
        include_str!("support/store_conformance/changes.rs"),
        include_str!("support/store_conformance/expiry.rs"),
        include_str!("support/store_conformance/races.rs"),
        include_str!("support/store_conformance/imports.rs"),
    ];
    let declared: Vec<_> = files
        .iter()
        .flat_map(|file| file.lines())
        .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
        .collect();
    assert_eq!(declared, RUN);
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let made = Create { request: Some(suite::request("make")), ..suite::create("s") };
    store.create(made.clone()).await.expect("create");
    store.append(Append { request: Some(suite::request("r")), ..suite::append("s", 1) }).await.expect("append");
    store.create(suite::create("gone")).await.expect("create");
    store.delete(suite::delete("gone")).await.expect("delete");
    let head = store.head("s").await.expect("head");
    let events = store.read("s", 0, 10).await.expect("read");
    store.close().await;
    drop(store);

    let store = open(&folder);
    assert!(head.is_some());
    assert_eq!(store.head("s").await.expect("head"), head);
    assert_eq!(store.read("s", 0, 10).await.expect("read"), events);
    let creation = Creation { session_id: "s".into(), request: suite::request("make"), deleted: false };
    assert_eq!(store.create(made).await, Ok(Created::Repeated(creation)));
    let repeated = Append { request: Some(suite::request("r")), ..suite::append("s", 2) };
    assert_eq!(store.append(repeated).await, Ok(Appended::Conflict));
    assert_eq!(store.append(suite::append("s", 2)).await, Ok(Appended::Done));
    assert_eq!(store.create(suite::create("gone")).await, Ok(Created::IdTaken));
    assert_eq!(store.delete(suite::delete("gone")).await, Ok(Deleted::Gone(None)));
    assert_eq!(store.list(Query { limit: 9, ..Query::default() }).await.expect("list").heads.len(), 1);
}

#[tokio::test]
async fn closing_leaves_one_file_and_the_lock_is_free() {
    let folder = TempDir::new().expect("a folder");
    for round in 0..3 {
        let store = open(&folder);
        store.create(suite::create(&format!("s{round}"))).await.expect("create");
        store.close().await;
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        assert_eq!(names, ["store.db", "store.db.lock"]);
    }
}

#[tokio::test]
async fn dropping_closes_too() {
    let folder = TempDir::new().expect("a folder");
    for round in 0..20 {
        let store = open(&folder);
        assert_eq!(store.create(suite::create(&format!("s{round}"))).await, Ok(Created::Done));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn folder_and_file_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a/b/store.db");
    let store = SqliteStore::open(&path, Options::default()).expect("the store opens");
    store.create(suite::create("s")).await.expect("create");
    let mode = |path: &str| std::fs::metadata(folder.path().join(path)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode("a"), 0o700);
    assert_eq!(mode("a/b"), 0o700);
    for file in ["a/b/store.db", "a/b/store.db-wal", "a/b/store.db-shm", "a/b/store.db.lock"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[tokio::test]
async fn an_empty_file_is_a_new_store() {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("store.db"), "").expect("an empty file");
    let store = open(&folder);
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
}

/// The log must not grow with what is written, only with what has not been moved into the file yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_small() {
    let folder = TempDir::new().expect("a folder");
    let store = Arc::new(open(&folder));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..64 {
        let store = store.clone();
        writers.spawn(async move {
            let id = format!("s{writer}");
            store.create(suite::create(&id)).await.expect("create");
            for version in 1..400 {
                assert_eq!(store.append(suite::append(&id, version)).await, Ok(Appended::Done));
                if version % 4 == 0 {
                    store.head(&id).await.expect("head");
                }
            }
        });
    }
    writers.join_all().await;
    let log = std::fs::metadata(folder.path().join("store.db-wal")).expect("the log").len();
    assert!(log < 64 << 20, "the log has {log} bytes");
}
