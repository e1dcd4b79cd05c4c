//! All changes in one order.

use super::{Subject, append, append_of, create, create_all, delete, request};
use mancala::store::{Append, Appended, Change, Changed, Changes, Create, Cursor, Filter, Head, Span, State, Store};
use std::sync::Arc;

/// What a change tells: the session, and the numbers of its events; none if it was deleted.
fn told(change: &Change) -> (String, Vec<u32>) {
    let events = match &change.what {
        Changed::Events(events) => events.iter().map(|event| event.seq).collect(),
        Changed::Deleted => Vec::new(),
    };
    (change.head.session_id.clone(), events)
}

async fn read(store: &dyn Store, after: &Cursor, limit: usize) -> Changes {
    store.changes(after.clone(), limit).await.expect("changes").expect("a known cursor")
}

/// All that follows a place, read in pages of this size.
async fn all(store: &dyn Store, mut after: Cursor, limit: usize) -> Vec<(String, Vec<u32>)> {
    let mut found: Vec<(String, Vec<u32>)> = Vec::new();
    loop {
        let page = read(store, &after, limit).await;
        for change in page.changes.iter().map(told) {
            match found.last_mut() {
                Some((id, events)) if *id == change.0 && !change.1.is_empty() => events.extend(change.1),
                _ => found.push(change),
            }
        }
        if page.caught_up {
            assert_eq!(read(store, &page.cursor, limit).await, Changes { changes: vec![], cursor: page.cursor, caught_up: true });
            return found;
        }
        assert_ne!(page.cursor, after, "a page that is not the last goes on");
        after = page.cursor;
    }
}

fn of(id: &str, events: &[u32]) -> (String, Vec<u32>) {
    (id.to_owned(), events.to_vec())
}

pub async fn changes_come_in_the_order_of_writing_and_whole(store: Subject) {
    assert_eq!(store.latest_change().await, Ok(Cursor::start()));
    store.create(create("game-a")).await.expect("create");
    let middle = store.latest_change().await.expect("a place");
    store.create_all(create_all([create("game-b"), create("game-c")])).await.expect("create");
    let bodies = |count: u32| (0..count).map(|n| format!("{n}")).collect();
    store.append(append_of("game-a", 1, bodies(3))).await.expect("append");
    store.append(Append { request: Some(request("r")), ..append_of("game-b", 1, bodies(4)) }).await.expect("append");
    store.append(append("game-b", 5)).await.expect("append");
    store.append(append("game-a", 4)).await.expect("append");
    let expected = [
        of("game-a", &[1]),
        of("game-b", &[1]),
        of("game-c", &[1]),
        of("game-a", &[2, 3, 4]),
        of("game-b", &[2, 3, 4, 5, 6]),
        of("game-a", &[5]),
    ];
    for limit in 1..=12 {
        assert_eq!(all(&*store, Cursor::start(), limit).await, expected, "{limit}");
        assert_eq!(all(&*store, middle.clone(), limit).await, expected[1..], "{limit}");
    }
    // An append is not torn apart, even where it alone is more than the limit; unless another comes before it, which is then all.
    let page = read(&*store, &middle, 3).await;
    assert_eq!(page.changes.iter().map(told).collect::<Vec<_>>(), expected[1..3]);
    let page = read(&*store, &page.cursor, 2).await;
    assert_eq!(page.changes.iter().map(told).collect::<Vec<_>>(), [of("game-a", &[2, 3])], "so many as there may be");
}

pub async fn changes_bear_events_and_sessions_as_they_are(store: Subject) {
    store.create(create("game-a")).await.expect("create");
    let with_request = Append { request: Some(request("r")), ..append("game-a", 1) };
    store.append(with_request).await.expect("append");
    // Whatever others have under way in the same database is waited for.
    store.latest_change().await.expect("a place");
    let page = read(&*store, &Cursor::start(), 10).await;
    let head = store.head("game-a").await.expect("a head").expect("a session");
    let events = store.read("game-a", 0, 10).await.expect("events").expect("a session");
    assert_eq!(page.changes, [Change { head, what: Changed::Events(events) }]);
}

pub async fn deletions_are_changes_too(store: Subject) {
    let marked = Head {
        labels: [("team".to_owned(), "red".to_owned())].into(),
        players: [Some("ann".to_owned()), None],
        state: State::Finished,
        ..create("game-a").head
    };
    store.create(Create { head: marked, ..create("game-a") }).await.expect("create");
    store.create(create("game-b")).await.expect("create");
    let players = [Some("ann".to_owned()), None];
    store.append(Append { state: State::Finished, players, ..append("game-a", 1) }).await.expect("append");
    let before = store.latest_change().await.expect("a place");
    // The session that was changed last: what is stored next comes after its deletion all the same.
    store.delete(delete("game-a")).await.expect("delete");
    let deletion = read(&*store, &before, 10).await;
    let left = &deletion.changes[0];
    assert_eq!((deletion.changes.len(), &left.what), (1, &Changed::Deleted));
    assert_eq!((left.head.session_id.as_str(), left.head.version, left.head.state), ("game-a", 2, State::Finished));
    assert_eq!(left.head.labels["team"], "red");
    assert_eq!(left.head.players, [Some("ann".to_owned()), None]);
    store.create(create("game-c")).await.expect("create");
    assert_eq!(store.append(append("game-b", 1)).await, Ok(Appended::Done));
    let later = [of("game-c", &[1]), of("game-b", &[2])];
    assert_eq!(all(&*store, deletion.cursor, 10).await, later);
    // Nothing else is left of it.
    let whole = [vec![of("game-b", &[1]), of("game-a", &[])], later.to_vec()].concat();
    for limit in [1, 2, 10] {
        assert_eq!(all(&*store, Cursor::start(), limit).await, whole, "{limit}");
    }
    for id in ["game-b", "game-c"] {
        store.delete(delete(id)).await.expect("delete");
    }
    let deleted = [of("game-a", &[]), of("game-b", &[]), of("game-c", &[])];
    assert_eq!(all(&*store, Cursor::start(), 2).await, deleted);
}

pub async fn a_place_that_is_not_reached_is_unknown(store: Subject) {
    store.create(create("game-a")).await.expect("create");
    let Cursor(end) = store.latest_change().await.expect("a place");
    for cursor in ["", "x", "-1", "1.5", &format!("{end}0"), "99999999999999999999"] {
        assert_eq!(store.changes(Cursor(cursor.to_owned()), 10).await, Ok(None), "{cursor}");
    }
}

pub async fn followers_miss_nothing_that_many_write(store: Subject) {
    const SESSIONS: u32 = 8;
    const APPENDS: u32 = 40;
    let writers = (0..SESSIONS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let id = format!("game-{n}");
            store.create(create(&id)).await.expect("create");
            for version in 1..=APPENDS {
                assert_eq!(store.append(append(&id, version)).await, Ok(Appended::Done));
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let reader: Arc<dyn Store> = store.clone();
    let follower = tokio::spawn(async move {
        let (mut cursor, mut seen) = (Cursor::start(), std::collections::BTreeMap::<String, u32>::new());
        while seen.len() < SESSIONS as usize || seen.values().any(|version| *version <= APPENDS) {
            let page = read(&*reader, &cursor, 7).await;
            cursor = page.cursor;
            for (id, events) in page.changes.iter().map(told) {
                for event in events {
                    let version = seen.entry(id.clone()).or_default();
                    assert_eq!(event, *version + 1, "{id}");
                    *version = event;
                }
            }
            tokio::task::yield_now().await;
        }
    });
    for writer in writers {
        writer.await.expect("a writer");
    }
    tokio::time::timeout(std::time::Duration::from_secs(30), follower).await.expect("in time").expect("a follower");
}

#[test]
fn a_filter_matches_what_it_asks_for_and_nothing_else() {
    let head = Head {
        labels: [("team".to_owned(), "red".to_owned())].into(),
        players: [Some("ann".to_owned()), Some("bob".to_owned())],
        ..create("game-a").head
    };
    let any = Filter::default;
    let span = |from, before| Span { from, before };
    let label = |value: &str| Filter { labels: [("team".to_owned(), value.to_owned())].into(), ..any() };
    let players = |names: &[&str]| Filter { players: names.iter().map(|name| (*name).to_owned()).collect(), ..any() };
    let seats =
        |south: Option<&str>, north: Option<&str>| Filter { seats: [south, north].map(|it| it.map(str::to_owned)), ..any() };
    for (filter, expected) in [
        (any(), true),
        (Filter { game: Some("gore".to_owned()), ..any() }, true),
        (Filter { game: Some("ayoayo".to_owned()), ..any() }, false),
        (Filter { state: Some(State::Active), ..any() }, true),
        (Filter { state: Some(State::Aborted), ..any() }, false),
        (label("red"), true),
        (label("blue"), false),
        (players(&["ann"]), true),
        (players(&["bob", "ann"]), true),
        (players(&["ann", "eve"]), false),
        (seats(Some("ann"), None), true),
        (seats(None, Some("ann")), false),
        (seats(Some("ann"), Some("bob")), true),
        (Filter { created: span(Some(1_000), Some(1_001)), ..any() }, true),
        (Filter { created: span(Some(1_001), None), ..any() }, false),
        (Filter { updated: span(None, Some(1_000)), ..any() }, false),
    ] {
        assert_eq!(filter.matches(&head), expected, "{filter:?}");
    }
}
