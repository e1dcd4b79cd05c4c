//! What servers of one schedule stand on: how each of them comes by its store.

use crate::fuzzed::MemoryStore;
use crate::postgres::Cluster;
use crate::wrapped_store::linked;
use async_trait::async_trait;
use mancala::store::postgres::PostgresStore;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{Heard, Store, postgres, sqlite};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use tokio::sync::broadcast;

/// See the module.
#[async_trait]
pub trait Ground: Send + Sync + 'static {
    /// The store of one server, which others share.
    async fn store(&self) -> Arc<dyn Store>;
}

/// No hint is lost.
fn told() -> Arc<AtomicBool> {
    Arc::new(true.into())
}

/// All servers use one store.
pub struct One {
    store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

impl One {
    fn over(inner: Arc<dyn Store>, folder: Option<TempDir>) -> One {
        One { store: linked(inner, broadcast::Sender::new(64), told()), _folder: folder }
    }

    pub fn memory() -> One {
        One::over(Arc::new(MemoryStore::default()), None)
    }

    pub fn sqlite() -> One {
        let folder = TempDir::new().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("store.db"), sqlite::Options::default()).expect("the store opens");
        One::over(Arc::new(store), Some(folder))
    }
}

#[async_trait]
impl Ground for One {
    async fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }
}

/// A database, and for each server a store of its own, with connections of its own.
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
    async fn store(&self) -> Arc<dyn Store> {
        let options = postgres::Options { connections: CONNECTIONS, ..postgres::Options::new(&self.url) };
        let inner = Arc::new(PostgresStore::connect(options).await.expect("a database"));
        linked(inner, self.hints.clone(), told())
    }
}
