//! A store that shows, and perhaps acknowledges, what it has only in memory.

use crate::wrapped_store::Wrap;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::{Append, Appended, Head, Store, StoreError, StoredEvent};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// See the module.
pub struct Overlay {
    inner: Arc<dyn Store>,
    ahead: Arc<tokio::sync::Mutex<Ahead>>,
    dice: Mutex<SeededDice>,
    /// A write is acknowledged before it is durable.
    acknowledges: bool,
}

/// What is not durable yet, by session, oldest first.
type Ahead = HashMap<String, Vec<Append>>;

impl Overlay {
    pub fn new(inner: Arc<dyn Store>, dice: SeededDice, acknowledges: bool) -> Overlay {
        Overlay { inner, ahead: Arc::default(), dice: Mutex::new(dice), acknowledges }
    }

    /// All that is not durable is lost.
    pub async fn crash(&self) {
        self.ahead.lock().await.clear();
    }

    fn below(&self, sides: u64) -> u64 {
        self.dice.lock().expect("no panic").below(sides)
    }

    /// All events of a session, durable or not.
    async fn all(&self, ahead: &Ahead, session_id: &str) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let Some(mut events) = self.inner.read(session_id, 0, 100_000).await? else { return Ok(None) };
        events.extend(ahead.get(session_id).into_iter().flatten().flat_map(events_of));
        Ok(Some(events))
    }
}

fn events_of(append: &Append) -> impl Iterator<Item = StoredEvent> {
    let bodies = append.events.iter().cloned().zip(append.hashes.iter().copied());
    (append.expected_version + 1..).zip(bodies).map(|(seq, (body, hash))| StoredEvent {
        seq,
        time: append.time,
        request: append.request.clone(),
        body,
        hash: Some(hash),
    })
}

/// Makes an append and those before it durable; false if it was lost before.
async fn flush(inner: &dyn Store, ahead: &tokio::sync::Mutex<Ahead>, append: &Append) -> Result<bool, StoreError> {
    let mut ahead = ahead.lock().await;
    let waiting = ahead.entry(append.session_id.clone()).or_default();
    let Some(place) = waiting.iter().position(|waits| waits == append) else { return Ok(false) };
    for due in waiting.drain(..=place) {
        inner.append(due).await?;
    }
    Ok(true)
}

#[async_trait]
impl Wrap for Overlay {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let session_id = append.session_id.clone();
        let mut ahead = self.ahead.lock().await;
        let Some(events) = self.all(&ahead, &session_id).await? else { return Ok(Appended::NotFound) };
        let used = append.request.is_some() && events.iter().any(|event| event.request == append.request);
        if used || events.len() != append.expected_version as usize {
            return Ok(Appended::Conflict);
        }
        ahead.entry(session_id.clone()).or_default().push(append.clone());
        drop(ahead);
        let wait = Duration::from_micros(self.below(60_000));
        if self.acknowledges {
            let (inner, ahead) = (self.inner.clone(), self.ahead.clone());
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                // It was acknowledged already, whatever becomes of it.
                let _ = flush(&*inner, &ahead, &append).await;
            });
            return Ok(Appended::Done);
        }
        tokio::time::sleep(wait).await;
        if self.below(6) == 0 {
            let mut ahead = self.ahead.lock().await;
            let waiting = ahead.entry(session_id).or_default();
            if let Some(place) = waiting.iter().position(|waits| *waits == append) {
                waiting.truncate(place);
            }
            return Err(StoreError::Unavailable("it could not be made durable".to_owned()));
        }
        let durable = flush(&*self.inner, &self.ahead, &append).await?;
        if durable { Ok(Appended::Done) } else { Err(StoreError::Unavailable("it was lost".to_owned())) }
    }

    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let ahead = self.ahead.lock().await;
        let events = self.all(&ahead, session_id).await?;
        Ok(events.map(|events| events.into_iter().skip(after as usize).take(limit).collect()))
    }

    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        let ahead = self.ahead.lock().await;
        let Some(head) = self.inner.head(session_id).await? else { return Ok(None) };
        let last = ahead.get(session_id).and_then(|waiting| waiting.last());
        let version = last.map_or(head.version, |last| last.expected_version + last.events.len() as u32);
        Ok(Some(Head { version, ..head }))
    }

    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        let mut versions = Vec::new();
        for session_id in session_ids {
            versions.push(self.head(&session_id).await?.map(|head| head.version));
        }
        Ok(versions)
    }
}
