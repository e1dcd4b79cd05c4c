//! Files of older versions become files of this one, with all that is in them.

#![cfg(feature = "server")]

mod support;

use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{
    Append, Appended, CreateAll, CreatedAll, Creation, Filter, Head, IdleQuery, Query, Span, State, Store, StoredEvent,
};
use rusqlite::{Connection, params};
use std::path::Path;
use support::store_conformance as suite;
use tempfile::TempDir;

/// The tables of version 1, as they were released.
const VERSION_1: &str = include_str!("vectors/store_version_1.sql");

const MINUTE: i64 = 60_000_000;

/// Session `n` as version 1 kept it: the odd ones finished, every third with a label.
fn old(n: i64) -> Head {
    Head {
        labels: (n % 3 == 0).then(|| ("third".to_owned(), "1".to_owned())).into_iter().collect(),
        state: if n % 2 == 0 { State::Active } else { State::Finished },
        created: n,
        updated: (n + 100) * MINUTE,
        summary: format!("summary {n}"),
        ..suite::create(&format!("s{n:03}")).head
    }
}

fn write_version_1(path: &Path, sessions: i64) {
    let mut connection = Connection::open(path).expect("a file");
    connection.execute_batch(VERSION_1).expect("its tables");
    let transaction = connection.transaction().expect("a transaction");
    for n in 0..sessions {
        let head = old(n);
        let labels = serde_json::to_string(&head.labels).expect("JSON");
        let state = i64::from(head.state == State::Finished);
        transaction
            .execute(
                "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8)",
                params![n + 1, head.session_id, head.game, state, head.created, head.updated, labels, head.summary],
            )
            .expect("a session");
        for (name, value) in &head.labels {
            transaction
                .execute("INSERT INTO labels VALUES (?1, ?2, ?3, ?4, ?5)", params![name, value, n, head.session_id, n + 1])
                .expect("a label");
        }
        let request = suite::request(&format!("r{n}"));
        transaction
            .execute(
                "INSERT INTO events VALUES (?1, ?1, 1, ?2, 1, ?3, ?4, 'created')",
                params![n + 1, n, request.id, request.digest],
            )
            .expect("an event");
        transaction
            .execute("INSERT INTO creations VALUES (?1, ?2, ?3)", params![request.id, request.digest, head.session_id])
            .expect("a creation");
    }
    transaction.execute("INSERT INTO tombstones VALUES ('gone', 5, NULL, NULL)", []).expect("a tombstone");
    transaction.commit().expect("a commit");
}

async fn listed(store: &SqliteStore, filter: Filter) -> Vec<Head> {
    store.list(Query { filter, after: None, limit: 1_000 }).await.expect("list").heads
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_1_becomes_the_present_one() {
    const SESSIONS: i64 = 300;
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    write_version_1(&path, SESSIONS);

    let store = SqliteStore::open(&path, Options::default()).expect("it opens");
    let heads: Vec<_> = (0..SESSIONS).rev().map(old).collect();
    assert_eq!(listed(&store, Filter::default()).await, heads, "all that was there, without players or an end");
    let event = StoredEvent { seq: 1, time: 7, request: Some(suite::request("r7")), body: "created".into(), hash: None };
    assert_eq!(store.read("s007", 0, 10).await, Ok(Some(vec![event])));
    let creation = Creation { session_id: "s007".into(), request: suite::request("r7"), deleted: false };
    let again = CreateAll { request: Some(suite::request("r7")), ..suite::create_all([suite::create("new")]) };
    assert_eq!(store.create_all(again).await, Ok(CreatedAll::Repeated(vec![creation])));
    assert_eq!(store.create_all(suite::create_all([suite::create("gone")])).await, Ok(CreatedAll::IdsTaken(vec![0])));

    // What is new finds what is old.
    let third = Filter { labels: [("third".into(), "1".into())].into(), ..Filter::default() };
    assert_eq!(listed(&store, third).await.len(), 100);
    let lately = Filter { updated: Span { from: Some((SESSIONS + 98) * MINUTE), before: None }, ..Filter::default() };
    assert_eq!(listed(&store, lately).await, heads[..2]);
    let idle = IdleQuery { state: State::Finished, since: 103 * MINUTE, after: None, limit: 10 };
    let idle: Vec<_> = store.idle(idle).await.expect("idle").into_iter().map(|it| it.session_id).collect();
    assert_eq!(idle, ["s001", "s003"]);

    let change =
        Append { players: [Some("p".into()), None], expires: Some(5_000), state: State::Finished, ..suite::append("s001", 1) };
    assert_eq!(store.append(change).await, Ok(Appended::Done));
    let of_p = Filter { players: ["p".into()].into(), ..Filter::default() };
    assert_eq!(listed(&store, of_p.clone()).await[0].session_id, "s001");
    store.close().await;

    let version: i32 = Connection::open(&path)
        .expect("the file")
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("its version");
    assert_eq!(version, 5);
    let store = SqliteStore::open(&path, Options::default()).expect("it opens again");
    assert_eq!(listed(&store, of_p).await.len(), 1);
    assert_eq!(store.due(State::Finished, 5_000, 10).await.expect("due").len(), 1);
}
