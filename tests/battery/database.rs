//! A database of which everything may happen: a server of Postgres that stops and comes back, a synchronous standby that takes over, and
//! for each server of ours a proxy that cuts, holds back and swallows.

use crate::fault::{Fault, Faults};
use crate::ground::{Ground, server_store};
use crate::postgres::{Cluster, Stop};
use crate::proxy::{CUTS, Proxy, Way};
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::{Heard, Store, postgres};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// See the module.
pub struct FailingDatabase {
    /// Where it is at present.
    primary: Mutex<Arc<Cluster>>,
    /// Who would take over.
    standby: Mutex<Option<Arc<Cluster>>>,
    name: String,
    proxies: Vec<Proxy>,
    hints: broadcast::Sender<Heard>,
    faults: Faults,
}

/// A write is given up after so long. What was sent before may be carried out after it, a little later.
const WRITE_TIMEOUT: Duration = Duration::from_millis(800);
const CONNECTIONS: usize = 4;
/// What lies between servers and their database lasts so many times longer than what happens to a process.
const STRETCH: u32 = 8;
/// Of so many writes one is cut, if that is drawn.
const ONE_OF: [u64; 4] = [2, 3, 4, 8];
/// A standby comes back soon after its primary.
pub const SETTINGS: &str = "wal_retrieve_retry_interval = '100ms'\n";

impl FailingDatabase {
    /// A new database on a server, of so many servers of ours.
    pub async fn new(primary: Arc<Cluster>, with_standby: bool, servers: usize, seed: u64, faults: Faults) -> FailingDatabase {
        let (standby, name) = blocking(&primary, move |primary| {
            let standby = with_standby.then(|| Arc::new(primary.standby(true)));
            (standby, primary.database())
        })
        .await;
        let mut dice = SeededDice::for_game(seed, 5);
        let mut proxies = Vec::new();
        for place in 0..servers {
            let proxy = Proxy::open(primary.port(), seed.wrapping_add(place as u64)).await;
            let one_of = ONE_OF[dice.below(ONE_OF.len() as u64) as usize];
            proxy.plan(Some(Box::new(move |dice: &mut SeededDice| {
                (dice.below(one_of) == 0).then(|| CUTS[dice.below(CUTS.len() as u64) as usize])
            })));
            proxies.push(proxy);
        }
        let hints = broadcast::Sender::new(64);
        FailingDatabase { primary: Mutex::new(primary), standby: Mutex::new(standby), name, proxies, hints, faults }
    }

    /// The server that has it at present.
    fn primary(&self) -> Arc<Cluster> {
        self.primary.lock().expect("no panic").clone()
    }

    /// Removes it, and gives the server that has had it in the end.
    pub async fn remove(&self) -> Arc<Cluster> {
        let name = self.name.clone();
        let standby = self.standby.lock().expect("no panic").take();
        let primary = self.primary();
        blocking(&primary, move |primary| {
            drop(standby);
            // It has nobody to wait for any more.
            primary.sql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
            primary.reload();
            primary.sql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
        })
        .await;
        primary
    }

    async fn stop(&self, lasts: Duration) {
        let primary = self.primary();
        blocking(&primary, |primary| primary.stop(Stop::Immediate)).await;
        sleep(lasts).await;
        blocking(&primary, |primary| primary.restart()).await;
    }

    /// Whoever calls meanwhile meets nobody, or a standby that can only be read.
    async fn fail_over(&self, lasts: Duration) {
        let standby = self.standby.lock().expect("no panic").take().expect("it is offered only then");
        blocking(&self.primary(), |primary| primary.stop(Stop::Immediate)).await;
        sleep(lasts).await;
        self.proxies.iter().for_each(|proxy| proxy.lead_to(standby.port()));
        sleep(lasts).await;
        blocking(&standby, |standby| standby.promote()).await;
        let before = std::mem::replace(&mut *self.primary.lock().expect("no panic"), standby);
        spawn_blocking(|| drop(before)).await.expect("no panic");
    }
}

/// Does something with a server that takes a while.
async fn blocking<T: Send + 'static>(cluster: &Arc<Cluster>, work: impl FnOnce(&Cluster) -> T + Send + 'static) -> T {
    let cluster = cluster.clone();
    spawn_blocking(move || work(&cluster)).await.expect("no panic")
}

#[async_trait]
impl Ground for FailingDatabase {
    async fn store(&self, place: usize) -> Arc<dyn Store> {
        // A server that starts while a standby is all there is waits for the primary.
        let url = format!("{}?target_session_attrs=read-write", self.proxies[place].url(&self.name));
        let options = postgres::Options { connections: CONNECTIONS, write_timeout: WRITE_TIMEOUT, ..postgres::Options::new(url) };
        server_store(options, &self.hints).await
    }

    fn faults(&self) -> Vec<Fault> {
        let ways = [Way::Held, Way::Swallowing, Way::Closed].map(Fault::Partitioned);
        let outage = if self.standby.lock().expect("no panic").is_some() { Fault::FailedOver } else { Fault::Stopped };
        [&ways[..], &[Fault::SlowNetwork, outage, outage]].concat()
    }

    async fn suffer(&self, fault: Fault, lasts: Duration, dice: &mut SeededDice) {
        match fault {
            Fault::Stopped => self.stop(lasts).await,
            Fault::FailedOver => self.fail_over(lasts).await,
            Fault::Partitioned(way) => {
                let proxy = &self.proxies[dice.below(self.proxies.len() as u64) as usize];
                proxy.set(way);
                sleep(lasts * STRETCH).await;
                proxy.set(Way::Open);
            }
            Fault::SlowNetwork => {
                let longest = 2_000 + dice.below(30_000);
                self.proxies.iter().for_each(|proxy| proxy.delay(1_000..longest));
                sleep(lasts * STRETCH).await;
                self.proxies.iter().for_each(|proxy| proxy.delay(0..1));
            }
            other => panic!("{other:?} does not happen here"),
        }
        self.faults.note(fault);
    }

    fn calm(&self) {
        for proxy in &self.proxies {
            proxy.plan(None);
            CUTS.into_iter().for_each(|cut| self.faults.add(Fault::Write(cut), proxy.cuts(cut).into()));
        }
    }

    fn settles(&self) -> Duration {
        WRITE_TIMEOUT * 2
    }
}
