//! A server's way to its store, which is slow, breaks, and leaves it open what has become of a write.

use crate::fault::{Fault, Faults};
use crate::plan::Plan;
use crate::wrapped_store::Wrap;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::{Append, Appended, Create, Created, Delete, Deleted, Head, Micros, Place, Store, StoreError, StoredEvent};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often what happens, of a thousand calls.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// It fails before it reaches the store.
    pub before: u64,
    /// The answer is lost.
    pub after: u64,
    /// The answer is lost, and what was sent reaches the store much later.
    pub late: u64,
    /// It is carried out or not, and nothing is heard of it until it is given up.
    pub half_open: u64,
    /// It takes long.
    pub slow: u64,
    /// A bit of what is read is another one.
    pub flipped: u64,
}

/// See the module.
pub struct Faulty {
    inner: Arc<dyn Store>,
    rates: Rates,
    dice: Mutex<SeededDice>,
    /// The server is dead or cut off, and reaches nothing.
    cut: AtomicBool,
    faults: Faults,
    /// A write of which nothing is heard is given up after so long, which is longer than clients wait.
    silence: Duration,
    /// Cancelled when nothing more is to go wrong.
    rest: CancellationToken,
}

/// What happens to a call.
enum Fate {
    Well,
    Before,
    After,
    Late,
    HalfOpen,
}

impl Faulty {
    pub fn new(inner: Arc<dyn Store>, plan: &Plan, dice: SeededDice, faults: Faults, rest: CancellationToken) -> Faulty {
        let silence = plan.patience * 5 / 4;
        Faulty { inner, rates: plan.rates, dice: Mutex::new(dice), cut: AtomicBool::new(false), faults, silence, rest }
    }

    /// Cuts the way to the store, for good or until it is mended. What is on its way arrives.
    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    fn below(&self, sides: u64) -> u64 {
        self.dice.lock().expect("no panic").below(sides)
    }

    fn fate(&self) -> Fate {
        let Rates { before, after, late, half_open, .. } = self.rates;
        let drawn = self.below(1_000);
        match drawn {
            _ if self.cut.load(Ordering::SeqCst) => Fate::Before,
            _ if self.rest.is_cancelled() => Fate::Well,
            drawn if drawn < before => Fate::Before,
            drawn if drawn < before + after => Fate::After,
            drawn if drawn < before + after + late => Fate::Late,
            drawn if drawn < before + after + late + half_open => Fate::HalfOpen,
            _ => Fate::Well,
        }
    }

    /// The way there or back.
    async fn travel(&self) {
        let slow = self.below(1_000) < self.rates.slow && !self.rest.is_cancelled();
        self.faults.add(Fault::Slow, slow.into());
        let micros = if slow { self.below(80_000) } else { self.below(2_000) };
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }

    /// A write: `make` makes the call on the store.
    async fn write<T, F>(&self, make: impl FnOnce(Arc<dyn Store>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let fate = self.fate();
        self.travel().await;
        let write = make(self.inner.clone());
        match fate {
            Fate::Before => {
                self.faults.note(Fault::NotSent);
                return Err(StoreError::Unavailable("cut before it was sent".to_owned()));
            }
            Fate::Late => {
                self.faults.note(Fault::Late);
                let late = Duration::from_micros(self.below(120_000));
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    // Nobody hears of it.
                    let _ = write.await;
                });
                return Err(StoreError::Unknown("cut while it was under way".to_owned()));
            }
            Fate::HalfOpen => {
                self.faults.note(Fault::HalfOpen);
                if self.below(2) == 0 {
                    // Nobody hears of it.
                    let _ = write.await;
                }
                // Nothing to wait for is left then.
                let _ = tokio::time::timeout(self.silence, self.rest.cancelled()).await;
                return Err(StoreError::Unknown("no answer".to_owned()));
            }
            Fate::Well | Fate::After => {}
        }
        let written = write.await?;
        self.travel().await;
        // Whoever is cut off now does not hear the answer.
        if matches!(fate, Fate::After) || self.cut.load(Ordering::SeqCst) {
            self.faults.note(Fault::AnswerLost);
            return Err(StoreError::Unknown("cut before the answer".to_owned()));
        }
        Ok(written)
    }

    async fn read_through<T>(&self, read: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
        let fate = self.fate();
        self.travel().await;
        if !matches!(fate, Fate::Well) {
            self.faults.note(Fault::NotSent);
            return Err(StoreError::Unavailable("cut while reading".to_owned()));
        }
        let read = read.await?;
        self.travel().await;
        Ok(read)
    }

    /// Now and then a bit of an event is another one.
    fn damaged(&self, mut events: Vec<StoredEvent>) -> Vec<StoredEvent> {
        if !events.is_empty() && self.below(1_000) < self.rates.flipped && !self.rest.is_cancelled() {
            let event = self.below(events.len() as u64) as usize;
            let mut body = std::mem::take(&mut events[event].body).into_bytes();
            let byte = self.below(body.len() as u64) as usize;
            body[byte] ^= 1 << self.below(7);
            // A bit that makes no text of it would not even be read.
            events[event].body = String::from_utf8(body).expect("events are ASCII");
            self.faults.note(Fault::BitFlipped);
        }
        events
    }
}

#[async_trait]
impl Wrap for Faulty {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.write(|store| async move { store.create(create).await }).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(|store| async move { store.append(append).await }).await
    }
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.write(|store| async move { store.delete(delete).await }).await
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let events = self.read_through(self.inner.read(session_id, after, limit)).await?;
        Ok(events.map(|events| self.damaged(events)))
    }
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.read_through(self.inner.head(session_id)).await
    }
    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.read_through(self.inner.versions(session_ids)).await
    }
    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        self.read_through(self.inner.overdue(before, after, limit)).await
    }
    fn tell(&self, session_id: &str, version: u32) {
        // Hints are lost more often than anything else.
        let lost = self.cut.load(Ordering::SeqCst) || self.below(1_000) < 5 * self.rates.before;
        if !lost {
            self.inner.tell(session_id, version);
        }
    }
}
