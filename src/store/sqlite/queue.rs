//! The callers' side of the writer: a bounded queue.

use super::condition::Condition;
use super::errors::{Failure, Stop};
use super::heads::Heads;
use super::writer::{Message, Write, Writer};
use crate::store::{Health, StoreError};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot, watch};
use tracing::Instrument;

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

    /// Queues a write that adds to the store, and waits until it is durable. `work` may be undone and called again.
    pub async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.change(move |connection, _| work(connection)).await
    }

    /// The same for a write that changes sessions, which are to be the same in [`Heads`].
    pub async fn change<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&Connection, &mut Heads) -> Result<T, Failure> + Send + 'static,
    {
        self.write_now(work).instrument(tracing::debug_span!("store.write")).await
    }

    async fn write_now<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&Connection, &mut Heads) -> Result<T, Failure> + Send + 'static,
    {
        let place = self.room.clone().acquire_owned().await.map_err(|_| closed())?;
        let (reply, outcome) = oneshot::channel();
        self.inbox.send(Message::Write(Box::new(Write::new(work, reply, place)))).map_err(|_| closed())?;
        // A job that was taken up is always answered: one that is dropped was not run.
        outcome.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Jobs that are queued or under way.
    pub fn queued(&self) -> usize {
        QUEUE - self.room.available_permits()
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

#[cfg(test)]
mod tests {
    use super::super::lock::Lock;
    use super::*;
    use crate::store::StoreMetrics;
    use std::time::Duration;
    use tempfile::TempDir;

    fn start(folder: &TempDir) -> (Queue, Arc<Condition>) {
        let path = folder.path().join("store.db");
        let connection = Connection::open(&path).expect("a database");
        connection.execute_batch("CREATE TABLE rows (n)").expect("a table");
        let condition = Arc::new(Condition::writable());
        let lock = Lock::take(&path).expect("the lock");
        let retry_every = Duration::from_millis(10);
        let queue = Queue::start(condition.clone(), |inbox| Writer {
            connection,
            inbox,
            condition: condition.clone(),
            retry_every,
            metrics: StoreMetrics::default(),
            lock,
        });
        (queue.expect("a thread"), condition)
    }

    fn insert(connection: &Connection) -> Result<usize, Failure> {
        Ok(connection.execute("INSERT INTO rows VALUES (1)", [])?)
    }

    fn rows(folder: &TempDir) -> i64 {
        let connection = Connection::open(folder.path().join("store.db")).expect("the database");
        connection.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).expect("a count")
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_told_to_its_whole_batch_and_breaks_the_store() {
        let folder = TempDir::new().expect("a folder");
        let (queue, condition) = start(&folder);
        assert_eq!(queue.write(insert).await, Ok(1));
        // Keeps the thread busy until the others are queued behind it, so that they are one batch.
        let (go, wait) = mpsc::channel::<()>();
        let ends = tokio::join!(
            queue.write(move |connection| {
                wait.recv().expect("a word");
                insert(connection)
            }),
            async {
                // The first job is taken up by now or soon; the batch behind it holds these two.
                let before = queue.write(insert);
                let panicking = queue.write(|_| -> Result<(), Failure> { panic!("on purpose") });
                let go = async { go.send(()).expect("it waits") };
                tokio::join!(before, panicking, go)
            }
        );
        let (_, (_, panicked, ())) = ends;
        assert!(matches!(&panicked, Err(StoreError::Unavailable(why)) if why.contains("on purpose")), "{panicked:?}");
        assert_eq!(condition.health(), Health::Broken);
        let later = queue.write(insert).await;
        assert!(matches!(&later, Err(StoreError::Unavailable(why)) if why.contains("on purpose")), "{later:?}");
        queue.close().await;
        let acknowledged = 1 + i64::from(ends.0.is_ok()) + i64::from(ends.1.0.is_ok());
        assert_eq!(rows(&folder), acknowledged, "what was refused is absent");
    }

    #[tokio::test]
    async fn a_job_that_fails_on_its_rows_is_undone_alone() {
        let folder = TempDir::new().expect("a folder");
        let (queue, condition) = start(&folder);
        let (good, bad, good_too) = tokio::join!(
            queue.write(insert),
            queue.write(|connection| {
                insert(connection)?;
                Err::<(), _>(Failure::Rows("torn".into()))
            }),
            queue.write(insert)
        );
        assert_eq!((good, bad, good_too), (Ok(1), Err(StoreError::Damaged("torn".into())), Ok(1)));
        assert_eq!(condition.health(), Health::Writable);
        queue.close().await;
        assert_eq!(rows(&folder), 2);
    }

    #[tokio::test]
    async fn a_caller_beyond_the_queue_waits() {
        let folder = TempDir::new().expect("a folder");
        let (queue, _condition) = start(&folder);
        let queue = Arc::new(queue);
        let (go, wait) = mpsc::channel::<()>();
        let mut callers = tokio::task::JoinSet::new();
        let blocked = queue.clone();
        callers.spawn(async move {
            blocked
                .write(move |connection| {
                    wait.recv().expect("a word");
                    insert(connection)
                })
                .await
        });
        for _ in 0..QUEUE + 100 {
            let queue = queue.clone();
            callers.spawn(async move { queue.write(insert).await });
        }
        while queue.room.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        go.send(()).expect("it waits");
        assert!(callers.join_all().await.into_iter().all(|end| end == Ok(1)));
        queue.close().await;
        assert_eq!(rows(&folder), QUEUE as i64 + 101);
    }
}
