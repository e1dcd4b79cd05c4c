//! A network that is slow, and differently so from message to message.

use crate::client::Limit;
use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed, number};
use crate::postgres::Cluster;
use crate::scene::{Load, Scene};
use std::time::Duration;

/// The shortest that a message is under way.
const SHORTEST: Duration = Duration::from_millis(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_makes_nothing_wrong() {
    let seed = first_seed();
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, 2, &[], seed).await;
    for proxy in &fleet.proxies {
        proxy.delay(SHORTEST.as_micros() as u64..50_000);
    }
    let scene = Scene::begin(&fleet, Load { limit: Limit::Deadline(Duration::from_secs(30)), ..Load::new("slow", seed) }).await;
    let before = scene.stats(|stats| stats.acknowledged.len());
    tokio::time::sleep(Duration::from_secs(number("MANCALA_TEST_SECONDS").unwrap_or(by_form(4, 600)))).await;
    let (after, longest) = scene.stats(|stats| (stats.acknowledged.len(), stats.longest_attempt));
    scene.end(&cluster.url(&database)).await.assert_clean("5 to 50 ms each way");
    assert!(after > before, "a slow network lets calls through");
    assert!(longest >= SHORTEST * 2, "nothing takes less than the way there and back: {longest:?}");
}
