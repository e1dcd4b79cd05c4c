//! Connections between replicas and their database are cut around the moment of a commit, in every way that there is.

use crate::call::{Call, Seen, What};
use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed};
use crate::postgres::Cluster;
use crate::proxy::{CUTS, Cut, Plan};
use crate::replica::Settings;
use crate::scene::{Load, Scene};
use crate::time_is_up;
use mancala::game::Dice;
use std::time::{Duration, Instant};

/// A write is given up after four attempts' time, so that storms outlast it.
pub const IMPATIENT: Settings<'static> = &[("MANCALA_STORE__WRITE_TIMEOUT", "800ms")];

/// Storms, in which every write is cut and outcomes stay unknown, and calm times twice as long, in which one in three is. The second
/// replica's come after the first one's.
fn storms(place: u32) -> Plan {
    let begun = Instant::now();
    Box::new(move |dice| {
        let storm = (begun.elapsed().as_millis() / 600) as u32 % 3 == place;
        (storm || dice.below(3) == 0).then(|| CUTS[dice.below(CUTS.len() as u64) as usize])
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_cut_is_applied_once_or_not_and_the_client_learns_which() {
    let (seed, begun) = (first_seed(), Instant::now());
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, 2, IMPATIENT, seed).await;
    let load = Load { clients: 32, sessions: 32, pause: Duration::from_millis(10), ..Load::new("cuts", seed) };
    let scene = Scene::begin(&fleet, load).await;
    for (place, proxy) in (0..).zip(&fleet.proxies) {
        proxy.plan(Some(storms(place)));
    }
    let made = |cut: Cut| fleet.proxies.iter().map(|proxy| proxy.cuts(cut)).sum::<u32>();
    let wanted = by_form(500, 50_000);
    while CUTS.into_iter().map(made).sum::<u32>() < wanted && !time_is_up(begun) {
        assert!(begun.elapsed() < Duration::from_secs(300) + Duration::from_millis(wanted.into()) * 100, "too few writes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for proxy in &fleet.proxies {
        proxy.plan(None);
    }
    let (made, played): (Vec<_>, _) = (CUTS.into_iter().map(|cut| (cut, made(cut))).collect(), begun.elapsed());
    let ended = scene.end(&cluster.url(&database)).await;
    let unknown = ended.found.unknown;
    ended.assert_clean(&format!("cuts {made:?} in {played:?}, judged in {:?}", begun.elapsed() - played));
    assert!(unknown > 0 && made.iter().all(|(_, count)| *count > 0), "{unknown} unknown, {made:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_that_is_repeated_long_after_is_the_first_one_even_in_doubt() {
    let seed = first_seed();
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, 1, &[], seed).await;
    let create = Call { session: "made-1".into(), request: "makes".into(), expected_version: None, what: What::Create };
    let made = fleet.door(0).send(&create, None).await.expect("a session");
    for cut in CUTS {
        let mut once = Some(cut);
        fleet.proxies[0].plan(Some(Box::new(move |_| once.take())));
        let again = fleet.door(0).send(&create, None).await.expect("the same session");
        assert_eq!(again, Seen { replayed: true, ..made.clone() }, "{cut:?}");
        assert_eq!(fleet.proxies[0].cuts(cut), 1, "{cut:?}");
    }
}
