//! Opening the store that the configuration names.

use crate::cli::Failure;
use crate::config::StoreConfig;
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::{self, SqliteStore};
use crate::store::{Location, Store, StoreMetrics};
use std::sync::Arc;

/// A store, with what is measured of it.
pub struct Opened {
    pub store: Arc<dyn Store>,
    pub metrics: StoreMetrics,
    /// Writes that are queued or under way.
    pub queued: Arc<dyn Fn() -> usize + Send + Sync>,
}

/// Opens the file, or connects to the database. A database that can't be reached yet is no failure.
pub async fn open(config: &StoreConfig) -> Result<Opened, Failure> {
    match config.location() {
        Location::Sqlite(path) => {
            let open = tokio::task::spawn_blocking(move || SqliteStore::open(&path, sqlite::Options::default()));
            let store = Arc::new(open.await.map_err(Failure::run)?.map_err(Failure::run)?);
            let counted = store.clone();
            Ok(Opened { metrics: store.metrics().clone(), queued: Arc::new(move || counted.queued()), store })
        }
        Location::Postgres(_) => {
            let options = config.options().map_err(Failure::run)?;
            let store = Arc::new(PostgresStore::connect(options).await.map_err(Failure::run)?);
            let counted = store.clone();
            Ok(Opened { metrics: store.metrics().clone(), queued: Arc::new(move || counted.queued()), store })
        }
    }
}
