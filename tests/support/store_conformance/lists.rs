//! Lists: order, filters, pages.

use super::{Subject, append, create, create_all, delete, ids};
use mancala::store::{Append, Appended, Census, Create, Created, CreatedAll, Filter, Head, Players, Query, Span, State};
use std::collections::{BTreeMap, BTreeSet};

/// Of a minute: of changes a store may know the minute best.
const THIRD: i64 = 20_000_000;

/// Session `n` of a mixed lot: five games' worth of ids, three states, labels and players of several frequencies, times
/// that repeat, changes that do not follow the times of creation.
fn mixed(n: u32) -> Create {
    let labels = BTreeMap::from([("third".into(), (n % 3).to_string()), ("fourth".into(), (n % 4).to_string())]);
    let state = [State::Active, State::Finished, State::Aborted][(n / 5 % 3) as usize];
    let player = |n: u32| (n != 0).then(|| format!("p{n}"));
    let head = Head {
        game: format!("game{}", n % 5),
        labels,
        state,
        created: i64::from(n / 7),
        updated: i64::from(n / 7 + n % 13 * 10) * THIRD,
        players: [player(n % 4), player(n % 6 / 2)],
        expires: n.is_multiple_of(3).then_some(i64::from(n)),
        ..create(&format!("s{n:03}")).head
    };
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

    const LIMITS: [usize; 3] = [1, 7, 1_000];
    for (n, filter) in filters().into_iter().enumerate() {
        let expected: Vec<&Head> = heads.iter().filter(|head| fits(&filter, head)).collect();
        // Where every page is a journey, each filter is tried with one of the limits that need few.
        let limits = if store.is_shared() { &LIMITS[1 + n % 2..=1 + n % 2] } else { &LIMITS[..] };
        for &limit in limits {
            let query = Query { filter: filter.clone(), after: None, limit };
            let found = pages(&store, query.clone()).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query:?}");
            let count = store.count(filter.clone(), limit).await;
            assert_eq!(count, Ok(expected.len().min(limit)), "{query:?}");
        }
    }
    let of = |state| heads.iter().filter(|head| head.state == state).count() as u64;
    let census = Census { active: of(State::Active), finished: of(State::Finished), aborted: of(State::Aborted) };
    assert!(census.active > 50 && census.aborted > 50);
    assert_eq!(store.census().await, Ok(census));
    assert_eq!(store.count(Filter::default(), 0).await, Ok(0));
    let none = store.list(Query::default()).await.expect("list");
    assert_eq!((none.heads, none.next), (vec![], None), "a limit of 0 is none");
}

/// What a filter means.
fn fits(filter: &Filter, head: &Head) -> bool {
    let Filter { game, state, labels, players, seats, created, updated } = filter;
    let within = |span: &Span, time| span.from.is_none_or(|from| time >= from) && span.before.is_none_or(|before| time < before);
    game.as_ref().is_none_or(|game| head.game == *game)
        && state.is_none_or(|state| head.state == state)
        && labels.iter().all(|(name, value)| head.labels.get(name) == Some(value))
        && players.iter().all(|player| head.players.iter().flatten().any(|held| held == player))
        && seats.iter().zip(&head.players).all(|(asked, held)| asked.is_none() || asked == held)
        && within(created, head.created)
        && within(updated, head.updated)
}

fn in_thirds(Span { from, before }: Span) -> Span {
    Span { from: from.map(|time| time * THIRD), before: before.map(|time| time * THIRD) }
}

/// Every part of a filter by itself, and beside every other.
fn filters() -> Vec<Filter> {
    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let games = [None, Some("game3"), Some("none")].map(|game| game.map(str::to_owned));
    let states = [None, Some(State::Active), Some(State::Finished), Some(State::Aborted)];
    let labels: [BTreeMap<String, String>; 5] = [
        labels(&[]),
        labels(&[("third", "2")]),
        labels(&[("third", "1"), ("fourth", "3")]),
        labels(&[("third", "5")]),
        labels(&[("third", "1"), ("none", "")]),
    ];
    let players = [&[][..], &["p1"], &["p1", "p2"], &["p9"]].map(|players| players.iter().map(|&p| p.to_owned()).collect());
    let player = |player: &str| Some(player.to_owned());
    let seats: [Players; 4] = [[None, None], [player("p1"), None], [None, player("p2")], [player("p3"), player("p1")]];
    let span = |from, before| Span { from, before };
    let spans = [span(None, None), span(Some(10), None), span(None, Some(11)), span(Some(3), Some(20)), span(Some(7), Some(7))];

    let mut all = Vec::new();
    for game in &games {
        for state in states {
            for labels in &labels {
                all.push(Filter { game: game.clone(), state, labels: labels.clone(), ..Filter::default() });
            }
        }
    }
    for players in &players {
        for seats in &seats {
            for (created, updated) in spans.iter().flat_map(|&created| spans.map(|it| (created, in_thirds(it)))) {
                let filter =
                    Filter { players: BTreeSet::clone(players), seats: seats.clone(), created, updated, ..Filter::default() };
                all.push(Filter { labels: labels[1].clone(), game: games[1].clone(), ..filter.clone() });
                all.push(Filter { state: states[2], ..filter.clone() });
                all.push(filter);
            }
        }
    }
    all
}

/// All pages of a query, one after the other.
async fn pages(store: &Subject, mut query: Query) -> Vec<Head> {
    let mut found = Vec::new();
    loop {
        let page = store.list(query.clone()).await.expect("list");
        assert!(page.heads.len() <= query.limit);
        found.extend(page.heads);
        if page.next.is_none() {
            return found;
        }
        query.after = page.next;
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
        query.after = page.next;
        seen.extend(page.heads.into_iter().map(|head| head.session_id));
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
    let of = |state, game: Option<&str>| Query {
        filter: Filter { state: Some(state), game: game.map(str::to_owned), ..Filter::default() },
        limit: 10,
        ..Query::default()
    };
    for (version, state) in [(1, State::Finished), (2, State::Active), (3, State::Aborted)] {
        store.append(Append { state, ..append("s", version) }).await.expect("append");
        for other in [State::Active, State::Finished, State::Aborted] {
            let expected: &[&str] = if other == state { &["s"] } else { &[] };
            assert_eq!(ids(&store, of(other, Some("gore"))).await, expected);
            assert_eq!(ids(&store, of(other, None)).await, expected);
        }
    }
}

pub async fn changed_players_are_found_by_their_names(store: Subject) {
    let player = |player: &str| Some(player.to_owned());
    let of = |name: &str| Query {
        filter: Filter { players: [name.to_owned()].into(), ..Filter::default() },
        limit: 10,
        ..Query::default()
    };
    store.create(create("s")).await.expect("create");
    let seatings =
        [[player("a"), None], [player("a"), player("b")], [player("b"), player("b")], [None, player("a")], [None, None]];
    for (version, players) in (1..).zip(seatings) {
        let change = Append { players: players.clone(), ..append("s", version) };
        assert_eq!(store.append(change).await, Ok(Appended::Done));
        assert_eq!(store.head("s").await.expect("head").expect("the session").players, players);
        for name in ["a", "b"] {
            let expected: &[&str] = if players.contains(&player(name)) { &["s"] } else { &[] };
            assert_eq!(ids(&store, of(name)).await, expected, "{name} of {players:?}");
        }
    }
    store.append(Append { players: [player("a"), player("a")], ..append("s", 6) }).await.expect("append");
    store.delete(delete("s")).await.expect("delete");
    assert_eq!(ids(&store, of("a")).await, [""; 0]);
}

/// However long the walks are that a list can be read along, and however little there is to be found on them.
pub async fn what_is_rare_is_found_all_the_same(store: Subject) {
    // Half have one label, half another, and two in 6,000 have both.
    let label = |n: u32, name: &str, has: bool| (has || n == 17 || n == 5_000).then(|| (name.to_owned(), "1".to_owned()));
    for batch in 0..12 {
        let numbers = batch * 500..batch * 500 + 500;
        let sessions = numbers.map(|n| {
            let labels = label(n, "even", n % 2 == 0).into_iter().chain(label(n, "odd", n % 2 == 1)).collect();
            let head = Head { labels, created: i64::from(n), updated: 10_000, ..create(&format!("s{n:04}")).head };
            Create { head, ..create("") }
        });
        assert_eq!(store.create_all(create_all(sessions)).await, Ok(CreatedAll::Done));
    }
    let labels: BTreeMap<_, _> = ["even", "odd"].map(|name| (name.to_owned(), "1".to_owned())).into();
    for updated in [Span::default(), Span { from: Some(9_999), before: None }] {
        let filter = Filter { labels: labels.clone(), updated, ..Filter::default() };
        for limit in [1, 2, 50] {
            let found = pages(&store, Query { filter: filter.clone(), after: None, limit }).await;
            let ids: Vec<_> = found.iter().map(|head| head.session_id.as_str()).collect();
            assert_eq!(ids, ["s5000", "s0017"]);
        }
    }
}
