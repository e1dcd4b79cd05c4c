//! The embedded store: one SQLite file, written by one thread and read by a few connections.

mod archive;
mod backup;
mod batches;
mod changes;
mod checksum;
mod condition;
mod errors;
mod expiry;
mod heads;
mod imports;
mod intake;
mod lists;
mod lock;
mod log;
mod open;
mod open_error;
mod origin;
mod pool;
mod queue;
mod reads;
mod schema;
mod walk;
mod whole;
mod writer;
mod writes;

pub use archive::SqliteArchive;
pub use backup::{BackupError, back_up};
pub use intake::SqliteIntake;
pub use open_error::OpenError;

use super::{
    Append, Appended, Census, Changes, Create, CreateAll, Created, CreatedAll, Creation, Cursor, Delete, Deleted, Expirable,
    Filter, Head, HeadPage, Health, IdleQuery, Import, Micros, Place, Query, State, Store, StoreError, StoreMetrics, StoredEvent,
};
use async_trait::async_trait;
use condition::Condition;
use pool::Pool;
use queue::Queue;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use writer::Writer;

/// How a store is opened and run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections that read; at least one.
    pub readers: usize,
    /// How often an unwritable store tries again.
    pub retry_every: Duration,
    /// How long to wait for another program, such as an SQLite shell, that holds a lock.
    pub busy_timeout: Duration,
    /// Largest file, in bytes, whose whole structure is checked when it is opened.
    pub check_up_to: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            readers: 3,
            retry_every: Duration::from_millis(500),
            busy_timeout: Duration::from_secs(5),
            // A fraction of a second.
            check_up_to: 16 << 20,
        }
    }
}

/// So that a row takes no longer than many others together, which wait for the same transaction.
const LONGEST_ROW: usize = 64;

/// A store in one SQLite file.
pub struct SqliteStore {
    // Before the queue, so that the last connection to close is the writer's, which tidies up.
    readers: Pool,
    writer: Queue,
    condition: Arc<Condition>,
    metrics: StoreMetrics,
}

impl SqliteStore {
    /// Opens the store at `path` and locks it; makes it, and its folder, if there is no file or an empty one.
    ///
    /// It has been written once when this returns, so a store that can't be written does not open. Dropping it closes it,
    /// and waits for that; [`Store::close`] is the way that does not block a thread.
    pub fn open(path: &Path, options: Options) -> Result<SqliteStore, OpenError> {
        let opened = open::open(path, &options)?;
        let condition = Arc::new(Condition::writable());
        let metrics = StoreMetrics::default();
        let readers = Pool::new(opened.readers, condition.clone());
        let writer = Queue::start(condition.clone(), |inbox| Writer {
            connection: opened.writer,
            inbox,
            condition: condition.clone(),
            retry_every: options.retry_every,
            metrics: metrics.clone(),
            lock: opened.lock,
        })
        .map_err(|error| OpenError::io(path, error))?;
        Ok(SqliteStore { readers, writer, condition, metrics })
    }

    /// What is measured of its writes.
    pub fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }

    /// Writes that are queued or under way.
    pub fn queued(&self) -> usize {
        self.writer.queued()
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        create.assert_valid();
        self.writer.write(move |connection| writes::create(connection, &create)).await
    }

    async fn import(&self, import: Import) -> Result<Created, StoreError> {
        import.assert_valid();
        self.writer.write(move |connection| imports::import(connection, &import)).await
    }

    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError> {
        batch.assert_valid();
        self.writer.write(move |connection| batches::create_all(connection, &batch)).await
    }

    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError> {
        let request_id = request_id.to_owned();
        self.readers.read(move |connection| reads::creation(connection, &request_id)).await
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        append.assert_valid();
        self.writer.change(move |connection, heads| writes::append(connection, heads, &append)).await
    }

    fn longest_row(&self) -> usize {
        LONGEST_ROW
    }

    async fn append_all(&self, appends: Vec<Append>) -> Result<Appended, StoreError> {
        appends.iter().for_each(Append::assert_valid);
        let follows = |[one, next]: &[Append; 2]| one.session_id == next.session_id && one.version() == next.expected_version;
        assert!((1..=LONGEST_ROW).contains(&appends.len()) && appends.array_windows().all(follows), "appends in a row");
        self.writer.change(move |connection, heads| writes::append_all(connection, heads, &appends)).await
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.writer.change(move |connection, heads| writes::delete(connection, heads, &delete)).await
    }

    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let session_id = session_id.to_owned();
        self.readers.read(move |connection| reads::events(connection, &session_id, after, limit)).await
    }

    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        let session_id = session_id.to_owned();
        self.readers.read(move |connection| reads::head(connection, &session_id)).await
    }

    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        self.readers.read(move |connection| reads::heads(connection, &session_ids)).await
    }

    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.readers.read(move |connection| reads::versions(connection, &session_ids)).await
    }

    async fn list(&self, query: Query) -> Result<HeadPage, StoreError> {
        self.readers.read(move |connection| lists::list(connection, &query)).await
    }

    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError> {
        self.readers.read(move |connection| expiry::idle(connection, &query)).await
    }

    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
        self.readers.read(move |connection| expiry::due(connection, state, by, limit)).await
    }

    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        self.readers.read(move |connection| expiry::overdue(connection, before, after.clone(), limit)).await
    }

    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError> {
        self.readers.read(move |connection| lists::count_up_to(connection, filter, most)).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.readers.read(lists::census).await
    }

    async fn latest_change(&self) -> Result<Cursor, StoreError> {
        self.readers.read(changes::end).await
    }

    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
        self.readers.read(move |connection| changes::changes(connection, &after, limit)).await
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.condition.subscribe()
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
