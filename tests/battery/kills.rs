//! Processes of the built program that are killed over and over while clients play.

use crate::call::{Call, Outcome, What};
use crate::door::Door;
use crate::fault::{Counts, Fault};
use crate::form::{first_seed, long_form};
use crate::ledger::Ledger;
use crate::plan::Tally;
use crate::player::{Memory, Player, Servers};
use crate::postgres::Cluster;
use crate::program::Program;
use crate::remote::Remote;
use crate::schedule::{judge, read_logs};
use crate::watcher::Watcher;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::Store;
use mancala::store::postgres::PostgresStore;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{postgres, sqlite};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Where servers keep what they have, and how it is read when none of them runs.
#[async_trait]
trait Home: Send + Sync {
    fn start_server(&self) -> Program;

    async fn store(&self) -> Arc<dyn Store>;
}

/// A file of one server.
struct File(TempDir);

impl File {
    fn path(&self) -> PathBuf {
        self.0.path().join("store.db")
    }
}

#[async_trait]
impl Home for File {
    fn start_server(&self) -> Program {
        Program::serve(&self.path())
    }

    async fn store(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&self.path(), sqlite::Options::default()).expect("the store opens"))
    }
}

/// A database of several servers.
struct Shared {
    url: String,
    folder: TempDir,
}

#[async_trait]
impl Home for Shared {
    fn start_server(&self) -> Program {
        Program::serve_on(OsStr::new(&self.url), self.folder.path(), &[])
    }

    async fn store(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::connect(postgres::Options::new(&self.url)).await.expect("a database"))
    }
}

/// The doors of the servers; none: it is being killed.
struct Doors(Mutex<Vec<Option<Arc<dyn Door>>>>);

impl Doors {
    fn set(&self, place: usize, door: Option<Arc<dyn Door>>) {
        self.0.lock().expect("no panic")[place] = door;
    }
}

#[async_trait]
impl Servers for Doors {
    async fn any(&self, dice: &mut SeededDice) -> Arc<dyn Door> {
        loop {
            {
                let doors = self.0.lock().expect("no panic");
                if let Some(door) = &doors[dice.below(doors.len() as u64) as usize] {
                    return door.clone();
                }
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

struct Server {
    program: Program,
    life: CancellationToken,
}

/// Starts a server, and returns when it has answered.
async fn started(home: &dyn Home, probe: &Call) -> (Server, Arc<dyn Door>, Duration) {
    let begun = Instant::now();
    let server = Server { program: home.start_server(), life: CancellationToken::new() };
    let door: Arc<dyn Door> = Arc::new(Remote::new(&server.program.endpoint(), server.life.clone()));
    let answered = async {
        // An answer that names the session, or says that there is none.
        while matches!(door.call(probe).await, Outcome::Unknown | Outcome::Failed) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, answered).await.expect("the server answers");
    (server, door, begun.elapsed())
}

/// Far longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const CLIENTS: u32 = 8;
const WATCHERS: u64 = 4;
/// Between two kills at least so many requests are acknowledged, so that a kill always hits a server at work, and at most ten times as
/// many.
const BETWEEN_KILLS: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let kills = if long_form() { 1_000 } else { 20 };
    killed(Arc::new(File(TempDir::new().expect("a folder"))), 1, kills).await;
}

/// Clients go on with the other servers meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_servers_of_one_database_are_killed() {
    let kills = if long_form() { 1_000 } else { 20 };
    let (cluster, folder) = (Cluster::shared(), TempDir::new().expect("a folder"));
    killed(Arc::new(Shared { url: cluster.url(&cluster.database()), folder }), 3, kills).await;
}

/// Kills one after the other of so many servers, so often.
async fn killed(home: Arc<dyn Home>, servers: usize, kills: u64) {
    let seed = first_seed();
    let mut dice = SeededDice::for_game(seed, 0);
    let ledger = Arc::new(Ledger::new(&format!("kills-{servers}-{seed}")));
    let sessions: Arc<Vec<_>> = Arc::new((0..6 + kills / 4).map(|number| format!("killed-{number}-{}", number % 5)).collect());
    let probe = Call::read(&sessions[0], What::Get);
    let doors = Arc::new(Doors(Mutex::new(vec![None; servers])));
    let mut running = Vec::new();
    for place in 0..servers {
        let (server, door, _) = started(&*home, &probe).await;
        doors.set(place, Some(door));
        running.push(server);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let players = spawn_players(seed, &doors, &ledger, &sessions, &stop);
    let last = watch::Sender::new(None);
    let watchers = spawn_watchers(seed, &doors, &sessions[0], &last);

    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        wait_for_acknowledged(&ledger, BETWEEN_KILLS + dice.below(9 * BETWEEN_KILLS)).await;
        let place = dice.below(servers as u64) as usize;
        let Server { program, life } = running.swap_remove(place);
        ledger.note(&format!("server {place} is killed"));
        doors.set(place, None);
        drop(program);
        life.cancel();
        ledger.sync();
        let (server, door, took) = started(&*home, &probe).await;
        slowest = slowest.max(took);
        running.push(server);
        // The last one has moved to the place of the one that was killed.
        let last = running.len() - 1;
        running.swap(place, last);
        doors.set(place, Some(door));
    }
    wait_for_acknowledged(&ledger, BETWEEN_KILLS).await;
    stop.store(true, Ordering::SeqCst);
    players.join_all().await;

    let door = doors.any(&mut dice).await;
    let watched_session = door.call(&probe).await.version().expect("it is there");
    last.send_replace(Some(watched_session));
    let watched = watchers.join_all().await;
    drop(running);
    let store = home.store().await;
    let logs = read_logs(&*store, &sessions).await;
    store.close().await;
    let found = judge(ledger.entries(), &logs, &watched, Counts::from([(Fault::Killed, kills)]));
    ledger.sync();
    let (objections, disorder) = (&found.objections, &found.disorder);
    let first: Vec<_> = objections.iter().take(5).collect();
    assert!(found.is_clean(), "MANCALA_TEST_SEED={seed}, ledger in {}: {first:#?} {disorder:#?}", ledger.path().display());
    let Tally { acknowledged, unknown, .. } = found.tally;
    report!("{kills} kills of {servers} servers, seed {seed}, serving again after {slowest:?} at most: {:?}", found.tally);
    assert!(unknown > 0 && acknowledged as u64 > kills * BETWEEN_KILLS, "{:?}", found.tally);
    let within = Duration::from_secs(if long_form() { 1 } else { 3 });
    assert!(slowest < within, "serving again after {slowest:?}");
    Arc::into_inner(ledger).expect("nobody else has it").discard();
}

async fn wait_for_acknowledged(ledger: &Ledger, more: u64) {
    let until = ledger.acknowledged() + more;
    let wait = async {
        while ledger.acknowledged() < until {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("clients go on");
}

fn spawn_players(
    seed: u64,
    doors: &Arc<Doors>,
    ledger: &Arc<Ledger>,
    sessions: &Arc<Vec<String>>,
    stop: &Arc<AtomicBool>,
) -> JoinSet<()> {
    let mut players = JoinSet::new();
    for number in 0..CLIENTS {
        let player = Player {
            number,
            servers: doors.clone(),
            ledger: ledger.clone(),
            sessions: sessions.clone(),
            dice: SeededDice::for_game(seed, 100 + u64::from(number)),
            patience: Duration::from_secs(5),
            pause: Duration::from_millis(8),
            deletions: 0,
            memory: Memory::default(),
        };
        let own = sessions.iter().skip(number as usize).step_by(CLIENTS as usize).cloned().collect();
        let stop = stop.clone();
        players.spawn(player.play(own, move |_| !stop.load(Ordering::SeqCst)));
    }
    players
}

fn spawn_watchers(
    seed: u64,
    doors: &Arc<Doors>,
    session: &str,
    last: &watch::Sender<Option<u32>>,
) -> JoinSet<crate::audit::WatchLog> {
    let mut watchers = JoinSet::new();
    for number in 0..WATCHERS {
        let watcher = Watcher {
            servers: doors.clone(),
            session: session.to_owned(),
            after: 0,
            dice: SeededDice::for_game(seed, 1_000 + number),
            last: last.subscribe(),
            patience: Duration::from_secs(10),
        };
        watchers.spawn(watcher.watch());
    }
    watchers
}
