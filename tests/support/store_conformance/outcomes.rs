//! Every outcome of every method, one caller at a time.

use super::{Subject, all, append, append_of, bodies, create, delete, ids, request};
use mancala::store::{
    Append, Appended, Create, Created, Creation, Delete, Deleted, Filter, Head, HeadPage, Query, Request, State, StoreError,
    StoredEvent,
};
use std::collections::BTreeMap;

pub async fn what_is_created_is_read_back(store: Subject) {
    let mut made = create("s");
    made.head.labels = BTreeMap::from([("a".into(), "1".into()), ("quote\"\n\0é".into(), String::new())]);
    made.head.version = 3;
    made.head.updated = -5;
    made.head.state = State::Finished;
    made.head.players = [Some("alice".into()), Some("\"é".into())];
    made.head.expires = Some(-7);
    made.events = vec!["one".into(), String::new(), "three\0\n\"ü€😀".into()];
    made.request = Some(request("r"));
    assert_eq!(store.create(made.clone()).await, Ok(Created::Done));

    assert_eq!(store.head("s").await, Ok(Some(made.head.clone())));
    let listed = HeadPage { heads: vec![made.head.clone()], next: None };
    assert_eq!(store.list(Query { limit: 10, ..Query::default() }).await, Ok(listed));
    let expected: Vec<_> = (1..)
        .zip(made.events.iter().zip(made.hashes(made.request.as_ref())))
        .map(|(seq, (body, hash))| {
            let request = Some(request("r"));
            StoredEvent { seq, time: 1_000, request, body: body.clone(), hash: Some(hash) }
        })
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
    let filter = Filter { labels: BTreeMap::from([("a".into(), "1".into())]), ..Filter::default() };
    let labelled = Query { filter, limit: 10, ..Query::default() };
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
    let three = append_of("s", 1, vec!["two".into(), "three".into(), "four".into()]);
    let several = Append { request: Some(request("r")), state: State::Finished, ..three };
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

pub async fn appends_in_a_row_are_stored_whole_or_not_at_all(store: Subject) {
    store.create(create("s")).await.expect("create");
    let length = store.longest_row().min(3) as u32;
    let row = |version: u32, name: &str| -> Vec<Append> {
        let next = |place| Append { request: Some(request(&format!("{name}{place}"))), ..append("s", version + place) };
        (0..length).map(next).collect()
    };
    assert_eq!(store.append_all(row(1, "a")).await, Ok(Appended::Done));
    let last = row(1, "a").pop().expect("a row");
    let head = store.head("s").await.expect("a store").expect("a session");
    assert_eq!((head.version, head.updated, head.summary), (1 + length, last.time, last.summary));
    let stored = all(&store, "s").await;
    let requests: Vec<_> = stored.iter().skip(1).map(|event| event.request.clone()).collect();
    assert_eq!(requests, row(1, "a").into_iter().map(|append| append.request).collect::<Vec<_>>());
    assert_eq!(stored[1].hash, Some(row(1, "a")[0].hashes[0]));

    assert_eq!(store.append_all(row(1, "b")).await, Ok(Appended::Conflict));
    let mut taken = row(1 + length, "c");
    taken[0].request = Some(request("a0"));
    assert_eq!(store.append_all(taken).await, Ok(Appended::Conflict));
    let elsewhere = row(1, "d").into_iter().map(|append| Append { session_id: "t".into(), ..append });
    assert_eq!(store.append_all(elsewhere.collect()).await, Ok(Appended::NotFound));
    if length > 1 {
        // Whoever has seen the session at its version would not ask for this.
        let mut taken = row(1 + length, "e");
        taken[1].request = Some(request("a0"));
        assert!(matches!(store.append_all(taken).await, Err(StoreError::Damaged(_))));
    }
    assert_eq!(all(&store, "s").await, stored);
    assert_eq!(store.append_all(row(1 + length, "f")).await, Ok(Appended::Done));
    assert_eq!(all(&store, "s").await.len() as u32, 1 + 2 * length);
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
        expected_version,
        ..append_of("s", 2, vec!["x".into(), "y".into()])
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
    assert_eq!(
        ids(&store, Query { filter: Filter { labels: made.head.labels.clone(), ..Filter::default() }, ..any }).await,
        [""; 0]
    );

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
