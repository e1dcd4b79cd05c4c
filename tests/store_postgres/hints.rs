//! What servers of one database tell each other.

use crate::postgres::{Cluster, Stop, wait_for};
use mancala::store::postgres::{Options, PostgresStore};
use mancala::store::{Heard, Hearing, Store};
use std::collections::HashMap;
use std::time::Duration;

async fn next(hearing: &mut Hearing) -> Heard {
    tokio::time::timeout(Duration::from_secs(10), hearing.recv()).await.expect("something is heard in time").expect("it is kept")
}

/// Waits until it is heard that hints come.
async fn connected(hearing: &mut Hearing) {
    while !matches!(next(hearing).await, Heard::Connected) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_reach_the_other_servers_and_only_them() {
    let cluster = Cluster::start("");
    let url = cluster.url(&cluster.database());
    let one = PostgresStore::connect(Options::new(url.as_str())).await.expect("a store");
    let two = PostgresStore::connect(Options::new(url)).await.expect("a store");
    assert!(one.is_shared());
    let (mut by_one, mut by_two) = (one.hear().expect("it hears"), two.hear().expect("it hears"));
    let listeners = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN mancala' AND state = 'idle'";
    wait_for("both listen", || cluster.sql("postgres", listeners) == "2");
    cluster.stop(Stop::Fast);
    while !matches!(next(&mut by_one).await, Heard::Lost) {}
    while !matches!(next(&mut by_two).await, Heard::Lost) {}
    cluster.restart();
    connected(&mut by_one).await;
    connected(&mut by_two).await;

    for n in 0..1_000 {
        one.tell(&format!("game-{n}"), 1);
        one.tell(&format!("game-{n}"), n + 2);
    }
    let mut heard = HashMap::new();
    while heard.len() < 1_000 {
        let Heard::Hints(hints) = next(&mut by_two).await else { panic!("the connection has broken") };
        assert!(hints.len() <= 100);
        heard.extend(hints.iter().map(|hint| (hint.session_id.clone(), hint.version)));
    }
    assert!((0..1_000).all(|n| heard[&format!("game-{n}")] == n + 2));
    two.tell("end", 0);
    let Heard::Hints(hints) = next(&mut by_one).await else { panic!("the connection has broken") };
    assert_eq!((hints[0].session_id.as_str(), hints[0].version, hints.len()), ("end", 0, 1), "nothing of its own came before");
    one.close().await;
    two.close().await;
}
