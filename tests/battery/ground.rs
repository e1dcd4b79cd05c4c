//! What servers of one schedule stand on: how each of them comes by its store.

use crate::fuzzed::MemoryStore;
use crate::postgres::Cluster;
use crate::wrapped_store::{Wrap, Wrapped};
use async_trait::async_trait;
use mancala::store::postgres::PostgresStore;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{Heard, Hearing, Hint, Store};
use mancala::store::{postgres, sqlite};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::broadcast;

/// See the module.
#[async_trait]
pub trait Ground: Send + Sync + 'static {
    /// The store of one server, which others share.
    async fn store(&self) -> Arc<dyn Store>;
}

/// A store that other servers use too, and the wire that their hints go by if the store has none of its own.
pub struct Linked {
    inner: Arc<dyn Store>,
    hints: broadcast::Sender<Heard>,
}

impl Wrap for Linked {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn tell(&self, session_id: &str, version: u32) {
        self.inner.tell(session_id, version);
        let hints = Arc::new([Hint { session_id: session_id.to_owned(), version }]);
        // Nobody may listen.
        let _ = self.hints.send(Heard::Hints(hints));
    }
    fn hear(&self) -> Option<Hearing> {
        Some(self.inner.hear().unwrap_or_else(|| self.hints.subscribe()))
    }
}

/// All servers use one store.
pub struct One {
    store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

impl One {
    fn over(inner: Arc<dyn Store>, folder: Option<TempDir>) -> One {
        let hints = broadcast::Sender::new(64);
        One { store: Arc::new(Wrapped(Linked { inner, hints })), _folder: folder }
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
        Arc::new(Wrapped(Linked { inner, hints: self.hints.clone() }))
    }
}
