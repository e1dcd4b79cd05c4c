//! What every store must do, whatever database it is made of. Each function wants a store of its own, empty.

use mancala::store::{
    Append, Appended, Create, Created, Creation, Delete, Deleted, Head, Health, Query, Request, State, Store, StoreError,
    StoredEvent,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::task::JoinSet;

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
            summary: format!("{session_id} at 1"),
        },
        events: vec!["created".into()],
        request: None,
    }
}

/// One event on top of a version, at time 1,000 + that version.
pub fn append(session_id: &str, expected_version: u32) -> Append {
    Append {
        session_id: session_id.into(),
        expected_version,
        time: 1_000 + i64::from(expected_version),
        request: None,
        events: vec![format!("event {}", expected_version + 1)],
        state: State::Active,
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
    store.list(query).await.expect("list").into_iter().map(|head| head.session_id).collect()
}

pub async fn what_is_created_is_read_back(store: Subject) {
    let mut made = create("s");
    made.head.labels = BTreeMap::from([("a".into(), "1".into()), ("quote\"\n\0é".into(), String::new())]);
    made.head.version = 3;
    made.head.updated = -5;
    made.head.state = State::Finished;
    made.events = vec!["one".into(), String::new(), "three\0\n\"ü€😀".into()];
    made.request = Some(request("r"));
    assert_eq!(store.create(made.clone()).await, Ok(Created::Done));

    assert_eq!(store.head("s").await, Ok(Some(made.head.clone())));
    assert_eq!(store.list(Query { limit: 10, ..Query::default() }).await, Ok(vec![made.head]));
    let expected: Vec<_> = (1..)
        .zip(&made.events)
        .map(|(seq, body)| StoredEvent { seq, time: 1_000, request: Some(request("r")), body: body.clone() })
        .collect();
    assert_eq!(store.read("s", 0, 10).await, Ok(Some(expected)));
}

pub async fn a_session_id_is_taken_once(store: Subject) {
    assert_eq!(store.create(create("s")).await, Ok(Created::Done));
    let mut second = create("s");
    second.head.game = "ayoayo".into();
    second.head.labels = BTreeMap::from([("a".into(), "1".into())]);
    second.request = Some(request("r"));
    assert_eq!(store.create(second).await, Ok(Created::IdTaken));

    assert_eq!(store.head("s").await, Ok(Some(create("s").head)));
    assert_eq!(store.creation("r").await, Ok(None), "a refused creation keeps no request id");
    let labelled = Query { labels: BTreeMap::from([("a".into(), "1".into())]), limit: 10, ..Query::default() };
    assert_eq!(ids(&store, labelled).await, [""; 0]);
    assert_eq!(all(&store, "s").await.len(), 1);
}

pub async fn a_creation_request_makes_one_session(store: Subject) {
    let first = Create { request: Some(request("r")), ..create("s") };
    assert_eq!(store.create(first.clone()).await, Ok(Created::Done));
    let creation = Creation { session_id: "s".into(), request: request("r"), deleted: false };
    assert_eq!(store.creation("r").await, Ok(Some(creation.clone())));

    // The same, another session, and another content: all are told what the id stands for, before any other refusal.
    let other_session = Create { request: Some(request("r")), ..create("t") };
    let other_content = Create { request: Some(Request { id: "r".into(), digest: [9; 32] }), ..create("u") };
    for again in [first, other_session, other_content] {
        assert_eq!(store.create(again).await, Ok(Created::Repeated(creation.clone())));
    }
    assert_eq!(store.head("t").await, Ok(None));
    assert_eq!(store.head("u").await, Ok(None));
    assert_eq!(store.creation("never").await, Ok(None));
}

pub async fn creations_without_request_are_not_repetitions(store: Subject) {
    for id in ["a", "b"] {
        assert_eq!(store.create(create(id)).await, Ok(Created::Done));
    }
    assert_eq!(ids(&store, Query { limit: 10, ..Query::default() }).await, ["b", "a"]);
}

pub async fn an_append_adds_events_and_changes_the_head(store: Subject) {
    store.create(create("s")).await.expect("create");
    let several = Append {
        events: vec!["two".into(), "three".into(), "four".into()],
        request: Some(request("r")),
        state: State::Finished,
        ..append("s", 1)
    };
    assert_eq!(store.append(several).await, Ok(Appended::Done));
    assert_eq!(store.append(Append { state: State::Aborted, ..append("s", 4) }).await, Ok(Appended::Done));

    let events = all(&store, "s").await;
    assert_eq!(bodies(&events), ["created", "two", "three", "four", "event 5"]);
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(events.iter().map(|event| event.time).collect::<Vec<_>>(), [1_000, 1_001, 1_001, 1_001, 1_004]);
    let requests: Vec<_> = events.into_iter().map(|event| event.request).collect();
    assert_eq!(requests, [None, Some(request("r")), Some(request("r")), Some(request("r")), None]);

    let head = Head { version: 5, updated: 1_004, state: State::Aborted, summary: "s at 5".into(), ..create("s").head };
    assert_eq!(store.head("s").await, Ok(Some(head)));
}

pub async fn a_read_is_a_slice(store: Subject) {
    store.create(create("s")).await.expect("create");
    for version in 1..10 {
        assert_eq!(store.append(append("s", version)).await, Ok(Appended::Done));
    }
    for (after, limit, expected) in [
        (0, 3, 1..=3),
        (3, 4, 4..=7),
        (7, 100, 8..=10),
        (9, 1, 10..=10),
        #[expect(clippy::reversed_empty_ranges, reason = "nothing")]
        (10, 5, 1..=0),
        #[expect(clippy::reversed_empty_ranges, reason = "nothing")]
        (u32::MAX, 5, 1..=0),
        #[expect(clippy::reversed_empty_ranges, reason = "nothing")]
        (0, 0, 1..=0),
    ] {
        let events = store.read("s", after, limit).await.expect("read").expect("the session");
        let seqs: Vec<u32> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, expected.collect::<Vec<_>>(), "after {after}, limit {limit}");
    }
}

pub async fn a_missing_session_is_not_found(store: Subject) {
    assert_eq!(store.read("s", 0, 10).await, Ok(None));
    assert_eq!(store.head("s").await, Ok(None));
    assert_eq!(store.append(append("s", 1)).await, Ok(Appended::NotFound));
    assert_eq!(store.delete(delete("s")).await, Ok(Deleted::NotFound));
    assert_eq!(store.delete(Delete { expected_version: Some(1), ..delete("s") }).await, Ok(Deleted::NotFound));
    assert_eq!(store.create(create("s")).await, Ok(Created::Done), "nothing of that took the id");
}

pub async fn a_conflict_leaves_nothing(store: Subject) {
    store.create(create("s")).await.expect("create");
    store.append(Append { request: Some(request("r")), ..append("s", 1) }).await.expect("append");
    let head = store.head("s").await.expect("head");
    let events = all(&store, "s").await;

    let finish = |expected_version, id| Append {
        request: Some(request(id)),
        state: State::Finished,
        events: vec!["x".into(), "y".into()],
        expected_version,
        ..append("s", 2)
    };
    for refused in [finish(1, "new"), finish(3, "new"), finish(0, "new"), finish(u32::MAX, "new"), finish(2, "r")] {
        assert_eq!(store.append(refused.clone()).await, Ok(Appended::Conflict), "{refused:?}");
    }
    assert_eq!(store.head("s").await.expect("head"), head);
    assert_eq!(all(&store, "s").await, events);
    assert_eq!(store.append(finish(2, "new")).await, Ok(Appended::Done), "a refused append keeps no request id");
}

pub async fn a_request_id_is_taken_within_its_session_only(store: Subject) {
    for id in ["s", "t"] {
        let made = Create { request: Some(request(&format!("make {id}"))), ..create(id) };
        assert_eq!(store.create(made).await, Ok(Created::Done));
        assert_eq!(store.append(Append { request: Some(request("r")), ..append(id, 1) }).await, Ok(Appended::Done));
        assert_eq!(store.append(Append { request: Some(request("r")), ..append(id, 2) }).await, Ok(Appended::Conflict));
    }
    let bearing = |id: &str| Append { request: Some(request(id)), ..append("s", 2) };
    assert_eq!(store.append(bearing("make s")).await, Ok(Appended::Conflict), "the first events bear the creation's request");
    assert_eq!(store.append(bearing("make t")).await, Ok(Appended::Done), "another session's are free");
}

pub async fn a_deleted_session_is_gone_for_good(store: Subject) {
    let made = Create {
        request: Some(request("make")),
        head: Head { labels: BTreeMap::from([("a".into(), "1".into())]), ..create("s").head },
        ..create("s")
    };
    store.create(made.clone()).await.expect("create");
    store.append(append("s", 1)).await.expect("append");
    assert_eq!(store.delete(Delete { expected_version: Some(1), ..delete("s") }).await, Ok(Deleted::Conflict(2)));
    assert!(store.head("s").await.expect("head").is_some(), "a refused deletion leaves the session");
    let by = Delete { expected_version: Some(2), request: Some(request("unmake")), ..delete("s") };
    assert_eq!(store.delete(by.clone()).await, Ok(Deleted::Done));

    assert_eq!(store.head("s").await, Ok(None));
    assert_eq!(store.read("s", 0, 10).await, Ok(None));
    assert_eq!(store.append(append("s", 2)).await, Ok(Appended::NotFound));
    let any = Query { limit: 10, ..Query::default() };
    assert_eq!(ids(&store, any.clone()).await, [""; 0]);
    assert_eq!(ids(&store, Query { labels: made.head.labels.clone(), ..any }).await, [""; 0]);

    for again in [by, delete("s"), Delete { expected_version: Some(9), request: Some(request("other")), ..delete("s") }] {
        assert_eq!(store.delete(again).await, Ok(Deleted::Gone(Some(request("unmake")))));
    }
    let creation = Creation { session_id: "s".into(), request: request("make"), deleted: true };
    assert_eq!(store.creation("make").await, Ok(Some(creation.clone())));
    assert_eq!(store.create(made).await, Ok(Created::Repeated(creation)), "a late repetition makes nothing");
    assert_eq!(store.create(create("s")).await, Ok(Created::IdTaken));
    assert_eq!(store.head("s").await, Ok(None));
}

pub async fn a_deletion_without_request_is_remembered(store: Subject) {
    store.create(create("s")).await.expect("create");
    store.create(create("t")).await.expect("create");
    assert_eq!(store.delete(delete("s")).await, Ok(Deleted::Done));
    assert_eq!(store.delete(Delete { request: Some(request("r")), ..delete("s") }).await, Ok(Deleted::Gone(None)));
    assert_eq!(store.create(create("u")).await, Ok(Created::Done));
    assert_eq!(bodies(&all(&store, "u").await), ["created"], "a new session has none of the old one's events");
    assert_eq!(bodies(&all(&store, "t").await), ["created"]);
}

/// Session `n` of a mixed lot: five games' worth of ids, three states, labels of several frequencies, times that repeat.
fn mixed(n: u32) -> Create {
    let labels = BTreeMap::from([("third".into(), (n % 3).to_string()), ("fourth".into(), (n % 4).to_string())]);
    let state = [State::Active, State::Finished, State::Aborted][(n / 5 % 3) as usize];
    let head =
        Head { game: format!("game{}", n % 5), labels, state, created: i64::from(n / 7), ..create(&format!("s{n:03}")).head };
    Create { head, ..create("") }
}

pub async fn lists_filter_and_order(store: Subject) {
    let mut heads: Vec<Head> = Vec::new();
    // Not in the order of time.
    for n in (0..200).map(|n| n * 73 % 200) {
        assert_eq!(store.create(mixed(n)).await, Ok(Created::Done));
        heads.push(mixed(n).head);
    }
    heads.sort_by(|a, b| (b.created, &b.session_id).cmp(&(a.created, &a.session_id)));

    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    for game in [None, Some("game3".to_owned()), Some("none".to_owned())] {
        for state in [None, Some(State::Active), Some(State::Finished), Some(State::Aborted)] {
            for labels in [
                labels(&[]),
                labels(&[("third", "2")]),
                labels(&[("third", "1"), ("fourth", "3")]),
                labels(&[("third", "5")]),
                labels(&[("third", "1"), ("none", "")]),
            ] {
                let labels: BTreeMap<String, String> = labels;
                let expected: Vec<&Head> = heads
                    .iter()
                    .filter(|head| game.as_ref().is_none_or(|game| head.game == *game))
                    .filter(|head| state.is_none_or(|state| head.state == state))
                    .filter(|head| labels.iter().all(|(name, value)| head.labels.get(name) == Some(value)))
                    .collect();
                for limit in [1, 7, 1_000] {
                    let query = Query { game: game.clone(), state, labels: labels.clone(), after: None, limit };
                    let found = pages(&store, query.clone()).await;
                    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query:?}");
                }
            }
        }
    }
    assert_eq!(store.list(Query::default()).await, Ok(vec![]), "a limit of 0 is none");
}

/// All pages of a query, one after the other.
async fn pages(store: &Subject, mut query: Query) -> Vec<Head> {
    let mut found = Vec::new();
    loop {
        let page = store.list(query.clone()).await.expect("list");
        assert!(page.len() <= query.limit);
        let Some(last) = page.last() else {
            return found;
        };
        query.after = Some((last.created, last.session_id.clone()));
        found.extend(page);
    }
}

pub async fn pages_are_stable_while_others_write(store: Subject) {
    for n in 0..60 {
        store.create(mixed(n)).await.expect("create");
    }
    let mut query = Query { limit: 10, ..Query::default() };
    let mut seen = Vec::new();
    for round in 0..6 {
        let page = store.list(query.clone()).await.expect("list");
        let last = page.last().expect("a page").clone();
        query.after = Some((last.created, last.session_id));
        seen.extend(page.into_iter().map(|head| head.session_id));
        // Newer ones come, seen ones change and go.
        store
            .create(Create { head: Head { created: 10_000 + round, ..mixed(900 + round as u32).head }, ..create("") })
            .await
            .expect("create");
        store.append(append(&seen[0], 1 + round as u32)).await.expect("append");
        store.delete(delete(&seen[1 + round as usize])).await.expect("delete");
    }
    let mut expected: Vec<_> = (0..60).map(|n| mixed(n).head).collect();
    expected.sort_by(|a, b| (b.created, &b.session_id).cmp(&(a.created, &a.session_id)));
    assert_eq!(seen, expected.into_iter().map(|head| head.session_id).collect::<Vec<_>>());
}

pub async fn a_change_of_state_moves_between_lists(store: Subject) {
    store.create(create("s")).await.expect("create");
    let of = |state| Query { state: Some(state), game: Some("gore".into()), limit: 10, ..Query::default() };
    for (version, state) in [(1, State::Finished), (2, State::Active), (3, State::Aborted)] {
        store.append(Append { state, ..append("s", version) }).await.expect("append");
        for other in [State::Active, State::Finished, State::Aborted] {
            let expected: &[&str] = if other == state { &["s"] } else { &[] };
            assert_eq!(ids(&store, of(other)).await, expected);
            assert_eq!(ids(&store, Query { game: None, ..of(other) }).await, expected);
        }
    }
}

pub async fn one_of_many_racing_appends_wins(store: Subject) {
    store.create(create("s")).await.expect("create");
    for version in 1..20 {
        let mut racers = JoinSet::new();
        for racer in 0..16 {
            let store = store.clone();
            let event = format!("{version} by {racer}");
            racers.spawn(async move {
                let append = Append { events: vec![event.clone()], request: Some(request(&event)), ..append("s", version) };
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
    let big = Append { events: events.clone(), request: Some(request("r")), ..append("s", 1) };
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
    unavailable(store.append(append("t", 1)).await.map(drop));
    unavailable(store.delete(delete("t")).await.map(drop));
    unavailable(store.creation("r").await.map(drop));
    unavailable(store.head("t").await.map(drop));
    unavailable(store.read("t", 0, 1).await.map(drop));
    unavailable(store.list(Query { limit: 1, ..Query::default() }).await.map(drop));
}
