//! The servers of a schedule, and what happens to them.

use crate::door::{Direct, Door};
use crate::faulty::Faulty;
use crate::ground::Ground;
use crate::ledger::Ledger;
use crate::mutants::Planted;
use crate::plan::Plan;
use crate::player::Servers;
use crate::remote::Remote;
use crate::served::serve;
use crate::wrapped_store::Wrapped;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::service::{Clock, Sessions};
use mancala::session::Micros;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// A server's clock, which may be set.
struct JumpingClock {
    start: Instant,
    offset: AtomicI64,
}

impl Clock for JumpingClock {
    fn now(&self) -> Micros {
        // 2026-01-01.
        1_767_225_600_000_000 + self.start.elapsed().as_micros() as Micros + self.offset.load(Ordering::SeqCst)
    }
}

struct Server {
    door: Arc<dyn Door>,
    way: Arc<Wrapped<Faulty>>,
    clock: Arc<JumpingClock>,
    life: CancellationToken,
}

/// All servers; none: it is down.
pub struct Fleet {
    plan: Plan,
    ground: Arc<dyn Ground>,
    /// The store of all servers, if something is planted.
    planted: Option<Planted>,
    servers: Mutex<Vec<Option<Server>>>,
    start: Instant,
    started: AtomicU64,
    /// Faults on the ways to the store, and servers that were killed.
    pub faults: Arc<AtomicU64>,
    pub kills: AtomicU64,
}

#[async_trait]
impl Servers for Fleet {
    async fn any(&self, dice: &mut SeededDice) -> Arc<dyn Door> {
        loop {
            let place = dice.below(self.plan.servers as u64) as usize;
            match self.door(place) {
                Some(door) => return door,
                None => sleep(Duration::from_millis(1)).await,
            }
        }
    }
}

/// One server of a fleet, whoever it is at the moment.
pub struct Only {
    pub fleet: Arc<Fleet>,
    pub place: usize,
}

#[async_trait]
impl Servers for Only {
    async fn any(&self, _: &mut SeededDice) -> Arc<dyn Door> {
        loop {
            match self.fleet.door(self.place) {
                Some(door) => return door,
                None => sleep(Duration::from_millis(1)).await,
            }
        }
    }
}

impl Fleet {
    fn door(&self, place: usize) -> Option<Arc<dyn Door>> {
        self.with(place, |server| server.as_ref().map(|server| server.door.clone()))
    }

    fn with<T>(&self, place: usize, work: impl FnOnce(&mut Option<Server>) -> T) -> T {
        work(&mut self.servers.lock().expect("no panic")[place])
    }

    /// All servers of a plan, started.
    pub async fn start(plan: &Plan, ground: Arc<dyn Ground>) -> Arc<Fleet> {
        let planted = match plan.mutant {
            Some(mutant) => Some(mutant.plant_in_store(ground.store().await, SeededDice::for_game(plan.seed, 1))),
            None => None,
        };
        let fleet = Arc::new(Fleet {
            plan: plan.clone(),
            ground,
            planted,
            servers: Mutex::new((0..plan.servers).map(|_| None).collect()),
            start: Instant::now(),
            started: AtomicU64::new(0),
            faults: Arc::default(),
            kills: AtomicU64::new(0),
        });
        for place in 0..plan.servers {
            fleet.start_server(place).await;
        }
        fleet
    }

    /// Starts a server with nothing in memory.
    async fn start_server(&self, place: usize) {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let dice = SeededDice::for_game(self.plan.seed, 10_000 + number);
        let store = match &self.planted {
            Some(planted) => planted.store.clone(),
            None => self.ground.store().await,
        };
        let way = Arc::new(Wrapped(Faulty::new(store, self.plan.rates, dice, self.faults.clone())));
        let clock = Arc::new(JumpingClock { start: self.start, offset: AtomicI64::new(0) });
        let life = CancellationToken::new();
        let sessions = Sessions::new(way.clone(), clock.clone(), self.plan.cached);
        let door: Arc<dyn Door> = if self.plan.over_the_wire {
            let (informed, life_of_it) = (sessions.clone().keep_informed(), life.clone());
            tokio::spawn(async move { life_of_it.run_until_cancelled(informed).await });
            Arc::new(Remote::new(&serve(sessions, life.clone()).await, life.clone()))
        } else {
            let direct = Direct { sessions, life: life.clone() };
            match self.plan.mutant {
                Some(mutant) => mutant.plant_in_door(direct),
                None => Arc::new(direct),
            }
        };
        self.with(place, |server| *server = Some(Server { door, way, clock, life }));
    }

    /// Nobody hears of it any more. What it has sent to the store arrives.
    async fn kill(&self, place: usize) {
        if let Some(server) = self.with(place, Option::take) {
            server.life.cancel();
            server.way.0.cut(true);
        }
        if let Some(planted) = &self.planted {
            planted.crash().await;
        }
    }

    /// Faults, one after the other, as many as are planned.
    pub async fn trouble(&self, ledger: &Ledger) {
        let dice = &mut SeededDice::for_game(self.plan.seed, 3);
        for _ in 0..self.plan.events {
            sleep(Duration::from_millis(dice.below(80))).await;
            let place = dice.below(self.plan.servers as u64) as usize;
            let lasts = Duration::from_millis(dice.below(60));
            match dice.below(3) {
                0 => {
                    ledger.note(&format!("server {place} is killed"));
                    self.kills.fetch_add(1, Ordering::Relaxed);
                    self.kill(place).await;
                    sleep(lasts).await;
                    self.start_server(place).await;
                }
                1 => {
                    ledger.note(&format!("server {place} is cut off from the store for {lasts:?}"));
                    let cut = |cut| self.with(place, |server| server.iter().for_each(|server| server.way.0.cut(cut)));
                    cut(true);
                    sleep(lasts).await;
                    cut(false);
                }
                _ => {
                    let jump = (dice.below(7_200_000_000) as i64) - 3_600_000_000;
                    ledger.note(&format!("the clock of server {place} is set by {jump} us"));
                    let set = |server: &Server| {
                        server.clock.offset.fetch_add(jump, Ordering::SeqCst);
                    };
                    self.with(place, |server| server.iter().for_each(set));
                }
            }
        }
    }
}
