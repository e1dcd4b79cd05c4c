//! What servers of one schedule stand on: how each of them comes by its store, and what may happen to all of it.

use crate::fault::{Fault, Faults};
use crate::fuzzed::MemoryStore;
use crate::postgres::Cluster;
use crate::weather::Weather;
use crate::wrapped_store::{Wrapped, linked};
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::postgres::PostgresStore;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{Health, Heard, Store, postgres, sqlite};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio::time::{sleep, timeout};

/// See the module.
#[async_trait]
pub trait Ground: Send + Sync + 'static {
    /// The store of the server at a place, which others share.
    async fn store(&self, place: usize) -> Arc<dyn Store>;

    /// What may happen to it.
    fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// Has one of these happen, for so long, and returns when it is over.
    async fn suffer(&self, fault: Fault, _lasts: Duration, _dice: &mut SeededDice) {
        panic!("{fault:?} does not happen here");
    }

    /// Nothing is done to it any more.
    fn calm(&self) {}

    /// Then what is on its way to it arrives within this time.
    fn settles(&self) -> Duration {
        Duration::from_millis(450)
    }
}

/// No hint is lost.
fn told() -> Arc<AtomicBool> {
    Arc::new(true.into())
}

fn shared(inner: Arc<dyn Store>) -> Arc<dyn Store> {
    linked(inner, broadcast::Sender::new(64), told())
}

/// A store in memory that all servers use, and its weather.
pub struct Memory {
    store: Arc<dyn Store>,
    weather: Arc<Wrapped<Weather>>,
    faults: Faults,
}

impl Memory {
    pub fn new(seed: u64, faults: Faults) -> Memory {
        let dice = SeededDice::for_game(seed, 4);
        let weather = Arc::new(Wrapped(Weather::new(Arc::new(MemoryStore::default()), faults.clone(), dice)));
        Memory { store: shared(weather.clone()), weather, faults }
    }
}

#[async_trait]
impl Ground for Memory {
    async fn store(&self, _: usize) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn faults(&self) -> Vec<Fault> {
        vec![Fault::DiskFull, Fault::ReadOnly, Fault::Stopped]
    }

    async fn suffer(&self, fault: Fault, lasts: Duration, _: &mut SeededDice) {
        self.weather.0.becomes(Some(fault));
        sleep(lasts).await;
        self.weather.0.becomes(None);
        if fault == Fault::Stopped {
            self.faults.note(fault);
        }
    }
}

/// A file that all servers use.
pub struct File {
    store: Arc<dyn Store>,
    disk: Option<FailingDisk>,
    _folder: TempDir,
}

/// A folder whose files can't be written as long as another file, the flag, names an error: see `tests/support/failing_write.c`, which
/// is preloaded into this process.
pub struct FailingDisk {
    pub folder: PathBuf,
    pub flag: PathBuf,
    pub faults: Faults,
}

/// The disk's errors.
const NO_ROOM: i32 = 28;
const READ_ONLY: i32 = 30;
const NO_PERMISSION: i32 = 13;

/// A disk that can be written again is found to be so within this time, unless it never is.
const RECOVERED: Duration = Duration::from_secs(30);

impl File {
    pub fn new() -> File {
        File::open(TempDir::new().expect("a folder"), None)
    }

    pub fn on(disk: FailingDisk) -> File {
        File::open(TempDir::new_in(&disk.folder).expect("a folder"), Some(disk))
    }

    fn open(folder: TempDir, disk: Option<FailingDisk>) -> File {
        let options = sqlite::Options { retry_every: Duration::from_millis(50), ..sqlite::Options::default() };
        let store = SqliteStore::open(&folder.path().join("store.db"), options).expect("the store opens");
        File { store: shared(Arc::new(store)), disk, _folder: folder }
    }
}

#[async_trait]
impl Ground for File {
    async fn store(&self, _: usize) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn faults(&self) -> Vec<Fault> {
        if self.disk.is_some() { vec![Fault::DiskFull, Fault::ReadOnly] } else { Vec::new() }
    }

    async fn suffer(&self, fault: Fault, lasts: Duration, dice: &mut SeededDice) {
        let disk = self.disk.as_ref().expect("it has faults");
        let error = if fault == Fault::DiskFull { NO_ROOM } else { [READ_ONLY, NO_PERMISSION][dice.below(2) as usize] };
        set_flag(&disk.flag, error);
        sleep(lasts).await;
        // Nobody may have written meanwhile.
        let met = *self.store.health().borrow() == Health::Unwritable;
        disk.faults.add(fault, met.into());
        std::fs::remove_file(&disk.flag).expect("the flag");
        let mut health = self.store.health();
        let recovers = health.wait_for(|health| *health == Health::Writable);
        timeout(RECOVERED, recovers).await.expect("writes resume by themselves").expect("the store is there");
    }
}

/// Whole, since it may be read at any time.
fn set_flag(flag: &Path, error: i32) {
    let new = flag.with_extension("new");
    std::fs::write(&new, error.to_string()).expect("a flag");
    std::fs::rename(new, flag).expect("a flag");
}

/// A database to which nothing happens, and for each server a store of its own, with connections of its own.
pub struct Database {
    url: String,
    /// The wire of hints, where the stores have none.
    hints: broadcast::Sender<Heard>,
}

/// Connections of a server.
const CONNECTIONS: usize = 4;

impl Database {
    pub fn new() -> Database {
        let cluster = Cluster::shared();
        Database { url: cluster.url(&cluster.database()), hints: broadcast::Sender::new(64) }
    }
}

#[async_trait]
impl Ground for Database {
    async fn store(&self, _: usize) -> Arc<dyn Store> {
        let options = postgres::Options { connections: CONNECTIONS, ..postgres::Options::new(&self.url) };
        server_store(options, &self.hints).await
    }
}

/// The store of one of several servers of a database.
pub async fn server_store(options: postgres::Options, hints: &broadcast::Sender<Heard>) -> Arc<dyn Store> {
    let inner = Arc::new(PostgresStore::connect(options).await.expect("a database"));
    linked(inner, hints.clone(), told())
}
