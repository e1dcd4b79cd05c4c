//! What every store must do that is read from end to end, or takes in another one.

use super::{Subject, append_of, create, create_all, delete, request};
use async_trait::async_trait;
use mancala::store::archive::{
    Archive, Begun, Intake, Limit, MadeSession, Making, Mark, Part, Piece, Portion, Taken, Tombstone, Totals,
};
use mancala::store::compare::{Difference, compare};
use mancala::store::transfer::{Moved, TransferError, transfer};
use mancala::store::{
    Append, Appended, Create, CreateAll, Created, Cursor, Delete, Deleted, EventHash, Head, Import, StoredEvent,
};

/// Where a store is kept that is opened in one way or another. One at a time: whoever asks closes what was opened before.
#[async_trait]
pub trait Place: Send + Sync {
    async fn store(&self) -> Subject;
    async fn archive(&self) -> Box<dyn Archive>;
    async fn intake(&self) -> Box<dyn Intake>;
}

const NOW: i64 = 1_800_000_000_000_000;

/// Five sessions of 1 to 5 events, the third of a batch of two, and a deleted one.
async fn fill(place: &dyn Place) {
    let store = place.store().await;
    for n in 1..=3 {
        let id = format!("s{n}");
        store.create(Create { request: Some(request(&format!("make {id}"))), ..create(&id) }).await.expect("create");
        if n > 1 {
            let events = (2..=n).map(|seq| format!("event {seq} of {id}")).collect();
            let more = Append { request: Some(request("two and on")), ..append_of(&id, 1, events) };
            assert_eq!(store.append(more).await, Ok(Appended::Done));
        }
    }
    let batch = CreateAll { request: Some(request("batch")), ..create_all(["s5", "s4"].map(create)) };
    store.create_all(batch).await.expect("a batch");
    for id in ["s4", "s5"] {
        for version in 1..if id == "s4" { 4 } else { 5 } {
            let more = append_of(id, version, vec![format!("event of {id}")]);
            assert_eq!(store.append(more).await, Ok(Appended::Done));
        }
    }
    store.create(Create { request: Some(request("make gone")), ..create("gone") }).await.expect("create");
    store.delete(Delete { request: Some(request("delete gone")), ..delete("gone") }).await.expect("delete");
    store.create(create("gone too")).await.expect("create");
    store.delete(delete("gone too")).await.expect("delete");
    store.close().await;
}

/// All parts, read so many events at a time.
async fn parts(archive: &dyn Archive, events: usize, bytes: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut next = Some(Mark::start());
    while let Some(from) = next {
        let portion = archive.sessions(from, Limit { events, bytes }).await.expect("sessions");
        for piece in portion.pieces {
            match piece {
                Piece::Part(part) => parts.push(part),
                Piece::Unreadable { what, .. } => panic!("{what}"),
            }
        }
        next = portion.next;
    }
    parts
}

pub async fn portions_are_bounded_and_whole_sessions_if_they_can_be(place: &dyn Place) {
    fill(place).await;
    let archive = place.archive().await;
    let whole = parts(&*archive, 1_000, 1 << 20).await;
    let sizes = |parts: &[Part]| {
        parts.iter().map(|part| (part.head.session_id.clone(), part.events.len(), part.is_last)).collect::<Vec<_>>()
    };
    let expected = [("s1", 1), ("s2", 2), ("s3", 3), ("s4", 4), ("s5", 5)].map(|(id, n)| (id.to_owned(), n, true));
    assert_eq!(sizes(&whole), expected);
    let store = place.store().await;
    for part in &whole {
        let id = &part.head.session_id;
        assert_eq!(store.head(id).await.expect("head").as_ref(), Some(&part.head));
        assert_eq!(store.read(id, 0, 100).await.expect("read").as_ref(), Some(&part.events));
    }
    store.close().await;

    for limit in 1..=16 {
        let torn = parts(&*archive, limit, 1 << 20).await;
        assert!(torn.iter().all(|part| part.events.len() <= limit), "{limit}");
        assert!(torn.iter().all(|part| part.is_last || part.head.version as usize > limit), "{limit}: torn for nothing");
        assert_eq!(joined(torn), whole, "{limit}");
    }
    let narrow = parts(&*archive, 1_000, 1).await;
    assert!(narrow.iter().all(|part| part.events.len() == 1));
    assert_eq!(joined(narrow), whole);

    let portion = archive.sessions(Mark::after("s4"), Limit::default()).await.expect("sessions");
    assert_eq!(portion.pieces, [Piece::Part(whole[4].clone())]);
    let end = archive.sessions(Mark::after("s5"), Limit::default()).await;
    assert_eq!(end, Ok(Portion { pieces: Vec::new(), next: None }));
    let portion = archive.sessions(Mark { session_id: "s4".into(), version: 3 }, Limit::default()).await.expect("sessions");
    let rest = Part { events: whole[3].events[3..].to_vec(), ..whole[3].clone() };
    assert_eq!(portion.pieces[0], Piece::Part(rest));
}

fn joined(torn: Vec<Part>) -> Vec<Part> {
    let mut whole: Vec<Part> = Vec::new();
    for part in torn {
        match whole.last_mut() {
            Some(last) if !last.is_last => {
                last.events.extend(part.events);
                last.is_last = part.is_last;
            }
            _ => whole.push(part),
        }
    }
    whole
}

pub async fn deletions_and_requests_are_read(place: &dyn Place) {
    fill(place).await;
    let archive = place.archive().await;
    let gone = Tombstone { session_id: "gone".into(), deleted: 5_000, request: Some(request("delete gone")) };
    let gone_too = Tombstone { session_id: "gone too".into(), deleted: 5_000, request: None };
    assert_eq!(archive.tombstones("", 10).await, Ok(vec![gone.clone(), gone_too.clone()]));
    assert_eq!(archive.tombstones("", 1).await, Ok(vec![gone]));
    assert_eq!(archive.tombstones("gone", 10).await, Ok(vec![gone_too]));

    let making = |id: &str, sessions: &[&str]| Making {
        request: request(id),
        sessions: sessions.iter().map(|id| MadeSession { session_id: (*id).into(), is_known: true }).collect(),
    };
    let all = [
        making("batch", &["s5", "s4"]),
        making("make gone", &["gone"]),
        making("make s1", &["s1"]),
        making("make s2", &["s2"]),
        making("make s3", &["s3"]),
    ];
    assert_eq!(archive.makings("", 10).await, Ok(all.to_vec()));
    assert_eq!(archive.makings("make gone", 2).await, Ok(all[2..4].to_vec()));
    let some = archive.made_by(vec!["make s2".into(), "none".into(), "batch".into()]).await;
    assert_eq!(some, Ok(vec![Some(all[3].clone()), None, Some(all[0].clone())]));
    assert_eq!(archive.totals().await, Ok(Totals { sessions: 5, events: 15, tombstones: 2, makings: 5 }));
}

async fn copied(from: &dyn Place, to: &dyn Place) {
    let (source, target) = (from.archive().await, to.intake().await);
    assert_eq!(target.begin("there", NOW).await, Ok(Begun::New));
    let moved = transfer(&*source, &*target, &mut |_| ()).await;
    assert_eq!(moved, Ok(Moved { events: 15, tombstones: 2, makings: 5 }));
    assert_eq!(compare(&*source, target.archive(), &mut |_| ()).await, Ok(None));
    target.finish().await.expect("finish");
    target.close().await;
}

pub async fn a_copy_answers_as_its_source(from: &dyn Place, to: &dyn Place) {
    fill(from).await;
    copied(from, to).await;
    let store = to.store().await;
    let made = Create { request: Some(request("make s1")), ..create("s1") };
    assert!(matches!(store.create(made).await, Ok(Created::Repeated(made)) if made.session_id == "s1" && !made.deleted));
    let gone = Create { request: Some(request("make gone")), ..create("other") };
    assert!(matches!(store.create(gone).await, Ok(Created::Repeated(made)) if made.session_id == "gone" && made.deleted));
    assert_eq!(store.create(create("gone")).await, Ok(Created::IdTaken));
    assert_eq!(store.delete(delete("gone")).await, Ok(Deleted::Gone(Some(request("delete gone")))));
    let repeated = Append { request: Some(request("two and on")), ..append_of("s3", 3, vec!["again".into()]) };
    assert_eq!(store.append(repeated).await, Ok(Appended::Conflict));
    assert_eq!(store.append(append_of("s3", 3, vec!["new".into()])).await, Ok(Appended::Done));
    assert_eq!(store.read("s3", 0, 9).await.expect("read").expect("it is there").len(), 4);
    store.close().await;
}

pub async fn events_older_than_hashes_get_theirs(from: &dyn Place, to: &dyn Place) {
    let store = from.store().await;
    let bodies = ["one", "two", "three"];
    let events = (1..).zip(bodies).map(|(seq, body)| StoredEvent {
        seq,
        time: 7,
        request: (seq == 2).then(|| request("r")),
        body: body.into(),
        hash: None,
    });
    let head = Head { version: 3, ..create("old").head };
    store.import(Import { head, events: events.collect(), request: None }).await.expect("import");
    store.close().await;
    let (source, target) = (from.archive().await, to.intake().await);
    target.begin("there", NOW).await.expect("begin");
    transfer(&*source, &*target, &mut |_| ()).await.expect("a transfer");
    assert_eq!(compare(&*source, target.archive(), &mut |_| ()).await, Ok(None));
    let first = EventHash::START.then(1, 7, None, "one");
    let second = first.then(2, 7, Some("r"), "two");
    let hashes = [first, second, second.then(3, 7, None, "three")];
    let copied = parts(target.archive(), 10, 1_000).await;
    assert!(copied[0].events.iter().map(|event| event.hash).eq(hashes.map(Some)));
    target.close().await;
}

pub async fn the_order_of_changes_is_the_stores_own(from: &dyn Place, to: &dyn Place) {
    fill(from).await;
    let store = from.store().await;
    let mut cursors = vec![store.latest_change().await.expect("a cursor")];
    let first = store.changes(Cursor::start(), 1).await.expect("changes").expect("its own").cursor;
    cursors.push(first);
    store.close().await;
    copied(from, to).await;
    let store = to.store().await;
    for cursor in cursors {
        assert_eq!(store.changes(cursor.clone(), 10).await, Ok(None), "{cursor:?} is of the other store");
    }
    let from_start = store.changes(Cursor::start(), 1_000).await.expect("changes").expect("the start is known");
    assert_eq!(from_start.changes.len(), 5);
    let end = store.latest_change().await.expect("a cursor");
    store.append(append_of("s1", 1, vec!["new".into()])).await.expect("append");
    assert_eq!(store.changes(end, 10).await.expect("changes").expect("its own").changes.len(), 1);
    store.close().await;
}

pub async fn what_is_there_is_passed_over_and_what_differs_is_told(from: &dyn Place, to: &dyn Place) {
    fill(from).await;
    let (source, target) = (from.archive().await, to.intake().await);
    target.begin("there", NOW).await.expect("begin");
    // Torn as much as can be, everything twice, and once more in other pieces.
    for part in parts(&*source, 1, 1).await {
        assert_eq!(target.take_sessions(vec![part.clone()]).await, Ok(Taken::Done(1)));
        assert_eq!(target.take_sessions(vec![part]).await, Ok(Taken::Done(0)));
    }
    assert_eq!(target.take_sessions(parts(&*source, 2, 1_000).await).await, Ok(Taken::Done(0)));
    let moved = transfer(&*source, &*target, &mut |_| ()).await;
    assert_eq!(moved, Ok(Moved { events: 0, tombstones: 2, makings: 5 }));
    assert_eq!(transfer(&*source, &*target, &mut |_| ()).await, Ok(Moved::default()));
    assert_eq!(compare(&*source, target.archive(), &mut |_| ()).await, Ok(None));

    let whole = parts(&*source, 1_000, 1 << 20).await;
    let other = Part { head: Head { summary: "other".into(), ..whole[0].head.clone() }, ..whole[0].clone() };
    let buried = Part { head: Head { session_id: "gone".into(), ..whole[0].head.clone() }, ..whole[0].clone() };
    let late: Vec<StoredEvent> = whole[4].events[1..].to_vec();
    let late = Part { head: Head { session_id: "new".into(), ..whole[4].head.clone() }, events: late, is_last: true };
    for part in [other, buried, late] {
        let taken = target.take_sessions(vec![part]).await;
        assert!(matches!(taken, Ok(Taken::Different(_))), "{taken:?}");
    }
    let otherwise = Tombstone { session_id: "gone".into(), deleted: 1, request: None };
    let living = Tombstone { session_id: "s1".into(), deleted: 1, request: None };
    for tombstone in [otherwise, living] {
        assert!(matches!(target.take_tombstones(vec![tombstone]).await, Ok(Taken::Different(_))));
    }
    let sessions = vec![MadeSession { session_id: "s1".into(), is_known: true }];
    let making = Making { request: request("batch"), sessions };
    assert!(matches!(target.take_makings(vec![making]).await, Ok(Taken::Different(_))));
    assert_eq!(compare(&*source, target.archive(), &mut |_| ()).await, Ok(None), "nothing of it was taken in");
    target.close().await;
}

pub async fn a_copy_says_what_it_is_of(from: &dyn Place, to: &dyn Place) {
    fill(from).await;
    let target = to.intake().await;
    assert_eq!(target.begin("there", NOW).await, Ok(Begun::New));
    assert_eq!(target.begin("there", NOW + 1).await, Ok(Begun::Resumed));
    assert_eq!(target.begin("elsewhere", NOW).await, Ok(Begun::OtherSource("there".into())));
    target.close().await;
    let target = to.intake().await;
    assert_eq!(target.begin("there", NOW).await, Ok(Begun::Resumed));
    target.finish().await.expect("finish");
    assert_eq!(target.begin("there", NOW).await, Ok(Begun::Whole));
    assert_eq!(target.begin("elsewhere", NOW).await, Ok(Begun::OtherSource("there".into())));
    target.close().await;
    let in_use = from.intake().await;
    assert_eq!(in_use.begin("there", NOW).await, Ok(Begun::InUse));
    in_use.close().await;
}

pub async fn differences_are_found(from: &dyn Place, to: &dyn Place) {
    fill(from).await;
    copied(from, to).await;
    let session = |session_id: &str, what: &str| Difference::Session { session_id: session_id.into(), what: what.into() };
    let store = to.store().await;
    // From the last to the first, since the first is what is told.
    let found = async || {
        let (source, target) = (from.archive().await, to.archive().await);
        compare(&*source, &*target, &mut |_| ()).await.expect("compare").expect("a difference")
    };
    store.create(Create { request: Some(request("later")), ..create("zz") }).await.expect("create");
    assert_eq!(found().await, session("zz", "it is only in the target"));
    store.append(append_of("s4", 4, vec!["more".into()])).await.expect("append");
    assert_eq!(found().await, session("s4", "its entry in lists is another"));
    store.delete(delete("s3")).await.expect("delete");
    assert_eq!(found().await, session("s3", "it is only in the source"));
    store.close().await;
    let (source, target) = (from.archive().await, to.intake().await);
    let end = transfer(&*source, &*target, &mut |_| ()).await;
    assert!(matches!(&end, Err(TransferError::Different(what)) if what.contains("s3")), "{end:?}");
    target.close().await;
}
