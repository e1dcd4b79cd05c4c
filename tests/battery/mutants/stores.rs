//! Faults of stores.

use crate::wrapped_store::Wrap;
use async_trait::async_trait;
use mancala::session::EventHash;
use mancala::store::{Append, Appended, Create, Created, Head, Store, StoreError, StoredEvent};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A store of which servers don't know that others write to it too.
pub struct Unshared(pub Arc<dyn Store>);

impl Wrap for Unshared {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.0
    }
    fn is_shared(&self) -> bool {
        false
    }
}

/// A store that appends to whatever is there. It even mends the chain, so that only what is said in the events is wrong.
pub struct NoVersionCheck(pub Arc<dyn Store>);

#[async_trait]
impl Wrap for NoVersionCheck {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.0
    }

    async fn append(&self, mut append: Append) -> Result<Appended, StoreError> {
        let Some(events) = self.0.read(&append.session_id, 0, 100_000).await? else { return Ok(Appended::NotFound) };
        append.expected_version = events.len() as u32;
        let mut head = events.last().and_then(|last| last.hash).unwrap_or(EventHash::START);
        let request_id = append.request.as_ref().map(|request| request.id.as_str());
        for ((version, body), hash) in (append.expected_version + 1..).zip(&append.events).zip(&mut append.hashes) {
            head = head.then(version, append.time, request_id, body);
            *hash = head;
        }
        self.0.append(append).await
    }
}

/// A store that keeps the first event of each change.
pub struct TornWrite(pub Arc<dyn Store>);

#[async_trait]
impl Wrap for TornWrite {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.0
    }

    async fn append(&self, mut append: Append) -> Result<Appended, StoreError> {
        append.events.truncate(1);
        append.hashes.truncate(1);
        self.0.append(append).await
    }
}

/// A store that writes here and reads there, where everything comes later.
pub struct Standby {
    inner: Arc<dyn Store>,
    /// When sessions came to which versions.
    came: Mutex<HashMap<String, Vec<(Instant, u32)>>>,
}

/// So much later.
const LAG: Duration = Duration::from_millis(25);

impl Standby {
    pub fn new(inner: Arc<dyn Store>) -> Standby {
        Standby { inner, came: Mutex::default() }
    }

    fn came_to(&self, session_id: &str, version: u32) {
        self.came.lock().expect("no panic").entry(session_id.to_owned()).or_default().push((Instant::now(), version));
    }

    /// The version that reads show.
    fn visible(&self, session_id: &str) -> usize {
        let came = self.came.lock().expect("no panic");
        let long_ago = |(when, _): &&(Instant, u32)| when.elapsed() > LAG;
        let version = came.get(session_id).and_then(|came| came.iter().rev().find(long_ago)).map_or(1, |(_, version)| *version);
        version as usize
    }
}

#[async_trait]
impl Wrap for Standby {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.came_to(&create.head.session_id, create.head.version);
        self.inner.create(create).await
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let (session_id, version) = (append.session_id.clone(), append.expected_version + append.events.len() as u32);
        let appended = self.inner.append(append).await?;
        if appended == Appended::Done {
            self.came_to(&session_id, version);
        }
        Ok(appended)
    }

    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let visible = self.visible(session_id).saturating_sub(after as usize);
        self.inner.read(session_id, after, limit.min(visible)).await
    }

    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        let head = self.inner.head(session_id).await?;
        Ok(head.map(|head| Head { version: head.version.min(self.visible(session_id) as u32), ..head }))
    }

    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        let versions = self.inner.versions(session_ids.clone()).await?;
        let visible = session_ids.iter().map(|session_id| self.visible(session_id) as u32);
        Ok(versions.into_iter().zip(visible).map(|(version, visible)| version.map(|version| version.min(visible))).collect())
    }
}
