//! Lists: order, filters, pages.

use super::{Subject, append, create, delete, ids};
use mancala::store::{Append, Create, Created, Head, Query, State};
use std::collections::BTreeMap;

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
