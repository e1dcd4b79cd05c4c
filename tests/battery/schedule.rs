//! A random schedule: some servers of one store, clients and watchers, and what happens to them, all drawn from a seed; and what the
//! auditor and the search for an order say of it.

use crate::audit::{Logs, Objection, WatchLog, audit};
use crate::door::{Direct, Door};
use crate::faulty::{Faulty, Rates};
use crate::ledger::{Entry, Ledger};
use crate::machine::is_linear;
use crate::mutants::{Mutant, Planted};
use crate::player::{Memory, Player, Servers};
use crate::watcher::Watcher;
use crate::wrapped_store::Wrapped;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::service::{Clock, Sessions};
use mancala::session::Micros;
use mancala::store::Store;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// What is drawn before it begins.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub mutant: Option<Mutant>,
    servers: usize,
    sessions: usize,
    clients: u32,
    calls: u32,
    watchers: usize,
    cached: usize,
    deletions: u64,
    rates: Rates,
    /// Kills, cuts from the store and jumps of clocks, one after the other.
    events: u32,
    pause: Duration,
}

impl Plan {
    pub fn draw(seed: u64, mutant: Option<Mutant>) -> Plan {
        let mut dice = SeededDice::for_game(seed, 0);
        let mut below = |sides: u64| dice.below(sides);
        let rates = match below(4) {
            0 => Rates { before: 0, after: 0, late: 0, slow: 100 },
            1 => Rates { before: 10, after: 40, late: 40, slow: 20 },
            2 => Rates { before: 50, after: 20, late: 20, slow: 100 },
            _ => Rates { before: 5, after: 5, late: 5, slow: 5 },
        };
        Plan {
            seed,
            mutant,
            servers: 2 + below(3) as usize,
            sessions: 1 + below(3) as usize,
            clients: 2 + below(4) as u32,
            calls: 15 + below(25) as u32,
            watchers: 1 + below(5) as usize,
            cached: [1, 2, 16][below(3) as usize],
            deletions: [0, 0, 2, 10][below(4) as usize],
            rates,
            events: below(12) as u32,
            pause: Duration::from_micros([500, 5_000, 20_000][below(3) as usize]),
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Found {
    pub objections: Vec<(String, Objection)>,
    /// Sessions whose answers no order explains, and why.
    pub disorder: Vec<(String, String)>,
    pub tally: Tally,
    /// Digest of all that clients and watchers were told, and when.
    pub trace: String,
}

/// How much there was of it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub calls: usize,
    pub acknowledged: usize,
    pub refused: usize,
    pub unknown: usize,
    pub events: usize,
    pub watched: usize,
    pub faults: u64,
    pub kills: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        let Tally { calls, acknowledged, refused, unknown, events, watched, faults, kills } = other;
        self.calls += calls;
        self.acknowledged += acknowledged;
        self.refused += refused;
        self.unknown += unknown;
        self.events += events;
        self.watched += watched;
        self.faults += faults;
        self.kills += kills;
    }
}

impl Found {
    pub fn is_clean(&self) -> bool {
        self.objections.is_empty() && self.disorder.is_empty()
    }

    /// The checks that found something.
    pub fn checks(&self) -> BTreeSet<&'static str> {
        let order = self.disorder.iter().map(|_| "linearizability");
        self.objections.iter().map(|(_, objection)| objection.check()).chain(order).collect()
    }
}

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
struct Fleet {
    plan: Plan,
    planted: Planted,
    servers: Mutex<Vec<Option<Server>>>,
    start: Instant,
    started: AtomicU64,
    faults: Arc<AtomicU64>,
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
struct Only {
    fleet: Arc<Fleet>,
    place: usize,
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

    /// Starts a server with nothing in memory.
    fn start(&self, place: usize) {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let dice = SeededDice::for_game(self.plan.seed, 10_000 + number);
        let way = Arc::new(Wrapped(Faulty::new(self.planted.store.clone(), self.plan.rates, dice, self.faults.clone())));
        let clock = Arc::new(JumpingClock { start: self.start, offset: AtomicI64::new(0) });
        let life = CancellationToken::new();
        let sessions = Sessions::new(way.clone(), clock.clone(), self.plan.cached);
        let direct = Direct { sessions, life: life.clone() };
        let door = match self.plan.mutant {
            Some(mutant) => mutant.plant_in_door(direct),
            None => Arc::new(direct),
        };
        self.with(place, |server| *server = Some(Server { door, way, clock, life }));
    }

    /// Nobody hears of it any more. What it has sent to the store arrives.
    async fn kill(&self, place: usize) {
        if let Some(server) = self.with(place, Option::take) {
            server.life.cancel();
            server.way.0.cut(true);
        }
        self.planted.crash().await;
    }

    /// Faults, one after the other, until told that it is enough.
    async fn trouble(&self, ledger: &Ledger, dice: &mut SeededDice, kills: &AtomicU64) {
        for _ in 0..self.plan.events {
            sleep(Duration::from_millis(dice.below(80))).await;
            let place = dice.below(self.plan.servers as u64) as usize;
            let lasts = Duration::from_millis(dice.below(60));
            match dice.below(3) {
                0 => {
                    ledger.note(&format!("server {place} is killed"));
                    kills.fetch_add(1, Ordering::Relaxed);
                    self.kill(place).await;
                    sleep(lasts).await;
                    self.start(place);
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

/// What is on its way to the store arrives within this time.
const SETTLED: Duration = Duration::from_millis(450);

/// Carries a plan out over a store that is empty.
pub async fn run(plan: &Plan, store: Arc<dyn Store>, ledger: &Arc<Ledger>) -> Found {
    let planted = match plan.mutant {
        Some(mutant) => mutant.plant_in_store(store.clone(), SeededDice::for_game(plan.seed, 1)),
        None => Planted::plain(store.clone()),
    };
    let fleet = Arc::new(Fleet {
        plan: plan.clone(),
        planted,
        servers: Mutex::new((0..plan.servers).map(|_| None).collect()),
        start: Instant::now(),
        started: AtomicU64::new(0),
        faults: Arc::default(),
    });
    (0..plan.servers).for_each(|place| fleet.start(place));
    let sessions: Arc<Vec<_>> = {
        let mut dice = SeededDice::for_game(plan.seed, 2);
        Arc::new((0..plan.sessions).map(|number| format!("session-{number}-{}", dice.below(5))).collect())
    };
    let (last, players) = (watch::Sender::new(None), spawn_players(plan, &fleet, ledger, &sessions));
    let watchers = spawn_watchers(plan, &fleet, &sessions, &last);
    let kills = AtomicU64::new(0);
    let played = async { players.join_all().await };
    let mut dice = SeededDice::for_game(plan.seed, 3);
    tokio::join!(played, fleet.trouble(ledger, &mut dice, &kills));
    // Whoever asks now is told what is stored in the end.
    sleep(SETTLED).await;
    let logs = read_logs(&*store, &sessions).await;
    last.send_replace(Some(logs.values().map(|log| log.as_ref().map_or(0, |log| log.len() as u32)).collect()));
    let watched = watchers.join_all().await;
    judge(&ledger.entries(), &logs, &watched, fleet.faults.load(Ordering::Relaxed), kills.into_inner())
}

fn spawn_players(plan: &Plan, fleet: &Arc<Fleet>, ledger: &Arc<Ledger>, sessions: &Arc<Vec<String>>) -> JoinSet<()> {
    let mut players = JoinSet::new();
    for number in 0..plan.clients {
        let player = Player {
            number,
            servers: fleet.clone(),
            ledger: ledger.clone(),
            sessions: sessions.clone(),
            dice: SeededDice::for_game(plan.seed, 100 + u64::from(number)),
            patience: Duration::from_millis(150),
            pause: plan.pause,
            deletions: plan.deletions,
            memory: Memory::default(),
        };
        let calls = plan.calls;
        let to_make = if number == 0 { sessions.to_vec() } else { Vec::new() };
        players.spawn(player.play(to_make, move |done| done < calls));
    }
    players
}

/// The last version of each session.
type Last = watch::Sender<Option<Vec<u32>>>;

fn spawn_watchers(plan: &Plan, fleet: &Arc<Fleet>, sessions: &Arc<Vec<String>>, last: &Last) -> JoinSet<WatchLog> {
    let mut watchers = JoinSet::new();
    // One of a session at a server: the order in which several would be woken is none that a seed determines.
    for number in 0..plan.watchers.min(plan.servers * plan.sessions) {
        let mut dice = SeededDice::for_game(plan.seed, 1_000 + number as u64);
        let place = number % plan.sessions;
        let servers = Arc::new(Only { fleet: fleet.clone(), place: number / plan.sessions });
        let after = dice.below(2) as u32;
        let (mut all, this) = (last.subscribe(), watch::Sender::new(None));
        let last = this.subscribe();
        tokio::spawn(async move {
            // It fails when the schedule is given up.
            let version = all.wait_for(Option::is_some).await.map(|all| all.as_ref().map(|all| all[place]));
            this.send_replace(version.unwrap_or_default());
            this.closed().await;
        });
        let session = sessions[place].clone();
        let patience = Duration::from_secs(3);
        watchers.spawn(Watcher { servers, session, after, dice, last, patience }.watch());
    }
    watchers
}

/// All that is stored of these sessions.
pub async fn read_logs(store: &dyn Store, sessions: &[String]) -> Logs {
    let mut logs = Logs::new();
    for session in sessions {
        logs.insert(session.clone(), store.read(session, 0, 100_000).await.expect("the store can be read"));
    }
    logs
}

/// What all checks say.
pub fn judge(entries: &[Entry], logs: &Logs, watched: &[WatchLog], faults: u64, kills: u64) -> Found {
    use crate::call::Outcome;
    let objections = audit(entries, logs, watched);
    let of = |session: &String| is_linear(entries.iter().filter(|entry| entry.call.session == *session));
    let disorder = logs.keys().filter_map(|session| Some((session.clone(), of(session).err()?))).collect();
    let count = |is: fn(&Outcome) -> bool| entries.iter().filter(|entry| is(entry.outcome())).count();
    let tally = Tally {
        calls: entries.len(),
        acknowledged: count(|outcome| matches!(outcome, Outcome::Done(_))),
        refused: count(|outcome| matches!(outcome, Outcome::Refused { .. })),
        unknown: count(|outcome| *outcome == Outcome::Unknown),
        events: logs.values().flatten().map(Vec::len).sum(),
        watched: watched.iter().map(|watch| watch.events.len()).sum(),
        faults,
        kills,
    };
    Found { objections, disorder, tally, trace: format!("{entries:#?} {watched:#?}") }
}
