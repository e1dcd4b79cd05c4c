//! What is to expire.

use super::{Subject, append, create, delete};
use mancala::store::{Append, Appended, Create, Expirable, Head, IdleQuery, Micros, State};

const MINUTE: Micros = 60_000_000;

/// A session that last changed at a time.
fn changed(id: &str, state: State, updated: i64, expires: Option<i64>) -> Create {
    Create { head: Head { state, updated, expires, ..create(id).head }, ..create(id) }
}

fn names(found: &[Expirable]) -> Vec<&str> {
    found.iter().map(|it| it.session_id.as_str()).collect()
}

pub async fn idle_sessions_come_longest_first(store: Subject) {
    for (id, state, updated, expires) in [
        ("late", State::Finished, 20 * MINUTE + 1, None),
        ("d", State::Finished, 20 * MINUTE, None),
        // In the same minute, in which the order is that of the ids.
        ("c", State::Finished, 15 * MINUTE, None),
        ("b", State::Finished, 15 * MINUTE + 1, None),
        ("a", State::Finished, 16 * MINUTE, None),
        ("active", State::Active, 10 * MINUTE, None),
        ("announced", State::Finished, 10 * MINUTE, Some(9_000)),
    ] {
        store.create(changed(id, state, updated, expires)).await.expect("create");
    }
    let query = IdleQuery { state: State::Finished, since: 20 * MINUTE, after: None, limit: 10 };
    let found = store.idle(query.clone()).await.expect("idle");
    assert_eq!(names(&found), ["b", "c", "a", "d"]);
    assert_eq!(found[2], Expirable { session_id: "a".into(), version: 1, updated: 16 * MINUTE });
    // From each place on, whatever has become of the session there.
    store.delete(delete("c")).await.expect("delete");
    for (id, minutes, rest) in [("b", 15, vec!["a", "d"]), ("c", 15, vec!["a", "d"]), ("d", 20, vec![])] {
        let after = Some((minutes * MINUTE, id.to_owned()));
        assert_eq!(names(&store.idle(IdleQuery { after, ..query.clone() }).await.expect("idle")), rest);
    }
    let two = store.idle(IdleQuery { limit: 2, ..query.clone() }).await.expect("idle");
    assert_eq!(names(&two), ["b", "a"]);

    // An announcement takes a session out, a change puts it back at its new time.
    let of_b = |version, expires| Append { state: State::Finished, expires, ..append("b", version) };
    assert_eq!(store.append(of_b(1, Some(9_000))).await, Ok(Appended::Done));
    assert_eq!(names(&store.idle(query.clone()).await.expect("idle")), ["a", "d"]);
    assert_eq!(store.append(Append { time: 17 * MINUTE, ..of_b(2, None) }).await, Ok(Appended::Done));
    assert_eq!(names(&store.idle(query).await.expect("idle")), ["a", "b", "d"]);
}

pub async fn due_sessions_come_first_due_first(store: Subject) {
    for (id, state, expires) in [
        ("late", State::Active, Some(5_001)),
        ("c", State::Active, Some(5_000)),
        ("b", State::Active, Some(4_000)),
        ("a", State::Active, Some(5_000)),
        ("finished", State::Finished, Some(4_000)),
        ("kept", State::Active, None),
    ] {
        store.create(changed(id, state, 1_000, expires)).await.expect("create");
    }
    let due = async |limit| store.due(State::Active, 5_000, limit).await.expect("due");
    assert_eq!(names(&due(10).await), ["b", "a", "c"]);
    assert_eq!(names(&due(2).await), ["b", "a"]);
    assert_eq!(due(1).await, [Expirable { session_id: "b".into(), version: 1, updated: 1_000 }]);

    assert_eq!(store.append(append("b", 1)).await, Ok(Appended::Done), "it is kept");
    assert_eq!(store.append(Append { expires: Some(3_000), ..append("kept", 1) }).await, Ok(Appended::Done));
    store.delete(delete("a")).await.expect("delete");
    assert_eq!(names(&due(10).await), ["kept", "c"]);
    assert_eq!(store.head("kept").await.expect("head").expect("the session").expires, Some(3_000));
}

pub async fn overdue_sessions_come_longest_overdue_first(store: Subject) {
    for (id, deadline) in [("c", Some(3_000)), ("b", Some(2_000)), ("a", Some(3_000)), ("at", Some(4_000)), ("none", None)] {
        let new = create(id);
        store.create(Create { head: Head { deadline, ..new.head }, ..new }).await.expect("create");
    }
    let overdue = async |after, limit| store.overdue(4_000, after, limit).await.expect("overdue");
    let all = [("b".to_owned(), 2_000), ("a".to_owned(), 3_000), ("c".to_owned(), 3_000)];
    assert_eq!(overdue(None, 10).await, all);
    assert_eq!(overdue(None, 2).await, all[..2]);
    assert_eq!(overdue(Some((3_000, "a".to_owned())), 10).await, all[2..]);

    assert_eq!(store.append(append("b", 1)).await, Ok(Appended::Done), "its clock is stopped");
    assert_eq!(store.append(Append { deadline: Some(1_000), ..append("none", 1) }).await, Ok(Appended::Done));
    store.delete(delete("a")).await.expect("delete");
    assert_eq!(overdue(None, 10).await, [("none".to_owned(), 1_000), ("c".to_owned(), 3_000)]);
    assert_eq!(store.head("none").await.expect("head").expect("the session").deadline, Some(1_000));
}
