//! The database server stops as if the power had gone, and comes back; or another one takes its place.

use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed};
use crate::postgres::{Cluster, Stop};
use crate::scene::{Load, Scene, percentile};
use crate::{time_is_up, within};
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::time::{Duration, Instant};

/// After a restart, from when the server accepts connections again; after a failover, from when the old one stops.
const AFTER_RESTART: Duration = Duration::from_secs(2);
const AFTER_FAILOVER: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_and_comes_back_loses_nothing() {
    let (seed, begun) = (first_seed(), Instant::now());
    let cluster = blocking(|| Cluster::start(""));
    let database = blocking(|| cluster.database());
    let fleet = Fleet::direct(&cluster.url(&database), 3, &[]);
    let scene = Scene::begin(&fleet, Load::new("restarts", seed)).await;
    let mut dice = SeededDice::for_game(seed, 1);
    let mut delays = Vec::new();
    for _ in 0..by_form(3, 200) {
        tokio::time::sleep(Duration::from_millis(100 + dice.below(500))).await;
        scene.common.ledger.note("the server stops at once");
        blocking(|| cluster.stop(Stop::Immediate));
        tokio::time::sleep(Duration::from_millis(dice.below(1_000))).await;
        let launched = Instant::now();
        blocking(|| cluster.restart());
        let accepts = Instant::now();
        scene.common.ledger.note("the server accepts connections again");
        delays.push(scene.next_success(launched, &[]).await.saturating_duration_since(accepts));
        if time_is_up(begun) {
            break;
        }
    }
    delays.sort_unstable();
    let ended = scene.end(&cluster.url(&database)).await;
    ended.assert_clean(&format!("{} restarts of the server", delays.len()));
    let (half, longest) = (percentile(&delays, 50), percentile(&delays, 100));
    report!("first success after a restart: p50 {half:?}, max {longest:?}");
    assert!(longest < within(AFTER_RESTART), "{delays:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_standby_takes_over_without_loss() {
    let (seed, begun) = (first_seed(), Instant::now());
    let mut delays = Vec::new();
    for round in 0..by_form(1_u32, 50) {
        let over = fail_over(seed.wrapping_add(round.into()), true).await;
        delays.push(over.delay);
        over.scene.end(&over.url).await.assert_clean("a failover to a synchronous standby");
        if time_is_up(begun) {
            break;
        }
    }
    delays.sort_unstable();
    let (half, longest) = (percentile(&delays, 50), percentile(&delays, 100));
    report!("first success after {} failovers: p50 {half:?}, max {longest:?}", delays.len());
    assert!(longest < within(AFTER_FAILOVER), "{delays:?}");
}

/// Nothing is promised here; the long form shows what to expect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asynchronous_standby_loses_what_it_has_not_been_sent() {
    let seed = first_seed();
    let (mut lost, mut acknowledged) = (0, 0);
    let failovers = by_form(0_u32, 10);
    for round in 0..failovers {
        let over = fail_over(seed.wrapping_add(round.into()), false).await;
        let found = over.scene.end(&over.url).await.into_found();
        lost += found.objections.iter().filter(|(_, objection)| objection.check() == "lost").count();
        acknowledged += found.acknowledged;
    }
    report!("{failovers} failovers to an asynchronous standby: {lost} of {acknowledged} acknowledged requests were lost");
}

/// A failover that has happened.
struct FailedOver {
    scene: Scene,
    /// From when the primary stopped until the first success after it.
    delay: Duration,
    /// Where the database is now.
    url: String,
    _clusters: [Cluster; 2],
}

/// A primary is stopped at once under load, and its standby promoted.
async fn fail_over(seed: u64, synchronous: bool) -> FailedOver {
    let primary = blocking(|| Cluster::start(""));
    let database = blocking(|| primary.database());
    let standby = blocking(|| primary.standby(synchronous));
    let fleet = Fleet::direct(&primary.url_of_either(&standby, &database), 2, &[]);
    let name = if synchronous { "failover" } else { "loss" };
    let scene = Scene::begin(&fleet, Load { lossless: synchronous, ..Load::new(name, seed) }).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    let stops = Instant::now();
    blocking(|| primary.stop(Stop::Immediate));
    let stopped = Instant::now();
    blocking(|| standby.promote());
    let delay = scene.next_success(stopped, &[]).await - stops;
    tokio::time::sleep(Duration::from_millis(300)).await;
    FailedOver { scene, delay, url: standby.url(&database), _clusters: [primary, standby] }
}
