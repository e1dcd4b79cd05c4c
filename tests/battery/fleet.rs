//! The servers of a schedule.

use crate::door::{Direct, Door};
use crate::fault::Faults;
use crate::faulty::Faulty;
use crate::ground::Ground;
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
use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// A server's clock, which may be set.
struct JumpingClock {
    start: Instant,
    offset: AtomicI64,
    step: Micros,
}

impl JumpingClock {
    fn set(&self, by: Micros) {
        self.offset.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for JumpingClock {
    fn now(&self) -> Micros {
        // 2026-01-01.
        1_767_225_600_000_000 + self.start.elapsed().as_micros() as Micros + self.offset.load(Ordering::SeqCst)
    }

    fn step(&self) -> Micros {
        self.step
    }
}

struct Server {
    door: Arc<dyn Door>,
    way: Arc<Wrapped<Faulty>>,
    clock: Arc<JumpingClock>,
    life: CancellationToken,
}

impl Server {
    fn kill(&self) {
        self.life.cancel();
        self.way.0.cut(true);
    }
}

/// All servers; none: it is down.
pub struct Fleet {
    pub plan: Plan,
    pub ground: Arc<dyn Ground>,
    /// The store of all servers, if something is planted.
    planted: Option<Planted>,
    servers: Mutex<Vec<Option<Server>>>,
    start: Instant,
    started: AtomicU64,
    /// Cancelled when nothing more is to go wrong, and no round to be lost by time.
    rest: CancellationToken,
    pub faults: Faults,
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
    pub async fn start(plan: &Plan, ground: Arc<dyn Ground>, faults: Faults) -> Arc<Fleet> {
        let planted = match plan.mutant {
            Some(mutant) => Some(mutant.plant_in_store(ground.store(0).await, SeededDice::for_game(plan.seed, 1))),
            None => None,
        };
        let fleet = Arc::new(Fleet {
            plan: plan.clone(),
            ground,
            planted,
            servers: Mutex::new((0..plan.servers).map(|_| None).collect()),
            start: Instant::now(),
            started: AtomicU64::new(0),
            rest: CancellationToken::new(),
            faults,
        });
        for place in 0..plan.servers {
            fleet.start_server(place).await;
        }
        fleet
    }

    /// Starts a server with nothing in memory.
    pub async fn start_server(&self, place: usize) {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let dice = SeededDice::for_game(self.plan.seed, 10_000 + number);
        let store = match &self.planted {
            Some(planted) => planted.store.clone(),
            None => self.ground.store(place).await,
        };
        let way = Arc::new(Wrapped(Faulty::new(store, &self.plan, dice, self.faults.clone(), self.rest.clone())));
        let clock = Arc::new(JumpingClock { start: self.start, offset: AtomicI64::new(0), step: 1 + number as Micros });
        let life = CancellationToken::new();
        let sessions = Sessions::new(way.clone(), clock.clone(), self.plan.cached);
        let keeping = keep_time(sessions.clone(), SeededDice::for_game(self.plan.seed, 20_000 + number));
        let (life_of_it, rest) = (life.clone(), self.rest.clone());
        tokio::spawn(async move { life_of_it.run_until_cancelled(rest.run_until_cancelled(keeping)).await });
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
        // It may be that it was killed twice at a time.
        let before = self.with(place, |server| server.replace(Server { door, way, clock, life }));
        before.iter().for_each(Server::kill);
    }

    /// Nobody hears of it any more. What it has sent to the store arrives.
    pub async fn kill(&self, place: usize) {
        self.with(place, Option::take).iter().for_each(Server::kill);
        if let Some(planted) = &self.planted {
            planted.crash().await;
        }
    }

    /// Cuts a server off from the store, or ends that.
    pub fn cut(&self, place: usize, cut: bool) {
        self.with(place, |server| server.iter().for_each(|server| server.way.0.cut(cut)));
    }

    pub fn set_clock(&self, place: usize, by: Micros) {
        self.with(place, |server| server.iter().for_each(|server| server.clock.set(by)));
    }

    /// Nothing goes wrong any more on the ways to the store, and no round is lost by time, unless somebody calls.
    pub fn rest(&self) {
        self.rest.cancel();
    }

    /// Nobody needs the servers any more.
    pub fn end(&self) {
        self.servers.lock().expect("no panic").iter().flatten().for_each(Server::kill);
    }
}

/// Ends rounds that are lost by time, again and again, as the product does by chance that no seed determines.
async fn keep_time(sessions: Sessions, mut dice: SeededDice) -> Infallible {
    loop {
        sleep(Duration::from_millis(5 + dice.below(60))).await;
        // It is tried again, here and at the other servers.
        let _ = sessions.settle_overdue().await;
    }
}
