//! A database that is not there, goes, comes back, or is not one that should be used.

use crate::form::by_form;
use crate::postgres::{Cluster, Stop, USER};
use crate::support::store_conformance as suite;
use mancala::store::archive::Hold;
use mancala::store::postgres::{OpenError, Options, PostgresArchive, PostgresStore};
use mancala::store::{Append, Appended, Created, Deleted, Health, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

pub async fn becomes(store: &PostgresStore, health: Health, within: Duration) {
    let mut changes = store.health();
    let waited = tokio::time::timeout(within, changes.wait_for(|now| *now == health)).await;
    waited.unwrap_or_else(|_| panic!("not {health:?} within {within:?}")).expect("the store is there");
}

pub async fn refused(options: Options) -> OpenError {
    PostgresStore::connect(options).await.err().expect("it is refused")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_absent_at_start_is_used_when_it_comes() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    cluster.stop(Stop::Fast);
    let store = PostgresStore::connect(Options::new(cluster.url(&database))).await.expect("its absence is no error");
    assert_eq!(*store.health().borrow(), Health::Unwritable);
    let begun = Instant::now();
    assert!(matches!(store.create(suite::create("s")).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(store.head("s").await, Err(StoreError::Unavailable(_))));
    assert!(begun.elapsed() < Duration::from_millis(500), "they are refused at once");

    cluster.restart();
    becomes(&store, Health::Writable, Duration::from_secs(5)).await;
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    // It goes without a word, and comes back.
    cluster.stop(Stop::Immediate);
    becomes(&store, Health::Unwritable, Duration::from_secs(10)).await;
    assert!(matches!(store.append(suite::append("s", 1)).await, Err(StoreError::Unavailable(_))));
    cluster.restart();
    becomes(&store, Health::Writable, Duration::from_secs(5)).await;
    assert_eq!(store.append(suite::append("s", 1)).await, Ok(Appended::Done));
    store.close().await;
}

/// Whatever is under way when the server dies is carried out once, and its caller told so; or it is told that nobody knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_outlive_a_restart_of_the_server() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let store = Arc::new(PostgresStore::connect(Options::new(cluster.url(&database))).await.expect("the store opens"));
    let mut writers = JoinSet::new();
    let restarted = Arc::new(AtomicBool::new(false));
    for n in 0..16 {
        let (store, restarted) = (store.clone(), restarted.clone());
        writers.spawn(async move {
            let id = format!("s{n}");
            store.create(suite::create(&id)).await.expect("create");
            let (mut version, mut after) = (1, 0);
            while after < 3 {
                let append = Append { request: Some(suite::request(&format!("{version}"))), ..suite::append(&id, version) };
                match store.append(append).await {
                    Ok(Appended::Done) => {
                        version += 1;
                        after += u32::from(restarted.load(Ordering::Relaxed));
                    }
                    Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    // A caller in doubt asks what has become of it.
                    Err(StoreError::Unknown(_)) => {
                        version = loop {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                            if let Ok(Some(head)) = store.head(&id).await {
                                break head.version;
                            }
                        };
                    }
                    other => panic!("{id} at {version}: {other:?}"),
                }
            }
            (id, version)
        });
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    tokio::task::block_in_place(|| {
        cluster.stop(Stop::Immediate);
        cluster.restart();
    });
    restarted.store(true, Ordering::Relaxed);
    for (id, version) in writers.join_all().await {
        let events = store.read(&id, 0, usize::MAX).await.expect("read").expect("the session");
        let requests: Vec<_> = events.into_iter().map(|event| event.request.map(|request| request.id)).collect();
        let asked: Vec<_> = std::iter::once(None).chain((1..version).map(|number| Some(number.to_string()))).collect();
        assert_eq!(requests, asked, "{id}");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_is_promoted_takes_over() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let standby = cluster.standby(true);
    let options = Options::new(cluster.url_of_either(&standby, &database));
    let store = PostgresStore::connect(options).await.expect("the store opens");
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    cluster.stop(Stop::Immediate);
    standby.promote();
    becomes(&store, Health::Writable, Duration::from_secs(5)).await;
    let (begun, mut in_doubt) = (Instant::now(), false);
    loop {
        match store.append(suite::append("s", 1)).await {
            Ok(Appended::Done) => break,
            // It was carried out when nobody could say so.
            Ok(Appended::Conflict) if in_doubt => break,
            Err(StoreError::Unknown(_)) => in_doubt = true,
            Err(StoreError::Unavailable(_)) => {}
            other => panic!("{other:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "no success after the failover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_someone_must_mend_is_an_error() {
    let cluster = Cluster::start("");
    let url = cluster.url(&cluster.database());
    assert!(matches!(refused(Options::new(cluster.url("none"))).await, OpenError::Refused(why) if why.contains("3D000")));
    let nobody = url.replace(USER, "nobody:secret");
    let refusal = refused(Options::new(nobody)).await;
    assert!(matches!(&refusal, OpenError::Refused(_)) && !refusal.to_string().contains("secret"), "{refusal}");

    let newer = cluster.database();
    let store = PostgresStore::connect(Options::new(cluster.url(&newer))).await.expect("the store opens");
    store.close().await;
    cluster.sql(&newer, "INSERT INTO mancala_migrations VALUES (99, 'later', '2030-01-01T00:00:00Z', '1')");
    assert!(matches!(refused(Options::new(cluster.url(&newer))).await, OpenError::Newer(what) if what.contains("later")));

    let other = cluster.database();
    cluster.sql(&other, "CREATE TABLE sessions (n int)");
    assert!(matches!(refused(Options::new(cluster.url(&other))).await, OpenError::Foreign(_)));

    cluster.sql("postgres", "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'");
    let refusal = refused(Options::new(cluster.url("latin"))).await;
    assert!(matches!(&refusal, OpenError::Encoding { encoding } if encoding == "LATIN1"), "{refusal}");

    // As if they had been filled by a server that has carried out far more.
    for (table, columns, column) in [
        ("events", "session_id, seq, time, first, body, hash, tx) VALUES ('s', 1, 1, true, '', '', ", "tx"),
        (
            "sessions",
            "session_id, game, state, created, updated, minute, version, labels, summary, announced, deleted, deleted_tx)
             VALUES ('s', 'g', 0, 1, 1, 1, 1, '', '', false, 1, ",
            "deleted_tx",
        ),
    ] {
        let moved = cluster.database();
        let options = Options::new(cluster.url(&moved));
        PostgresStore::connect(options.clone()).await.expect("the store opens").close().await;
        cluster.sql(&moved, &format!("INSERT INTO {table} ({columns} 5000000000)"));
        let refusal = refused(options.clone()).await;
        let OpenError::OtherServer { last: 5_000_000_000, next } = refusal else { panic!("{refusal}") };
        assert!(next < 1_000_000 && refusal.to_string().contains("`mancala copy` into a new database"), "{refusal}");
        drop(PostgresArchive::connect(options.clone(), Hold::Shared).await.expect("it can be read, so as to be copied"));
        // What is no longer ahead of the server is no harm.
        cluster.sql(&moved, &format!("UPDATE {table} SET {column} = pg_current_xact_id()::text::bigint"));
        PostgresStore::connect(options).await.expect("the store opens").close().await;
    }

    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        cluster.append("postgresql.conf", &format!("{setting} = off\n"));
        cluster.reload();
        crate::postgres::wait_for("the setting", || cluster.sql("postgres", &format!("SHOW {setting}")) == "off");
        assert_eq!(refused(Options::new(url.as_str())).await, OpenError::Unsafe { setting });
        let allowed = Options { allow_unsafe_database: true, ..Options::new(url.as_str()) };
        PostgresStore::connect(allowed).await.expect("it is meant").close().await;
        cluster.append("postgresql.conf", &format!("{setting} = on\n"));
    }
    cluster.reload();
    let standby = cluster.standby(false);
    assert_eq!(refused(Options::new(standby.url("postgres"))).await, OpenError::Standby);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_servers_can_start_at_once_on_an_empty_database() {
    let cluster = Cluster::shared();
    for _ in 0..3 {
        let url = cluster.url(&cluster.database());
        let mut starts = JoinSet::new();
        for n in 0..8 {
            let url = url.clone();
            starts.spawn(async move {
                let store = PostgresStore::connect(Options { connections: 2, ..Options::new(url) }).await.expect("it opens");
                assert_eq!(*store.health().borrow(), Health::Writable);
                assert_eq!(store.create(suite::create(&format!("s{n}"))).await, Ok(Created::Done));
                store
            });
        }
        let stores = starts.join_all().await;
        assert_eq!(stores[0].census().await.expect("a census").active, 8);
        for store in stores {
            store.close().await;
        }
    }
}

/// A transaction that stays open holds up what waits for its rows, but no call beyond its time; and it holds the feed, not the reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_takes_longer_than_it_may() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let options = Options {
        read_timeout: Duration::from_millis(800),
        write_timeout: Duration::from_millis(1_200),
        ..Options::new(cluster.url(&database))
    };
    let store = PostgresStore::connect(options).await.expect("the store opens");
    store.create(suite::create("s")).await.expect("create");
    let before = store.latest_change().await.expect("a place");
    let cluster = Arc::new(cluster);
    let blocker = tokio::task::spawn_blocking({
        let ours = cluster.clone();
        move || ours.sql(&database, "BEGIN; UPDATE sessions SET summary = summary; SELECT pg_sleep(6); ROLLBACK")
    });
    tokio::task::block_in_place(|| {
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        crate::postgres::wait_for("its lock", || cluster.sql("postgres", sleeps) == "1");
    });
    let begun = Instant::now();
    let stuck = store.append(suite::append("s", 1)).await;
    assert!(matches!(stuck, Err(StoreError::Unavailable(_))), "{stuck:?}");
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_millis(800) && took < by_form(Duration::from_secs(4), Duration::from_millis(1_600)),
        "{took:?}"
    );
    assert_eq!(store.head("s").await.expect("reads go on").expect("the session").version, 1);
    assert_eq!(store.create(suite::create("t")).await, Ok(Created::Done), "so do other writes");
    let page = store.changes(before.clone(), 10).await.expect("changes").expect("a known place");
    assert_eq!((page.changes.len(), page.caught_up), (0, false), "what comes later may come before");
    blocker.await.expect("it ends");
    // Nothing was left behind that waits for the row.
    assert_eq!(store.append(suite::append("s", 1)).await, Ok(Appended::Done));
    let page = store.changes(before, 10).await.expect("changes").expect("a known place");
    assert_eq!(page.changes.len(), 2);
    assert_eq!(store.delete(suite::delete("t")).await, Ok(Deleted::Done));
    store.close().await;
}
