//! Appends that wait at the same time go together, and each gets its own answer all the same.

use crate::postgres::Cluster;
use crate::support::store_conformance::{append, create, request};
use mancala::store::postgres::{Options, PostgresStore};
use mancala::store::{Append, Appended, Request, Store};
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const SESSIONS: u32 = 64;

async fn open(cluster: &Cluster, database: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(Options::new(cluster.url(database))).await.expect("the store opens"))
}

async fn make(store: &PostgresStore) {
    for n in 0..SESSIONS {
        store.create(create(&format!("s{n}"))).await.expect("create");
    }
}

/// Whether more than twice as many events were written as it took statements.
const GROUPED: &str = "SELECT count(*) > 2 * count(DISTINCT tx) FROM events WHERE seq = 2";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_goes_together() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let store = open(cluster, &database).await;
    make(&store).await;
    let mut appends = JoinSet::new();
    // All at once, however busy the machine is.
    let all_there = Arc::new(Barrier::new(SESSIONS as usize));
    for n in 0..SESSIONS {
        let (store, all_there) = (store.clone(), all_there.clone());
        appends.spawn(async move {
            all_there.wait().await;
            store.append(append(&format!("s{n}"), 1)).await
        });
    }
    assert!(appends.join_all().await.iter().all(|end| *end == Ok(Appended::Done)));
    assert_eq!(cluster.sql(&database, GROUPED), "t");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_spares_the_others() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let store = open(cluster, &database).await;
    make(&store).await;
    let used = Some(request("used"));
    store.append(Append { request: used.clone(), ..append("s0", 1) }).await.expect("append");
    let append_of = |n: u32| -> (Append, Appended) {
        let plain = append(&format!("s{n}"), 1);
        match n {
            0 => (Append { request: used.clone(), ..append("s0", 2) }, Appended::Conflict),
            1 => (append("s1", 7), Appended::Conflict),
            2 => (append("none", 1), Appended::NotFound),
            n if n % 3 == 0 => (Append { deadline: Some(9_000 + i64::from(n)), ..plain }, Appended::Done),
            n if n % 3 == 1 => {
                let players = [Some(format!("p{n}\0")), None];
                (Append { request: Some(Request { id: "r".into(), digest: [1; 32] }), players, ..plain }, Appended::Done)
            }
            _ => (plain, Appended::Done),
        }
    };
    let mut appends = JoinSet::new();
    // A request that is used makes the statement fail for all that go with it.
    let all_there = Arc::new(Barrier::new(SESSIONS as usize));
    for n in 0..SESSIONS {
        let (store, all_there, (append, expected)) = (store.clone(), all_there.clone(), append_of(n));
        appends.spawn(async move {
            all_there.wait().await;
            assert_eq!(store.append(append).await, Ok(expected), "s{n}");
        });
    }
    appends.join_all().await;

    for n in 3..SESSIONS {
        let (append, _) = append_of(n);
        let head = store.head(&append.session_id).await.expect("head").expect("the session");
        assert_eq!((head.version, head.updated, &head.summary), (2, append.time, &append.summary));
        assert_eq!((&head.players, head.deadline), (&append.players, append.deadline));
        let event = store.read(&append.session_id, 1, 9).await.expect("read").expect("the session").remove(0);
        assert_eq!((event.seq, event.time, &event.body), (2, append.time, &append.events[0]));
        assert_eq!((event.request, event.hash), (append.request, Some(append.hashes[0])));
    }
    let clocks = store.overdue(i64::MAX, None, 100).await.expect("a look");
    assert_eq!(clocks.len(), (3..SESSIONS).filter(|n| n % 3 == 0).count());
    // What has a clock no more.
    let mut stops = JoinSet::new();
    for n in (3..SESSIONS).filter(|n| n % 3 == 0) {
        let store = store.clone();
        stops.spawn(async move { store.append(append(&format!("s{n}"), 2)).await });
    }
    assert!(stops.join_all().await.iter().all(|end| *end == Ok(Appended::Done)));
    assert_eq!(store.overdue(i64::MAX, None, 100).await, Ok(vec![]));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_add_to_the_same_sessions_do_not_stand_in_each_others_way() {
    let cluster = Cluster::start("deadlock_timeout = 10ms");
    let database = cluster.database();
    let stores = [open(&cluster, &database).await, open(&cluster, &database).await, open(&cluster, &database).await];
    make(&stores[0]).await;
    for version in 1..=20 {
        let mut appends = JoinSet::new();
        for turn in 0..SESSIONS {
            for (place, store) in stores.iter().enumerate() {
                // Each takes them in another order.
                let n = [turn, SESSIONS - 1 - turn, (turn * 7) % SESSIONS][place];
                let mut append = append(&format!("s{n}"), version);
                append.time += place as i64;
                let store = store.clone();
                appends.spawn(async move { (n, store.append(append).await) });
            }
        }
        let mut done = vec![0; SESSIONS as usize];
        for (n, end) in appends.join_all().await {
            match end {
                Ok(Appended::Done) => done[n as usize] += 1,
                Ok(Appended::Conflict) => {}
                other => panic!("s{n}: {other:?}"),
            }
        }
        assert_eq!(done, [1; SESSIONS as usize], "each has one more");
    }
    let log = cluster.log();
    assert!(!log.contains("deadlock"), "{log}");
    for store in stores {
        store.close().await;
    }
}
