//! Statements that wait for what others hold: they are in nobody's way.

use crate::postgres::{Cluster, wait_for};
use crate::support::store_conformance as suite;
use mancala::store::postgres::{Options, PostgresStore};
use mancala::store::{Appended, Created, Filter, Health, Query, Store};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, JoinSet};

async fn open(options: Options) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(options).await.expect("the store opens"))
}

/// A cluster of these tests' own: a transaction that has written something holds back the followers of all others.
fn cluster() -> &'static Cluster {
    static OURS: OnceLock<Cluster> = OnceLock::new();
    OURS.get_or_init(|| Cluster::start(""))
}

/// A transaction that does something and stays open for some seconds.
fn hold(database: &str, what: &str, seconds: f64) -> JoinHandle<()> {
    let holder = {
        let (database, sql) = (database.to_owned(), format!("BEGIN; {what}; SELECT pg_sleep({seconds}); COMMIT"));
        tokio::task::spawn_blocking(move || drop(cluster().sql(&database, &sql)))
    };
    let held = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND wait_event = 'PgSleep'");
    wait_for("it is held", || cluster().sql("postgres", &held) == "1");
    holder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_session_that_is_locked_leaves_no_other_in_doubt() {
    let cluster = cluster();
    let database = cluster.database();
    let store = open(Options::new(cluster.url(&database))).await;
    for n in 0..64 {
        store.create(suite::create(&format!("s{n}"))).await.expect("create");
    }
    let holder = hold(&database, "UPDATE sessions SET summary = summary WHERE session_id = 's40'", 2.5);
    let begun = Instant::now();
    let mut appends = JoinSet::new();
    for n in 0..64 {
        let store = store.clone();
        appends.spawn(async move { (n, store.append(suite::append(&format!("s{n}"), 1)).await, begun.elapsed()) });
    }
    for (n, end, took) in appends.join_all().await {
        assert_eq!(end, Ok(Appended::Done), "s{n} after {took:?}");
        assert!(n == 40 || took < Duration::from_secs(2), "s{n} after {took:?}");
    }
    holder.await.expect("it ends");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_the_answer_to_a_read_that_is_given_up() {
    let cluster = cluster();
    let database = cluster.database();
    let write_timeout = Duration::from_secs(12);
    let store = open(Options { connections: 1, write_timeout, ..Options::new(cluster.url(&database)) }).await;
    store.create(suite::create("s")).await.expect("create");
    let holder = hold(&database, "LOCK TABLE labels", 3.0);
    let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let query = Query { filter: Filter { labels, ..Filter::default() }, after: None, limit: 1 };
    let read = tokio::time::timeout(Duration::from_millis(200), store.list(query)).await;
    assert!(read.is_err(), "{read:?}");
    let begun = Instant::now();
    assert_eq!(store.append(suite::append("s", 1)).await, Ok(Appended::Done));
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
    assert!(!holder.is_finished());
    holder.await.expect("it ends");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_census_may_take_longer_than_calls() {
    let cluster = cluster();
    let database = cluster.database();
    let (read_timeout, write_timeout) = (Duration::from_millis(400), Duration::from_millis(800));
    let store = open(Options { read_timeout, write_timeout, ..Options::new(cluster.url(&database)) }).await;
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    let holder = hold(&database, "LOCK TABLE sessions", 2.0);
    assert_eq!(store.census().await.expect("a census").active, 1);
    holder.await.expect("it ends");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_of_others_are_no_illness() {
    let cluster = cluster();
    let database = cluster.database();
    let serializable = "?options=-c%20default_transaction_isolation%3Dserializable";
    let store = open(Options::new(format!("{}{serializable}", cluster.url(&database)))).await;
    let mut health = store.health();
    let ill = tokio::spawn(async move { health.wait_for(|now| *now != Health::Writable).await.is_ok() });
    for _ in 0..8 {
        hold(&database, "UPDATE meta SET heartbeats = heartbeats + 1", 0.4).await.expect("it ends");
    }
    assert!(!ill.is_finished(), "it was ill");
    ill.abort();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_does_not_wait_for_a_standby_that_is_gone() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let store = open(Options { write_timeout: Duration::from_secs(40), ..Options::new(cluster.url(&database)) }).await;
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    cluster.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    cluster.reload();
    wait_for("the setting", || cluster.sql("postgres", "SHOW synchronous_standby_names") == "nobody");
    let ours = store.clone();
    let append = tokio::spawn(async move { ours.append(suite::append("s", 1)).await });
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%changed%'";
    wait_for("it waits", || cluster.sql("postgres", waits) == "t");
    let begun = Instant::now();
    store.close().await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    append.abort();
}
