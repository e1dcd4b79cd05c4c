//! The store that several servers share: a database on a Postgres server.
//!
//! Every write is one statement that commits by itself and may be repeated: it bears the version that it expects and the request that
//! it is for. So no server needs to know of the others, and none holds a lock while it thinks.

mod appends;
mod archive;
mod changes;
mod condition;
mod contact;
mod creations;
mod errors;
mod expiry;
mod hints;
mod hosts;
mod intake;
mod keeper;
mod link;
mod lists;
mod open_error;
mod options;
mod pooled;
mod reads;
mod sql;
mod text;
mod tls;
mod walk;
mod writes;

pub use archive::PostgresArchive;
pub use intake::PostgresIntake;
pub use open_error::OpenError;
pub use options::Options;

use super::{
    Append, Appended, Census, Changes, Create, CreateAll, Created, CreatedAll, Creation, Cursor, Delete, Deleted, Expirable,
    Filter, Head, HeadPage, Health, Hearing, IdleQuery, Import, Micros, Place, Query, State, Store, StoreError, StoreMetrics,
    StoredEvent,
};
use appends::Appends;
use async_trait::async_trait;
use condition::Condition;
use hints::Hints;
use keeper::Keeper;
use link::{Link, Servers};
use std::sync::{Arc, Mutex, PoisonError};
use tls::Connector;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A store in a database.
pub struct PostgresStore {
    link: Arc<Link>,
    appends: Arc<Appends>,
    condition: Arc<Condition>,
    hints: Arc<Hints>,
    /// What runs as long as the store is open.
    tasks: Mutex<JoinSet<()>>,
}

impl PostgresStore {
    /// Connects to the database, makes what is missing of its tables, and keeps an eye on it from then on.
    ///
    /// A database that can't be reached is no error: the store is [`Health::Unwritable`] then, refuses everything at once, and tries
    /// on. An error is what someone must mend: a wrong password, the tables of a newer program, a server that does not keep what it
    /// acknowledges.
    pub async fn connect(options: Options) -> Result<PostgresStore, OpenError> {
        let connector = Connector::new(&options)?;
        let condition = Arc::new(Condition::unreached());
        let link = Arc::new(Link::new(options.clone(), connector.clone(), condition.clone(), Servers::Primary)?);
        let appends = Arc::new(Appends::new(link.clone()));
        let mut keeper = Keeper {
            connector: connector.clone(),
            link: link.clone(),
            options,
            condition: condition.clone(),
            client: None,
            migrated: false,
        };
        keeper.begin().await?;
        let hints = Arc::new(Hints::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(keeper.run());
        tasks.spawn(hints.clone().send(connector.clone()));
        tasks.spawn(hints.clone().listen(connector));
        Ok(PostgresStore { link, appends, condition, hints, tasks: Mutex::new(tasks) })
    }

    /// What is measured of its writes.
    pub fn metrics(&self) -> &StoreMetrics {
        self.link.metrics()
    }

    /// Calls that are waiting or under way.
    pub fn queued(&self) -> usize {
        self.link.under_way()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        create.assert_valid();
        creations::create(&self.link, &create).await
    }

    async fn import(&self, import: Import) -> Result<Created, StoreError> {
        import.assert_valid();
        creations::import(&self.link, &import).await
    }

    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError> {
        batch.assert_valid();
        creations::create_all(&self.link, &batch).await
    }

    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError> {
        Ok(reads::creations(&self.link, request_id, 1).await?.into_iter().next())
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        append.assert_valid();
        self.appends.add(append).await
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        writes::delete(&self.link, &delete).await
    }

    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        reads::events(&self.link, session_id, after, limit).await
    }

    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        Ok(reads::heads(&self.link, &[session_id.to_owned()]).await?.into_iter().flatten().next())
    }

    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        reads::heads(&self.link, &session_ids).await
    }

    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        reads::versions(&self.link, &session_ids).await
    }

    async fn list(&self, query: Query) -> Result<HeadPage, StoreError> {
        lists::list(&self.link, &query).await
    }

    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError> {
        expiry::idle(&self.link, &query).await
    }

    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
        expiry::due(&self.link, state, by, limit).await
    }

    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        expiry::overdue(&self.link, before, after, limit).await
    }

    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError> {
        lists::count_up_to(&self.link, filter, most).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        lists::census(&self.link).await
    }

    async fn latest_change(&self) -> Result<Cursor, StoreError> {
        changes::end(&self.link).await
    }

    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
        changes::changes(&self.link, &after, limit).await
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn tell(&self, session_id: &str, version: u32) {
        self.hints.tell(session_id, version);
    }

    fn hear(&self) -> Option<Hearing> {
        Some(self.hints.hear())
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.condition.subscribe()
    }

    async fn close(&self) {
        self.link.close().await;
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}
