//! Faults that are planted in clients and in what the database answers: the same scenes find them.

use crate::client::Habit;
use crate::cuts::IMPATIENT;
use crate::fleet::{Fleet, blocking};
use crate::form::first_seed;
use crate::postgres::Cluster;
use crate::proxy::Cut;
use crate::scene::{Load, Scene};
use mancala::game::Dice;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// So often there is a chance for a fault to show: an answer that is false, or an outcome that is unknown.
const CHANCES: u32 = 12;

/// Plays while some of the writes of one replica are cut in one way; gives the checks that found something.
async fn found_by(name: &'static str, habit: Habit, cut: Cut, one_in: u64, seed: u64) -> BTreeSet<&'static str> {
    // Only where cuts outlast a call's time its outcome is unknown.
    let settings = if one_in == 1 { IMPATIENT } else { &[] };
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, 2, settings, seed).await;
    let load = Load { habit, watchers: 0, pause: Duration::from_millis(5), ..Load::new(name, seed) };
    let scene = Scene::begin(&fleet, load).await;
    fleet.proxies[0].plan(Some(Box::new(move |dice| (dice.below(one_in) == 0).then_some(cut))));
    let begun = Instant::now();
    let enough = || match habit {
        Habit::Honest => fleet.proxies[0].cuts(cut) >= CHANCES,
        Habit::NewRequestId | Habit::UnknownIsFailure => scene.stats(|stats| stats.unknown) >= CHANCES as usize,
    };
    while !enough() {
        assert!(begun.elapsed() < Duration::from_secs(180), "{name}: too few writes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fleet.proxies[0].plan(None);
    let checks = scene.end(&cluster.url(&database)).await.into_found().checks();
    report!("{name} found from seed {seed} in {} cuts by: {checks:?}", fleet.proxies[0].cuts(cut));
    checks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_planted_fault_is_found() {
    let seed = first_seed();
    let (doubles, forgets, lies) = tokio::join!(
        found_by("retries-with-a-new-request-id", Habit::NewRequestId, Cut::After, 1, seed),
        found_by("takes-unknown-for-failed", Habit::UnknownIsFailure, Cut::After, 1, seed),
        found_by("acknowledges-before-the-commit", Habit::Honest, Cut::FalseAnswer, 3, seed),
    );
    assert!(!doubles.is_empty());
    assert!(forgets.contains("refused but stored"), "{forgets:?}");
    assert!(lies.contains("lost"), "{lies:?}");
}
