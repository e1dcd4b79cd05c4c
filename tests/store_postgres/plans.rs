//! Lists are walks along an index, however many sessions there are: shown by the plans that the server logs.

use crate::postgres::Cluster;
use mancala::store::postgres::{Options, PostgresStore};
use mancala::store::{Filter, IdleQuery, Query, Span, State, Store};

/// 40,000 sessions, one a minute: all have label `a`, one in ten has label `b`, one in 50 is aborted, one in 100 is of player `p`.
const SESSIONS: &str = "
INSERT INTO sessions (session_id, game, state, created, updated, minute, version, labels, summary, south_player, announced, expires,
                      deleted, deleted_tx)
SELECT lpad(n::text, 5, '0'), 'game' || n % 5, CASE WHEN n % 50 = 0 THEN 2 ELSE 0 END, n::bigint * 60000000, n::bigint * 60000000, n, 1,
       '{}', '', CASE WHEN n % 100 = 0 THEN 'p' ELSE 'q' || n END, n % 20 = 0, CASE WHEN n % 20 = 0 THEN n END,
       CASE WHEN n % 7 = 0 THEN 1 END, CASE WHEN n % 7 = 0 THEN 1 END
FROM generate_series(1, 40000) n;
INSERT INTO labels SELECT session_id, 'a', '1', created FROM sessions WHERE deleted IS NULL;
INSERT INTO labels SELECT session_id, 'b', '2', created FROM sessions WHERE deleted IS NULL AND session_id LIKE '%0';
INSERT INTO clocks SELECT session_id, created FROM sessions WHERE deleted IS NULL;
UPDATE sessions SET deadline = created;
ANALYZE;";

struct Planned {
    cluster: Cluster,
    store: PostgresStore,
}

impl Planned {
    /// The plans of what is done here.
    async fn plans(&self, done: impl Future<Output = ()>) -> String {
        let before = self.cluster.log().len();
        done.await;
        let log = self.cluster.log().split_off(before);
        // What the keeper does beside it is of no interest.
        let plans = log.split("LOG:  ").filter(|entry| entry.contains("Query Text") && !entry.contains("heartbeats"));
        plans.collect()
    }

    async fn list(&self, filter: Filter) -> String {
        let after = Some((39_000 * 60_000_000, "39000".to_owned()));
        self.plans(async {
            self.store.list(Query { filter, after, limit: 20 }).await.expect("a page");
        })
        .await
        // Whether an entry fits is what the walk is read for.
        .split_inclusive("Query Text")
        .filter(|plan| plan.contains("AS fits"))
        .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_a_walk_along_one_index_from_its_place_on() {
    let cluster = Cluster::start("session_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 0");
    let database = cluster.database();
    let store = PostgresStore::connect(Options::new(cluster.url(&database))).await.expect("the store opens");
    cluster.sql(&database, SESSIONS);
    let planned = Planned { cluster, store };

    let any = Filter::default;
    let game = || Some("game1".to_owned());
    let label = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let late = Span { from: Some(39_500 * 60_000_000), before: None };
    let early = Span { from: Some(1_000 * 60_000_000), before: None };
    for (filter, index) in [
        (any(), "sessions_by_age"),
        (Filter { game: game(), ..any() }, "sessions_by_game"),
        (Filter { state: Some(State::Active), ..any() }, "sessions_by_state"),
        (Filter { game: game(), state: Some(State::Active), ..any() }, "sessions_by_game_and_state"),
        (Filter { labels: label("a", "1"), ..any() }, "labels_by_value"),
        (Filter { labels: label("a", "1"), game: game(), ..any() }, "labels_by_value"),
        (Filter { players: ["p".to_owned()].into(), ..any() }, "sessions_by_south"),
        (Filter { updated: late, ..any() }, "sessions_by_update"),
        (Filter { created: early, ..any() }, "sessions_by_age"),
    ] {
        let plans = planned.list(filter.clone()).await;
        let walked = ["using", "on"].iter().any(|how| plans.contains(&format!("{how} {index} ")));
        assert!(walked, "{filter:?} does not walk along {index}:\n{plans}");
        assert!(!plans.contains("Seq Scan"), "{filter:?}:\n{plans}");
        // What last changed in a time is found by the minute and sorted; so are the two seats of a player.
        let sorted = filter.updated != Span::default() || !filter.players.is_empty();
        assert!(sorted || !plans.contains("Sort  ("), "{filter:?}:\n{plans}");
    }

    let (store, by) = (&planned.store, 5_000 * 60_000_000);
    let idle = IdleQuery { state: State::Active, since: by, after: Some((60_000_000, "1".into())), limit: 10 };
    let of_idle = planned.plans(async { drop(store.idle(idle).await.expect("idle")) }).await;
    let of_due = planned.plans(async { drop(store.due(State::Active, 500, 10).await.expect("due")) }).await;
    let of_overdue = planned.plans(async { drop(store.overdue(by, Some((1, "1".into())), 10).await.expect("overdue")) }).await;
    let of_changes = planned.plans(async { drop(store.latest_change().await.expect("a place")) }).await;
    for (plans, index) in [
        (of_idle, "sessions_by_update"),
        (of_due, "sessions_by_expiry"),
        (of_overdue, "clocks_by_deadline"),
        (of_changes, "sessions_by_deletion"),
    ] {
        assert!(plans.contains(&format!("using {index} ")), "{index}:\n{plans}");
        // Of changes the last event and the last deletion are compared: those two are sorted.
        assert!(index == "sessions_by_deletion" || !plans.contains("Sort  ("), "{index}:\n{plans}");
    }
    planned.store.close().await;
}
