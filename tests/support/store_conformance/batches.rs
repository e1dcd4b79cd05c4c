//! Many sessions in one call.

use super::{Subject, all, append, create, create_all, delete, ids, request};
use mancala::store::{Appended, Create, CreateAll, Created, CreatedAll, Creation, EventHash, Head, Query, Request, StoredEvent};

pub async fn a_batch_is_made_whole_or_not_at_all(store: Subject) {
    let labelled = |id: &str| {
        let head = Head { labels: [("a".into(), id.into())].into(), players: [Some("p".into()), None], ..create(id).head };
        Create { head, ..create(id) }
    };
    store.create(create("taken")).await.expect("create");
    store.create(create("gone")).await.expect("create");
    store.delete(delete("gone")).await.expect("delete");

    let refused = CreateAll { request: Some(request("r")), ..create_all(["a", "taken", "b", "gone", "c"].map(labelled)) };
    assert_eq!(store.create_all(refused).await, Ok(CreatedAll::IdsTaken(vec![1, 3])));
    let any = Query { limit: 10, ..Query::default() };
    assert_eq!(ids(&store, any.clone()).await, ["taken"]);
    assert_eq!(store.creation("r").await, Ok(None), "a refused batch keeps no request id");

    assert_eq!(store.create_all(create_all(["c", "a", "b"].map(labelled))).await, Ok(CreatedAll::Done));
    assert_eq!(ids(&store, any).await, ["taken", "c", "b", "a"]);
    for id in ["a", "b", "c"] {
        assert_eq!(store.head(id).await, Ok(Some(labelled(id).head)));
        let hash = EventHash::START.then(1, 1_000, None, "created");
        let made = StoredEvent { seq: 1, time: 1_000, request: None, body: "created".into(), hash: Some(hash) };
        assert_eq!(all(&store, id).await, [made]);
        assert_eq!(store.append(append(id, 1)).await, Ok(Appended::Done));
    }
}

pub async fn a_batch_request_makes_its_sessions_once(store: Subject) {
    // Not in the order of their ids.
    let batch = CreateAll { request: Some(request("r")), ..create_all(["c", "a", "b"].map(create)) };
    assert_eq!(store.create_all(batch.clone()).await, Ok(CreatedAll::Done));
    assert_eq!(all(&store, "b").await[0].request, Some(request("r")), "the first events bear the request");

    let made = |id: &str, deleted| Creation { session_id: id.into(), request: request("r"), deleted };
    let before = CreatedAll::Repeated(vec![made("c", false), made("a", false), made("b", false)]);
    let other_sessions = CreateAll { request: Some(request("r")), ..create_all(["d", "e"].map(create)) };
    let other_content = CreateAll { request: Some(Request { id: "r".into(), digest: [9; 32] }), ..create_all([create("f")]) };
    for again in [batch.clone(), other_sessions, other_content] {
        assert_eq!(store.create_all(again).await, Ok(before.clone()));
    }
    assert_eq!(ids(&store, Query { limit: 10, ..Query::default() }).await, ["c", "b", "a"]);

    // Single creations and batches share their request ids.
    let single = Create { request: Some(request("r")), ..create("g") };
    assert_eq!(store.create(single).await, Ok(Created::Repeated(made("c", false))));
    store.create(Create { request: Some(request("single")), ..create("h") }).await.expect("create");
    let as_batch = CreateAll { request: Some(request("single")), ..create_all([create("i")]) };
    let single = Creation { session_id: "h".into(), request: request("single"), deleted: false };
    assert_eq!(store.create_all(as_batch).await, Ok(CreatedAll::Repeated(vec![single])));

    store.delete(delete("a")).await.expect("delete");
    let before = CreatedAll::Repeated(vec![made("c", false), made("a", true), made("b", false)]);
    assert_eq!(store.create_all(batch).await, Ok(before));
}

pub async fn heads_come_in_the_order_asked_for(store: Subject) {
    for id in ["a", "b"] {
        store.create(create(id)).await.expect("create");
    }
    let asked = ["b", "none", "a", "b"].map(str::to_owned).to_vec();
    let expected = vec![Some(create("b").head), None, Some(create("a").head), Some(create("b").head)];
    assert_eq!(store.heads(asked.clone()).await, Ok(expected));
    assert_eq!(store.heads(vec![]).await, Ok(vec![]));
    assert_eq!(store.versions(asked).await, Ok(vec![Some(1), None, Some(1), Some(1)]));
    assert_eq!(store.versions(vec![]).await, Ok(vec![]));
}
