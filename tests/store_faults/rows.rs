//! Rows that contradict each other: the session is refused, and only the session.

use super::support::store_conformance as suite;
use super::{block_on, folder, open};
use mancala::store::{Appended, Cursor, Health, Query, Store, StoreError};
use rusqlite::Connection;

/// Changes a store of two sessions of four events behind its back, as if its rows bore no checksums yet, then reads from it.
fn after(change: &str, check: impl AsyncFnOnce(&dyn Store)) {
    after_all(&[change, "UPDATE sessions SET checksum = NULL", "UPDATE events SET checksum = NULL"], check);
}

/// Makes such changes, each of which changes something.
fn after_all(changes: &[&str], check: impl AsyncFnOnce(&dyn Store)) {
    let folder = folder();
    let path = folder.path().join("store.db");
    block_on(async {
        let store = open(&path).expect("a new store");
        for id in ["s", "t"] {
            store.create(suite::create(id)).await.expect("create");
            let more = vec!["two".into(), "three".into(), "four".into()];
            assert_eq!(store.append(suite::append_of(id, 1, more)).await, Ok(Appended::Done));
        }
        store.close().await;
        let hand = Connection::open(&path).expect("the store");
        for change in changes {
            assert!(hand.execute(change, []).expect("a change") > 0, "{change} changes something");
        }
        drop(hand);

        let store = open(&path).expect("it is sound as a database");
        check(&store).await;
        assert_eq!(store.read("t", 0, 10).await.expect("the other session").expect("it is there").len(), 4);
        assert_eq!(store.append(suite::append("t", 4)).await, Ok(Appended::Done));
        assert_eq!(*store.health().borrow(), Health::Writable);
        store.close().await;
    });
}

fn is_damage<T: std::fmt::Debug>(end: Result<T, StoreError>) {
    assert!(matches!(end, Err(StoreError::Damaged(_))), "{end:?}");
}

const S: &str = "(SELECT key FROM sessions WHERE session_id = 's')";

#[test]
fn a_missing_event_is_damage() {
    for seq in 1..=4 {
        after(&format!("DELETE FROM events WHERE session = {S} AND seq = {seq}"), async |store| {
            is_damage(store.read("s", 0, 10).await);
            is_damage(store.read("s", seq - 1, 10).await);
        });
    }
}

#[test]
fn a_version_that_is_not_the_number_of_events_is_damage() {
    for version in [0, 3, 5] {
        after(&format!("UPDATE sessions SET version = {version} WHERE key = {S}"), async |store| {
            is_damage(store.read("s", 0, 10).await);
            is_damage(store.read("s", 2, 10).await);
        });
    }
}

#[test]
fn an_append_onto_events_that_should_not_be_there_leaves_nothing() {
    after(&format!("UPDATE sessions SET version = 2 WHERE key = {S}"), async |store| {
        is_damage(store.append(suite::append("s", 2)).await);
        assert_eq!(store.head("s").await.expect("head").expect("the session").version, 2);
    });
    // The first of the two events finds room, the second does not.
    after(&format!("UPDATE events SET seq = 6 WHERE session = {S} AND seq = 4"), async |store| {
        let two = suite::append_of("s", 4, vec!["five".into(), "six".into()]);
        is_damage(store.append(two).await);
        assert_eq!(store.head("s").await.expect("head").expect("the session").version, 4);
        assert_eq!(store.append(suite::append("s", 4)).await, Ok(Appended::Done), "event 5 was taken back");
    });
}

#[test]
fn text_that_is_not_utf8_is_damage() {
    after(&format!("UPDATE events SET body = CAST(x'ff41' AS TEXT) WHERE session = {S} AND seq = 2"), async |store| {
        is_damage(store.read("s", 0, 10).await);
        assert_eq!(store.read("s", 2, 10).await.expect("what follows").expect("the session").len(), 2);
    });
    after("UPDATE sessions SET summary = CAST(x'c0' AS TEXT) WHERE session_id = 's'", async |store| {
        is_damage(store.head("s").await);
        is_damage(store.list(Query { limit: 10, ..Query::default() }).await);
    });
}

#[test]
fn heads_that_make_no_sense_are_damage() {
    for change in ["state = 9", "labels = '{'", "labels = '[]'", "version = -1", "version = 4294967296"] {
        after(&format!("UPDATE sessions SET {change} WHERE session_id = 's'"), async |store| {
            is_damage(store.head("s").await);
        });
    }
    after(&format!("UPDATE events SET request_id = 'r', digest = x'00' WHERE session = {S} AND seq = 2"), async |store| {
        is_damage(store.read("s", 0, 10).await);
    });
}

#[test]
fn a_row_that_is_not_as_it_was_written_is_damage() {
    for change in ["summary = 's at 3'", "updated = updated - 1", "game = 'ayoayo'", "deadline = 5", "labels = '{\"a\":\"b\"}'"] {
        after_all(&[&format!("UPDATE sessions SET {change} WHERE session_id = 's'")], async |store| {
            is_damage(store.head("s").await);
            is_damage(store.versions(vec!["s".into()]).await);
            is_damage(store.list(Query { limit: 10, ..Query::default() }).await);
            is_damage(store.append(suite::append("s", 4)).await);
            is_damage(store.delete(suite::delete("s")).await);
        });
    }
    for change in ["time = time + 1", "request_id = 'r', digest = zeroblob(32)", "body = 'TWO'", "hash = zeroblob(32)"] {
        after_all(&[&format!("UPDATE events SET {change} WHERE session = {S} AND seq = 2")], async |store| {
            is_damage(store.read("s", 0, 10).await);
            is_damage(store.changes(Cursor::start(), 100).await);
            assert_eq!(store.read("s", 2, 10).await.expect("what follows").expect("the session").len(), 2);
        });
    }
}
