//! What happens to a store in memory as a whole: its disk fills up or becomes read-only, or it stops. When that is over it goes on by
//! itself.

use crate::fault::{Fault, Faults};
use crate::wrapped_store::Wrap;
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::{
    Append, Appended, Create, Created, Delete, Deleted, Head, Health, Micros, Place, Store, StoreError, StoredEvent,
};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

/// See the module.
pub struct Weather {
    inner: Arc<dyn Store>,
    faults: Faults,
    health: watch::Sender<Health>,
    state: Mutex<State>,
}

struct State {
    /// What is the matter; none: all is well.
    fault: Option<Fault>,
    /// A write has met it, so that whatever follows is refused at once.
    met: bool,
    /// How often it has stopped.
    stops: u32,
    dice: SeededDice,
}

/// How a write that was under way ends.
enum End {
    Well,
    Refused(StoreError),
    InDoubt { done: bool },
}

impl Weather {
    pub fn new(inner: Arc<dyn Store>, faults: Faults, dice: SeededDice) -> Weather {
        let state = Mutex::new(State { fault: None, met: false, stops: 0, dice });
        Weather { inner, faults, health: watch::Sender::new(Health::Writable), state }
    }

    /// From now on this is the matter: a full or a read-only disk, or that it has stopped; or nothing is.
    pub fn becomes(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.stops += u32::from(fault == Some(Fault::Stopped));
        (state.fault, state.met) = (fault, false);
        // A full disk is noticed by whoever writes.
        let health = if fault == Some(Fault::Stopped) { Health::Unwritable } else { Health::Writable };
        self.health.send_replace(health);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn stops(&self) -> u32 {
        self.state().stops
    }

    /// What a write is told instead of being tried.
    fn refusal(&self) -> Option<StoreError> {
        let state = self.state();
        match state.fault? {
            Fault::DiskFull if state.met => Some(StoreError::Full("no room".to_owned())),
            Fault::ReadOnly if state.met => Some(StoreError::Unwritable("read-only".to_owned())),
            Fault::Stopped => Some(stopped()),
            _ => None,
        }
    }

    /// What becomes of a write that has begun when it had stopped so often.
    fn end(&self, stops: u32) -> End {
        let mut state = self.state();
        if state.stops != stops {
            self.faults.note(Fault::Interrupted);
            return End::InDoubt { done: state.dice.below(2) == 0 };
        }
        let Some(fault) = state.fault else { return End::Well };
        let first = !std::mem::replace(&mut state.met, true);
        if first {
            self.faults.note(fault);
            self.health.send_replace(Health::Unwritable);
        }
        match fault {
            // What has reached a file that then can't be written any further may be found there.
            Fault::ReadOnly if first => End::InDoubt { done: state.dice.below(2) == 0 },
            Fault::ReadOnly => End::Refused(StoreError::Unwritable("read-only".to_owned())),
            // It has not stopped.
            _ => End::Refused(StoreError::Full("no room".to_owned())),
        }
    }

    /// What the store itself needs for it.
    async fn work(&self) {
        let micros = self.state().dice.below(2_000);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }

    async fn write<T: Send>(&self, write: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
        let stops = self.stops();
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        self.work().await;
        let doubt = || StoreError::Unknown("it was under way".to_owned());
        match self.end(stops) {
            End::Refused(why) => return Err(why),
            End::InDoubt { done: false } => return Err(doubt()),
            End::InDoubt { done: true } => return write.await.and_then(|_| Err(doubt())),
            End::Well => {}
        }
        let written = write.await?;
        self.work().await;
        if self.stops() == stops {
            return Ok(written);
        }
        self.faults.note(Fault::Interrupted);
        Err(doubt())
    }

    async fn read_through<T: Send>(&self, read: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
        if self.state().fault == Some(Fault::Stopped) { Err(stopped()) } else { read.await }
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("it has stopped".to_owned())
}

#[async_trait]
impl Wrap for Weather {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.write(self.inner.create(create)).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(self.inner.append(append)).await
    }
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.write(self.inner.delete(delete)).await
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.read_through(self.inner.read(session_id, after, limit)).await
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
    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}
