//! Many callers at once, and big writes.

use super::{Subject, all, append, append_of, bodies, create, create_all, delete, ids, request};
use mancala::store::{Append, Appended, Create, Created, Health, IdleQuery, Query, State, StoreError};
use std::collections::BTreeSet;
use tokio::task::JoinSet;

pub async fn one_of_many_racing_appends_wins(store: Subject) {
    store.create(create("s")).await.expect("create");
    for version in 1..20 {
        let mut racers = JoinSet::new();
        for racer in 0..16 {
            let store = store.clone();
            let event = format!("{version} by {racer}");
            racers.spawn(async move {
                let append = Append { request: Some(request(&event)), ..append_of("s", version, vec![event.clone()]) };
                (event, store.append(append).await.expect("append"))
            });
        }
        let ends = racers.join_all().await;
        let winners: Vec<_> = ends.iter().filter(|(_, end)| *end == Appended::Done).collect();
        assert_eq!(winners.len(), 1);
        assert!(ends.iter().all(|(_, end)| matches!(end, Appended::Done | Appended::Conflict)));
        let events = store.read("s", version, 10).await.expect("read").expect("the session");
        assert_eq!(bodies(&events), [winners[0].0.as_str()]);
    }
}

pub async fn one_of_many_racing_creations_wins(store: Subject) {
    let mut racers = JoinSet::new();
    for racer in 0..32 {
        let store = store.clone();
        racers.spawn(async move {
            store.create(Create { request: Some(request("r")), ..create(&format!("s{racer}")) }).await.expect("create")
        });
    }
    let ends = racers.join_all().await;
    assert_eq!(ends.iter().filter(|end| **end == Created::Done).count(), 1);
    let made: BTreeSet<_> = ids(&store, Query { limit: 100, ..Query::default() }).await.into_iter().collect();
    assert_eq!(made.len(), 1);
    for end in ends {
        if let Created::Repeated(creation) = end {
            assert!(made.contains(&creation.session_id));
        } else {
            assert_eq!(end, Created::Done);
        }
    }
}

pub async fn many_sessions_are_written_at_once(store: Subject) {
    const SESSIONS: u32 = 200;
    const APPENDS: u32 = 20;
    let mut players = JoinSet::new();
    for session in 0..SESSIONS {
        let store = store.clone();
        players.spawn(async move {
            let id = format!("s{session}");
            assert_eq!(store.create(create(&id)).await, Ok(Created::Done));
            for version in 1..=APPENDS {
                assert_eq!(store.append(append(&id, version)).await, Ok(Appended::Done));
                // What is acknowledged is seen, by whichever connection.
                let head = store.head(&id).await.expect("head").expect("the session");
                assert_eq!(head.version, version + 1);
            }
        });
    }
    players.join_all().await;
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        let expected: Vec<_> =
            std::iter::once("created".to_owned()).chain((2..=APPENDS + 1).map(|seq| format!("event {seq}"))).collect();
        assert_eq!(bodies(&all(&store, &id).await), expected);
    }
}

pub async fn a_big_append_is_one(store: Subject) {
    store.create(create("s")).await.expect("create");
    let events: Vec<String> = (0..5_000).map(|n| format!("{n}:{}", "x".repeat(160))).collect();
    let big = Append { request: Some(request("r")), ..append_of("s", 1, events.clone()) };
    assert_eq!(store.append(big.clone()).await, Ok(Appended::Done));
    assert_eq!(store.append(big).await, Ok(Appended::Conflict));
    let read = store.read("s", 1, usize::MAX).await.expect("read").expect("the session");
    assert_eq!(read.into_iter().map(|event| event.body).collect::<Vec<_>>(), events);
    assert_eq!(store.head("s").await.expect("head").expect("the session").version, 5_001);
}

pub async fn a_refused_write_spares_its_neighbours(store: Subject) {
    for n in 0..100 {
        store.create(create(&format!("s{n}"))).await.expect("create");
    }
    let mut writers = JoinSet::new();
    for n in 0..100 {
        let store = store.clone();
        // Every third is stale, every third has no session.
        writers.spawn(async move {
            let (id, version, expected) = match n % 3 {
                0 => (format!("s{n}"), 1, Appended::Done),
                1 => (format!("s{n}"), 7, Appended::Conflict),
                _ => (format!("none{n}"), 1, Appended::NotFound),
            };
            assert_eq!(store.append(append(&id, version)).await, Ok(expected));
        });
    }
    writers.join_all().await;
    for n in 0..100 {
        assert_eq!(all(&store, &format!("s{n}")).await.len(), if n % 3 == 0 { 2 } else { 1 });
    }
}

pub async fn a_closed_store_says_so(store: Subject) {
    assert_eq!(*store.health().borrow(), Health::Writable);
    let mut queued = JoinSet::new();
    for n in 0..50 {
        let store = store.clone();
        queued.spawn(async move { store.create(create(&format!("s{n}"))).await });
    }
    let (ends, (), ()) = tokio::join!(queued.join_all(), store.close(), store.close());
    for end in ends {
        assert!(matches!(end, Ok(Created::Done) | Err(StoreError::Unavailable(_))), "{end:?}");
    }
    store.close().await;
    let unavailable = |end: Result<(), StoreError>| assert!(matches!(end, Err(StoreError::Unavailable(_))), "{end:?}");
    unavailable(store.create(create("t")).await.map(drop));
    unavailable(store.create_all(create_all([create("t")])).await.map(drop));
    unavailable(store.append(append("t", 1)).await.map(drop));
    unavailable(store.delete(delete("t")).await.map(drop));
    unavailable(store.creation("r").await.map(drop));
    unavailable(store.head("t").await.map(drop));
    unavailable(store.heads(vec!["t".into()]).await.map(drop));
    unavailable(store.idle(IdleQuery { state: State::Active, since: 0, after: None, limit: 1 }).await.map(drop));
    unavailable(store.due(State::Active, 0, 1).await.map(drop));
    unavailable(store.read("t", 0, 1).await.map(drop));
    unavailable(store.list(Query { limit: 1, ..Query::default() }).await.map(drop));
}
