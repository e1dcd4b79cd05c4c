//! Something between the service and a store: a wrapper says only what it does otherwise.

// Each test binary uses a part of it.
#![allow(dead_code)]

use async_trait::async_trait;
use mancala::store::{
    Append, Appended, Census, Changes, Create, CreateAll, Created, CreatedAll, Creation, Cursor, Delete, Deleted, Expirable,
    Filter, Head, HeadPage, Health, Heard, Hearing, Hint, IdleQuery, Import, Micros, Place, Query, State, Store, StoreError,
    StoredEvent,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{broadcast, watch};

/// What a wrapper may do otherwise than the store within. What it leaves out is the inner store's.
#[async_trait]
pub trait Wrap: Send + Sync + 'static {
    /// The store within.
    fn inner(&self) -> &Arc<dyn Store>;

    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.inner().create(create).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.inner().append(append).await
    }
    /// One, so that whoever does otherwise with appends meets them all.
    fn longest_row(&self) -> usize {
        1
    }
    async fn append_all(&self, appends: Vec<Append>) -> Result<Appended, StoreError> {
        self.inner().append_all(appends).await
    }
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.inner().delete(delete).await
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.inner().read(session_id, after, limit).await
    }
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.inner().head(session_id).await
    }
    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        self.inner().heads(session_ids).await
    }
    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.inner().versions(session_ids).await
    }
    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        self.inner().overdue(before, after, limit).await
    }
    fn is_shared(&self) -> bool {
        self.inner().is_shared()
    }
    fn tell(&self, session_id: &str, version: u32) {
        self.inner().tell(session_id, version);
    }
    fn hear(&self) -> Option<Hearing> {
        self.inner().hear()
    }
    fn health(&self) -> watch::Receiver<Health> {
        self.inner().health()
    }
}

/// A wrapper as a store.
pub struct Wrapped<W>(pub W);

#[async_trait]
impl<W: Wrap> Store for Wrapped<W> {
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.0.create(create).await
    }
    async fn import(&self, import: Import) -> Result<Created, StoreError> {
        self.0.inner().import(import).await
    }
    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError> {
        self.0.inner().create_all(batch).await
    }
    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError> {
        self.0.inner().creation(request_id).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.0.append(append).await
    }
    fn longest_row(&self) -> usize {
        self.0.longest_row()
    }
    async fn append_all(&self, appends: Vec<Append>) -> Result<Appended, StoreError> {
        self.0.append_all(appends).await
    }
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.0.delete(delete).await
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.0.read(session_id, after, limit).await
    }
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.0.head(session_id).await
    }
    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        self.0.heads(session_ids).await
    }
    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.0.versions(session_ids).await
    }
    async fn list(&self, query: Query) -> Result<HeadPage, StoreError> {
        self.0.inner().list(query).await
    }
    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError> {
        self.0.inner().idle(query).await
    }
    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
        self.0.inner().due(state, by, limit).await
    }
    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        self.0.overdue(before, after, limit).await
    }
    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError> {
        self.0.inner().count(filter, most).await
    }
    async fn census(&self) -> Result<Census, StoreError> {
        self.0.inner().census().await
    }
    async fn latest_change(&self) -> Result<Cursor, StoreError> {
        self.0.inner().latest_change().await
    }
    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
        self.0.inner().changes(after, limit).await
    }
    fn is_shared(&self) -> bool {
        self.0.is_shared()
    }
    fn tell(&self, session_id: &str, version: u32) {
        self.0.tell(session_id, version);
    }
    fn hear(&self) -> Option<Hearing> {
        self.0.hear()
    }
    fn health(&self) -> watch::Receiver<Health> {
        self.0.health()
    }
    async fn close(&self) {
        self.0.inner().close().await;
    }
}

/// A store that several servers use, and the wire that their hints go by if it has none of its own.
pub struct Linked {
    inner: Arc<dyn Store>,
    hints: broadcast::Sender<Heard>,
    told: Arc<AtomicBool>,
}

impl Wrap for Linked {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn tell(&self, session_id: &str, version: u32) {
        if self.told.load(Ordering::SeqCst) {
            self.inner.tell(session_id, version);
            let hints = Arc::new([Hint { session_id: session_id.to_owned(), version }]);
            // Nobody may listen.
            let _ = self.hints.send(Heard::Hints(hints));
        }
    }
    fn hear(&self) -> Option<Hearing> {
        Some(self.inner.hear().unwrap_or_else(|| self.hints.subscribe()))
    }
}

/// Makes such a store. Hints are told as long as `told` says so.
pub fn linked(inner: Arc<dyn Store>, hints: broadcast::Sender<Heard>, told: Arc<AtomicBool>) -> Arc<dyn Store> {
    Arc::new(Wrapped(Linked { inner, hints, told }))
}

/// A store of this process that several servers in it use.
pub struct Shared(pub Arc<dyn Store>);

impl Wrap for Shared {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.0
    }
    fn is_shared(&self) -> bool {
        true
    }
}

/// Marks a store as one that others may write to.
pub fn shared(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(Wrapped(Shared(store)))
}
