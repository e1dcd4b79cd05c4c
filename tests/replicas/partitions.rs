//! Replicas and their database can't reach each other for a while, and nobody is told.

use crate::client::Limit;
use crate::fleet::{Fleet, blocking};
use crate::form::{by_form, first_seed, long_form};
use crate::postgres::Cluster;
use crate::proxy::Way;
use crate::replica::Settings;
use crate::scene::{Load, Scene};
use crate::{time_is_up, within};
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::time::{Duration, Instant};

const REPLICAS: usize = 3;
/// The server's limit on a call, which clients don't shorten here.
const LIMIT: Duration = Duration::from_secs(1);
const LIMITED: Settings<'static> = &[("MANCALA_SERVER__REQUEST_TIMEOUT", "1s")];
/// A call ends at its deadline, give or take this.
const TOLERANCE: Duration = Duration::from_millis(100);
/// A partition that lasts so long is certainly noticed.
const NOTICED: Duration = Duration::from_millis(3_500);
/// Once it is over it goes on within this time.
const RECOVERED: Duration = Duration::from_secs(3);

/// What is cut off, how, and for how long.
struct Partition {
    places: Vec<usize>,
    way: Way,
    lasts: Duration,
}

impl Partition {
    /// The first ones are one of each kind; all others are drawn.
    fn draw(number: u32, dice: &mut SeededDice) -> Partition {
        let who = if number < 4 { number as usize } else { dice.below(4) as usize };
        let places = if who < REPLICAS { vec![who] } else { (0..REPLICAS).collect() };
        let way = [Way::Held, Way::Swallowing][(number as usize + who) % 2];
        let longest = if long_form() { 8_000 } else { 1_500 };
        let lasts =
            if number == 0 { NOTICED + Duration::from_millis(500) } else { Duration::from_millis(500 + dice.below(longest)) };
        Partition { places, way, lasts }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_are_cut_off_refuse_and_never_fork() {
    let (seed, begun) = (first_seed(), Instant::now());
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::with_proxies(cluster.port(), &database, REPLICAS, LIMITED, seed).await;
    let scene = Scene::begin(&fleet, Load { limit: Limit::OfServer, ..Load::new("partitions", seed) }).await;
    let mut dice = SeededDice::for_game(seed, 1);
    let (mut count, mut noticed, mut recovered) = (0, Vec::new(), Vec::new());
    while count < by_form(6, 200) && !time_is_up(begun) {
        let Partition { places, way, lasts } = Partition::draw(count, &mut dice);
        scene.common.ledger.note(&format!("replicas {places:?} are cut off for {lasts:?}: {way:?}"));
        let cut = Instant::now();
        places.iter().for_each(|place| fleet.proxies[*place].set(way));
        let others: Vec<_> = (0..REPLICAS).filter(|place| !places.contains(place)).collect();
        if !others.is_empty() {
            scene.next_success(cut, &others).await;
        }
        if lasts > NOTICED {
            for place in &places {
                fleet.replica(*place).until_serving(false).await;
            }
            noticed.push(cut.elapsed());
            for place in &others {
                assert!(fleet.replica(*place).is_serving().await, "replica {place} is not cut off");
            }
        }
        tokio::time::sleep(lasts.saturating_sub(cut.elapsed())).await;
        places.iter().for_each(|place| fleet.proxies[*place].set(Way::Open));
        let over = Instant::now();
        scene.next_success(over, &places).await;
        for place in &places {
            fleet.replica(*place).until_serving(true).await;
        }
        recovered.push(over.elapsed());
        count += 1;
    }
    let longest = scene.stats(|stats| stats.longest_attempt);
    scene.end(&cluster.url(&database)).await.assert_clean(&format!("{count} partitions in {:?}", begun.elapsed()));
    report!("noticed after at most {:?}, recovered after at most {:?}", noticed.iter().max(), recovered.iter().max());
    assert!(longest < within(LIMIT + TOLERANCE), "a call of {longest:?}");
    assert!(noticed.iter().all(|time| *time < within(NOTICED)), "{noticed:?}");
    assert!(recovered.iter().all(|time| *time < within(RECOVERED)), "{recovered:?}");
}
