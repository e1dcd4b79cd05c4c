//! A network that is slow, and differently so from message to message.

use crate::client::Limit;
use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed, number};
use crate::postgres::Cluster;
use crate::scene::{Load, Scene};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_makes_nothing_wrong() {
    let seed = first_seed();
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, 2, &[], seed).await;
    for proxy in &fleet.proxies {
        proxy.delay(5_000..50_000);
    }
    let scene = Scene::begin(&fleet, Load { limit: Limit::Deadline(Duration::from_secs(30)), ..Load::new("slow", seed) }).await;
    tokio::time::sleep(Duration::from_secs(number("MANCALA_TEST_SECONDS").unwrap_or(by_form(4, 600)))).await;
    let ended = scene.end(&cluster.url(&database)).await;
    let acknowledged = ended.found.acknowledged;
    ended.assert_clean("5 to 50 ms each way");
    assert!(acknowledged > 0, "a slow network lets calls through");
}
