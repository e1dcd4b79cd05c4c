//! The embedded store does what every store must, and keeps it.

#![cfg(feature = "server")]

mod support;

use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Changed, Create, Created, Creation, Cursor, Deleted, Query, Store};
use std::sync::Arc;
use support::store_conformance as suite;
use tempfile::TempDir;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens")
}

/// Each function of the suite as a test, on a store of its own.
macro_rules! conformance {
    ($($name:ident)*; $($more:ident)*) => {
        conformance!($($name)* $($more)*);
    };
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
    };
}

suite::each_test!(conformance);

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

/// A file that is put back gives places that were given before to other events.
#[tokio::test]
async fn a_cursor_from_before_a_restore_does_not_pass_for_a_later_place() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.create(suite::create("s")).await.expect("create");
    let kept = store.latest_change().await.expect("a place");
    store.close().await;
    drop(store);
    let path = folder.path().join("store.db");
    let backup = std::fs::read(&path).expect("the file");

    let store = open(&folder);
    store.append(suite::append("s", 1)).await.expect("append");
    let lost = store.latest_change().await.expect("a place");
    store.close().await;
    drop(store);
    std::fs::write(&path, backup).expect("the file is put back");

    let store = open(&folder);
    assert_eq!(store.changes(lost.clone(), 10).await, Ok(None), "it is of the future");
    for id in ["a", "b", "c"] {
        store.create(suite::create(id)).await.expect("create");
    }
    assert_eq!(store.changes(lost, 10).await, Ok(None), "something else stands there");
    let news = store.changes(kept, 10).await.expect("changes").expect("a place of this store");
    let told: Vec<_> = news.changes.iter().map(|change| change.head.session_id.as_str()).collect();
    assert_eq!((told.as_slice(), news.caught_up), (&["a", "b", "c"][..], true));

    // Where the session is deleted nothing is left to compare with, and a cursor that an older program gave says nothing of it.
    let (last, bare) = (news.cursor.clone(), news.cursor.0.split('-').next().expect("a place").to_owned());
    store.delete(suite::delete("c")).await.expect("delete");
    for cursor in [last, Cursor(bare)] {
        let news = store.changes(cursor, 10).await.expect("changes").expect("a place of this store");
        assert_eq!((news.changes.len(), &news.changes[0].what), (1, &Changed::Deleted));
    }
}
