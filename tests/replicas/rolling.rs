//! Replicas that are stopped and started again one after the other, while clients and watchers go on.

use crate::client::Limit;
use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed};
use crate::postgres::Cluster;
use crate::replica::Replica;
use crate::scene::{Load, Scene};
use crate::time_is_up;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_call_and_loses_no_event() {
    let (seed, begun) = (first_seed(), Instant::now());
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let url = cluster.url(&database);
    let fleet = Fleet::direct(&url, 3, &[]);
    let load = Load { watchers: 8, limit: Limit::Deadline(Duration::from_secs(30)), ..Load::new("rolling", seed) };
    let scene = Scene::begin(&fleet, load).await;
    let mut restarts = 0;
    for _ in 0..by_form(1, 100) {
        for place in 0..fleet.len() {
            let stopping = fleet.replica(place);
            scene.common.ledger.note(&format!("replica {place} is told to stop"));
            stopping.tell_to_stop();
            stopping.ended().await;
            let replica = blocking(|| Replica::start(&url, &[]));
            replica.until_serving(true).await;
            fleet.replace(place, replica);
            scene.next_success(Instant::now(), &[place]).await;
            restarts += 1;
        }
        if time_is_up(begun) {
            break;
        }
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let failed = scene.stats(|stats| stats.failed.clone());
    scene.end(&url).await.assert_clean(&format!("{restarts} restarts one after the other in {:?}", begun.elapsed()));
    assert!(failed.is_empty(), "MANCALA_TEST_SEED={seed}: {failed:#?}");
}
