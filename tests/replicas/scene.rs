//! Clients and watchers at work on a fleet, from the first call to the verdict.

use crate::audit::{Logs, WatchLog};
use crate::call::{Call, Outcome};
use crate::client::{Client, Common, Habit, Limit, Stats};
use crate::fleet::Fleet;
use crate::judge::{Found, judge, read_logs};
use crate::ledger::Ledger;
use crate::watcher::Watcher;
use mancala::random::SeededDice;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How much is going on.
#[derive(Debug, Clone)]
pub struct Load {
    pub seed: u64,
    /// Names the ledger.
    pub name: &'static str,
    pub clients: u32,
    pub sessions: usize,
    pub watchers: usize,
    pub limit: Limit,
    pub pause: Duration,
    pub habit: Habit,
    /// Nothing that was acknowledged may be lost.
    pub lossless: bool,
}

impl Load {
    pub fn new(name: &'static str, seed: u64) -> Load {
        let (limit, pause) = (Limit::Deadline(Duration::from_secs(5)), Duration::from_millis(20));
        Load { seed, name, clients: 6, sessions: 8, watchers: 4, limit, pause, habit: Habit::Honest, lossless: true }
    }
}

/// See the module.
pub struct Scene {
    pub load: Load,
    pub common: Arc<Common>,
    goes_on: Arc<AtomicBool>,
    clients: JoinSet<()>,
    watchers: JoinSet<WatchLog>,
    lasts: Vec<(String, watch::Sender<Option<u32>>)>,
}

impl Scene {
    /// Makes the sessions once all replicas serve, and lets clients and watchers begin.
    pub async fn begin(fleet: &Arc<Fleet>, load: Load) -> Scene {
        for place in 0..fleet.len() {
            fleet.replica(place).until_serving(true).await;
        }
        let common = Arc::new(Common {
            fleet: fleet.clone(),
            ledger: Arc::new(Ledger::new(load.name)),
            sessions: (0..load.sessions).map(|number| format!("{}-{number}", load.name)).collect(),
            stats: Mutex::default(),
            limit: load.limit,
            pause: load.pause,
            habit: load.habit,
        });
        let goes_on = Arc::new(AtomicBool::new(true));
        let mut clients: Vec<_> = (0..load.clients).map(|number| Client::new(number, common.clone(), load.seed)).collect();
        clients[0].make_sessions().await;
        let mut scene = Scene {
            load,
            common,
            goes_on: goes_on.clone(),
            clients: JoinSet::new(),
            watchers: JoinSet::new(),
            lasts: Vec::new(),
        };
        for client in clients {
            let goes_on = goes_on.clone();
            scene.clients.spawn(client.play(move || goes_on.load(Ordering::Relaxed)));
        }
        for number in 0..scene.load.watchers {
            let session = scene.common.sessions[number % scene.load.sessions].clone();
            let (last, learns) = watch::channel(None);
            scene.lasts.push((session.clone(), last));
            let dice = SeededDice::for_game(scene.load.seed, 1_000 + number as u64);
            let patience = Duration::from_secs(20);
            scene.watchers.spawn(Watcher { servers: fleet.clone(), session, after: 0, dice, last: learns, patience }.watch());
        }
        scene
    }

    /// Waits until a change is acknowledged that was not before, if need be at one of these places; gives when that was.
    pub async fn next_success(&self, since: Instant, places: &[usize]) -> Instant {
        let begun = Instant::now();
        loop {
            let found = self.stats(|stats| {
                let later = stats.acknowledged.iter().rev().take_while(|(at, _)| *at > since);
                later.filter(|(_, place)| places.is_empty() || places.contains(place)).last().map(|(at, _)| *at)
            });
            if let Some(at) = found {
                return at;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no success any more");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn stats<T>(&self, look: impl FnOnce(&Stats) -> T) -> T {
        look(&self.common.stats.lock().expect("no panic"))
    }

    /// Ends the play, has every doubt resolved, and judges.
    pub async fn end(mut self, url: &str) -> Ended {
        self.goes_on.store(false, Ordering::Relaxed);
        while let Some(client) = self.clients.join_next().await {
            client.expect("no panic");
        }
        let (doubts, unresolved) = if self.load.habit == Habit::Honest { self.resolve().await } else { (0, Vec::new()) };
        let logs = read_logs(url, &self.common.sessions).await;
        let watched = self.watched(&logs).await;
        let found = judge(&self.common.ledger.entries(), &logs, &watched, self.load.lossless);
        Ended { found, doubts, unresolved, load: self.load, common: self.common }
    }

    /// Repeats every change whose outcome is not known, once all is well again: how many those are, and which are not resolved then.
    async fn resolve(&self) -> (usize, Vec<Call>) {
        let mut open: BTreeMap<String, Call> = BTreeMap::new();
        let mut known = std::collections::BTreeSet::new();
        for entry in self.common.ledger.entries().into_iter().filter(|entry| !entry.call.what.is_read()) {
            if matches!(entry.outcome(), Outcome::Done(_) | Outcome::Refused { .. }) {
                known.insert(entry.call.request);
            } else {
                open.insert(entry.call.request.clone(), entry.call);
            }
        }
        open.retain(|request, _| !known.contains(request));
        let mut client = Client::new(self.load.clients, self.common.clone(), self.load.seed);
        let (doubts, mut unresolved) = (open.len(), Vec::new());
        for call in open.into_values() {
            if !matches!(client.ask(&call).await, Outcome::Done(_) | Outcome::Refused { .. }) {
                unresolved.push(call);
            }
        }
        (doubts, unresolved)
    }

    async fn watched(&mut self, logs: &Logs) -> Vec<WatchLog> {
        for (session, last) in &self.lasts {
            last.send_replace(logs[session].as_ref().map(|log| log.len() as u32).or(Some(0)));
        }
        let mut watched = Vec::new();
        while let Some(log) = self.watchers.join_next().await {
            watched.push(log.expect("no panic"));
        }
        watched
    }
}

/// A scene that is over.
pub struct Ended {
    pub found: Found,
    /// Changes that were repeated in the end since it was not known whether they had happened.
    pub doubts: usize,
    /// Those that are not known even so.
    pub unresolved: Vec<Call>,
    load: Load,
    common: Arc<Common>,
}

impl Ended {
    /// Fails unless all is well; says in a line what there was.
    pub fn assert_clean(self, what: &str) {
        let Ended { found, doubts, unresolved, load, common } = self;
        let objections: Vec<_> = found.objections.iter().take(5).collect();
        let disorder: Vec<_> = found.disorder.iter().take(2).collect();
        common.ledger.sync();
        assert!(
            objections.is_empty() && disorder.is_empty() && unresolved.is_empty(),
            "MANCALA_TEST_SEED={} {what}, ledger in {}: {objections:#?} {disorder:#?} {unresolved:#?}",
            load.seed,
            common.ledger.path().display()
        );
        let stats = common.stats.lock().expect("no panic");
        report!(
            "{what}: {found}, {doubts} doubts resolved in the end; {} calls, {} failed after all attempts; longest attempt {:?}",
            stats.calls,
            stats.failed.len(),
            stats.longest_attempt
        );
        drop(stats);
        self::discard(common);
    }

    /// For those who look for faults that they have planted.
    pub fn into_found(self) -> Found {
        discard(self.common);
        self.found
    }
}

fn discard(common: Arc<Common>) {
    let ledger = Arc::into_inner(common).map(|common| common.ledger).expect("nobody else plays");
    Arc::into_inner(ledger).expect("nobody else writes").discard();
}

/// A time of a list, as a percentage of it; the list is in order.
pub fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() * percent / 100).min(times.len() - 1)]
}
