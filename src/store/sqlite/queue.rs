//! The callers' side of the writer: a bounded queue.

use super::condition::Condition;
use super::errors::{Failure, Stop};
use super::writer::{Message, Write, Writer};
use crate::store::{Health, StoreError};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot, watch};

/// Jobs that may be queued or under way. A caller beyond them waits.
pub(super) const QUEUE: usize = 4096;

pub(super) struct Queue {
    inbox: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    /// Its sender is dropped when the thread has ended.
    ended: watch::Receiver<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// Starts the thread. `make` gives it its state around its end of the queue.
    pub fn start(condition: Arc<Condition>, make: impl FnOnce(mpsc::Receiver<Message>) -> Writer) -> std::io::Result<Queue> {
        let (inbox, outbox) = mpsc::channel();
        let (ending, ended) = watch::channel(());
        let writer = make(outbox);
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(move || {
            let _ending = ending;
            let _guard = BreakOnPanic(condition);
            writer.run();
        })?;
        Ok(Queue { inbox, room: Arc::new(Semaphore::new(QUEUE)), ended, thread: Mutex::new(Some(thread)) })
    }

    /// Queues a write and waits until it is durable.
    pub async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let place = self.room.clone().acquire_owned().await.map_err(|_| closed())?;
        let (reply, outcome) = oneshot::channel();
        self.inbox.send(Message::Write(Box::new(Write::new(work, reply, place)))).map_err(|_| closed())?;
        // A job that was taken up is always answered: one that is dropped was not run.
        outcome.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Finishes what is queued, then waits for the file to be closed and unlocked.
    pub async fn close(&self) {
        self.tell_to_close();
        // Nothing is ever sent: this ends, with an error, when the thread ends.
        let _ = self.ended.clone().changed().await;
    }

    fn tell_to_close(&self) {
        self.room.close();
        // If the thread has ended already there is nobody to tell.
        let _ = self.inbox.send(Message::Close);
    }
}

impl Drop for Queue {
    /// Closes too, so that the file can be opened again when the store is gone.
    fn drop(&mut self) {
        self.tell_to_close();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic has been told to the callers and to the health.
            let _ = thread.join();
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// Tells the health if the thread ends by a panic outside of any job.
struct BreakOnPanic(Arc<Condition>);

impl Drop for BreakOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() && self.0.health() != Health::Broken {
            self.0.worsen(&Stop::fault("its thread ended".into()));
        }
    }
}
