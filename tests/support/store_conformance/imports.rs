//! Sessions that are made with their history, and the hashes of events.

use super::{Subject, all, append, append_of, create, request};
use mancala::store::{Append, Appended, Create, Created, Creation, EventHash, Head, HeadPage, Import, Query, StoredEvent};

/// A session of five events at different times, the third and fourth of one request.
fn import(session_id: &str) -> Import {
    let requests = [Some("a"), None, Some("b"), Some("b"), None];
    let events = (1..).zip(requests).map(|(seq, id)| StoredEvent {
        seq,
        time: 2_000 + i64::from(seq) / 2,
        request: id.map(request),
        body: format!("event {seq}"),
        hash: Some(EventHash::new([seq as u8; 32])),
    });
    let head = Head { version: 5, created: 2_000, updated: 2_002, ..create(session_id).head };
    Import { head, events: events.collect(), request: None }
}

pub async fn what_is_imported_is_read_back(store: Subject) {
    let imported = Import { request: Some(request("import")), ..import("s") };
    assert_eq!(store.import(imported.clone()).await, Ok(Created::Done));
    assert_eq!(store.head("s").await, Ok(Some(imported.head.clone())));
    assert_eq!(all(&store, "s").await, imported.events);
    assert_eq!(
        store.list(Query { limit: 10, ..Query::default() }).await,
        Ok(HeadPage { heads: vec![imported.head], next: None })
    );

    // Its requests are taken within it, that of the import is not; and it goes on.
    for id in ["a", "b"] {
        assert_eq!(store.append(Append { request: Some(request(id)), ..append("s", 5) }).await, Ok(Appended::Conflict));
    }
    assert_eq!(store.append(Append { request: Some(request("import")), ..append("s", 5) }).await, Ok(Appended::Done));
    assert_eq!(store.creation("a").await, Ok(None));
}

pub async fn an_import_is_refused_as_a_creation_is(store: Subject) {
    let first = Import { request: Some(request("r")), ..import("s") };
    assert_eq!(store.import(first.clone()).await, Ok(Created::Done));
    let creation = Creation { session_id: "s".into(), request: request("r"), deleted: false };
    assert_eq!(store.import(first).await, Ok(Created::Repeated(creation.clone())));
    assert_eq!(store.create(Create { request: Some(request("r")), ..create("t") }).await, Ok(Created::Repeated(creation)));
    assert_eq!(store.import(import("s")).await, Ok(Created::IdTaken));
    assert_eq!(store.create(create("s")).await, Ok(Created::IdTaken));
    store.delete(super::delete("s")).await.expect("delete");
    assert_eq!(store.import(import("s")).await, Ok(Created::IdTaken));
}

pub async fn every_event_has_its_hash(store: Subject) {
    let made = Create { request: Some(request("r")), ..create("s") };
    let first = EventHash::START.then(1, 1_000, Some("r"), "created");
    assert_eq!(made.hashes(made.request.as_ref()), [first]);
    store.create(made).await.expect("create");
    let more = append_of("s", 1, vec!["two".into(), "three".into()]);
    let hashes = more.hashes.clone();
    store.append(more).await.expect("append");
    let kept: Vec<_> = all(&store, "s").await.into_iter().map(|event| event.hash).collect();
    assert_eq!(kept, [Some(first), Some(hashes[0]), Some(hashes[1])]);
}
