//! What servers of one schedule stand on: how each of them comes by its store.

use crate::fuzzed::MemoryStore;
use crate::wrapped_store::{Wrap, Wrapped};
use async_trait::async_trait;
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Heard, Hearing, Hint, Store};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::broadcast;

/// See the module.
#[async_trait]
pub trait Ground: Send + Sync + 'static {
    /// The store of one server, which others share.
    async fn store(&self) -> Arc<dyn Store>;
}

/// A store of this process that all servers use, and the wire that their hints go by.
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
        let hints = Arc::new([Hint { session_id: session_id.to_owned(), version }]);
        // Nobody may listen.
        let _ = self.hints.send(Heard::Hints(hints));
    }
    fn hear(&self) -> Option<Hearing> {
        Some(self.hints.subscribe())
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
        let store = SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens");
        One::over(Arc::new(store), Some(folder))
    }
}

#[async_trait]
impl Ground for One {
    async fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }
}
