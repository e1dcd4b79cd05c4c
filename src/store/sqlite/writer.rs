//! The one thread that writes: it takes all that is queued into one transaction, and pays for one fsync.
//!
//! It knows nothing of sessions: a job is a function of the connection and of the heads that it keeps for the jobs, whose result is told to
//! its caller after COMMIT. Whatever is undone, the heads forget.

use super::condition::Condition;
use super::errors::{Failure, Stop, Trouble, trouble};
use super::heads::Heads;
use super::lock::Lock;
use super::schema;
use crate::store::{Health, StoreError, StoreMetrics};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Most jobs of one transaction.
const BATCH: usize = 1024;

/// Jobs after which the log is moved into the file. Most write about three pages, so the log stays at some 50 MiB, which a start after a
/// crash reads in a fraction of a second.
const JOBS_PER_CHECKPOINT: usize = 4096;
/// The same in rows: batches and copied sessions write thousands in one job.
const ROWS_PER_CHECKPOINT: u64 = 3 * JOBS_PER_CHECKPOINT as u64;

/// After a transaction of several jobs the next one waits so long for more, while their callers ask for what comes next. Half-empty
/// transactions cost nearly as much as full ones. A caller that is alone waits for nobody.
const LINGER: Duration = Duration::from_micros(30);

/// What the thread is sent.
pub(super) enum Message {
    /// Do this.
    Write(Box<dyn Job>),
    /// Do what came before, then end.
    Close,
}

/// A queued write.
pub(super) trait Job: Send {
    /// Does it; `Ok(false)` if what it did is to be undone, which then concerns no other job. It may be undone in any case
    /// and done again.
    fn run(&mut self, connection: &Connection, heads: &mut Heads) -> rusqlite::Result<bool>;

    /// Tells its caller how it ended: as its run said, or, with an error, not at all.
    fn answer(self: Box<Self>, end: Result<(), StoreError>);

    /// Where its caller waits, if that is in a runtime.
    fn runtime(&self) -> Option<&Handle>;
}

/// A [`Job`] made of a function.
pub(super) struct Write<T, W> {
    work: W,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    runtime: Option<Handle>,
    /// Its place in the queue, free again when it is answered.
    _place: OwnedSemaphorePermit,
}

impl<T, W> Write<T, W> {
    pub fn new(work: W, reply: oneshot::Sender<Result<T, StoreError>>, place: OwnedSemaphorePermit) -> Write<T, W> {
        Write { work, outcome: None, reply, runtime: Handle::try_current().ok(), _place: place }
    }
}

impl<T, W> Job for Write<T, W>
where
    T: Send,
    W: Fn(&Connection, &mut Heads) -> Result<T, Failure> + Send,
{
    fn run(&mut self, connection: &Connection, heads: &mut Heads) -> rusqlite::Result<bool> {
        match (self.work)(connection, heads) {
            Ok(outcome) => {
                self.outcome = Some(Ok(outcome));
                Ok(true)
            }
            Err(Failure::Rows(what)) => {
                self.outcome = Some(Err(StoreError::Damaged(what)));
                Ok(false)
            }
            Err(Failure::Database(error)) => Err(error),
        }
    }

    fn answer(self: Box<Self>, end: Result<(), StoreError>) {
        let Write { outcome, reply, _place: place, .. } = *self;
        // First, so that whoever has an answer is counted as waiting no longer.
        drop(place);
        // A caller that waits no longer will ask again.
        let _ = reply.send(end.and_then(|()| outcome.expect("it ran")));
    }

    fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }
}

/// The thread's state.
pub(super) struct Writer {
    pub connection: Connection,
    pub inbox: Receiver<Message>,
    pub condition: Arc<Condition>,
    pub retry_every: Duration,
    pub metrics: StoreMetrics,
    /// Released last.
    pub lock: Lock,
}

/// What the thread does next.
enum Turn {
    Write { jobs: Vec<Box<dyn Job>>, then_close: bool },
    Retry,
}

impl Writer {
    /// Works until it is told to close, or until nobody can tell it anything any more.
    pub fn run(self) {
        let (mut jobs_since_checkpoint, mut rows_at_checkpoint) = (0, 0);
        let mut next_retry = Instant::now();
        let mut last = 1;
        let mut heads = Heads::default();
        loop {
            match self.next(next_retry, last) {
                Turn::Write { jobs, then_close } => {
                    last = jobs.len();
                    jobs_since_checkpoint += jobs.len();
                    let before = self.condition.health();
                    self.write(jobs, &mut heads);
                    if before == Health::Writable {
                        next_retry = Instant::now() + self.retry_every;
                    }
                    if then_close {
                        break;
                    }
                }
                Turn::Retry => {
                    self.retry();
                    next_retry = Instant::now() + self.retry_every;
                }
            }
            let rows = self.connection.total_changes();
            let is_due = jobs_since_checkpoint >= JOBS_PER_CHECKPOINT || rows - rows_at_checkpoint >= ROWS_PER_CHECKPOINT;
            if is_due && self.condition.health() == Health::Writable {
                self.checkpoint("PRAGMA wal_checkpoint(PASSIVE)");
                (jobs_since_checkpoint, rows_at_checkpoint) = (0, rows);
            }
        }
        self.close();
    }

    /// Waits for a job, then takes what else is there; `last` is how many there were the time before.
    fn next(&self, next_retry: Instant, last: usize) -> Turn {
        let first = if self.condition.health() == Health::Unwritable {
            let wait = next_retry.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return Turn::Retry;
            }
            match self.inbox.recv_timeout(wait) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Turn::Retry,
                Err(RecvTimeoutError::Disconnected) => Message::Close,
            }
        } else {
            self.inbox.recv().unwrap_or(Message::Close)
        };
        if last > 1 {
            std::thread::sleep(LINGER);
        }
        let mut jobs = Vec::with_capacity(last);
        for message in std::iter::once(first).chain(self.inbox.try_iter()) {
            match message {
                Message::Write(job) => jobs.push(job),
                Message::Close => return Turn::Write { jobs, then_close: true },
            }
            if jobs.len() == BATCH {
                break;
            }
        }
        Turn::Write { jobs, then_close: false }
    }

    /// Writes the jobs and answers them; or only answers them, if it is known that writing fails. To try each would be no
    /// sooner to succeed than the retries are, and so callers are told the same as health says.
    fn write(&self, mut jobs: Vec<Box<dyn Job>>, heads: &mut Heads) {
        let end = match self.condition.refusal() {
            Some(refusal) => Err(refusal),
            None => self.commit(&mut jobs, heads).map_err(|stop| {
                self.condition.worsen(&stop);
                stop.answer
            }),
        };
        answer(jobs, end);
    }

    fn commit(&self, jobs: &mut [Box<dyn Job>], heads: &mut Heads) -> Result<(), Stop> {
        let stop = match catch_unwind(AssertUnwindSafe(|| self.apply(jobs, heads))) {
            Ok(Ok(())) => match self.commit_timed(jobs.len()) {
                Ok(()) => return Ok(()),
                Err(error) => Stop::at_commit(&error),
            },
            Ok(Err(error)) => Stop::before_commit(&error),
            Err(panic) => Stop::fault(panic_text(&*panic)),
        };
        heads.undo();
        if self.connection.is_autocommit() || self.execute("ROLLBACK").is_ok() {
            Err(stop)
        } else {
            // A transaction that can't be ended stands in the way of all others.
            Err(Stop { health: Health::Broken, ..stop })
        }
    }

    fn commit_timed(&self, jobs: usize) -> rusqlite::Result<()> {
        let begun = Instant::now();
        self.execute("COMMIT")?;
        self.metrics.commit_seconds.observe(begun.elapsed().as_secs_f64());
        self.metrics.batch_writes.observe(jobs as f64);
        Ok(())
    }

    /// Does the jobs in one transaction, which it leaves open.
    ///
    /// A savepoint for each job would copy every page that the job changes, and jobs that are to be undone are hardly ever
    /// met: only if there is one are they all undone, and done again with savepoints.
    fn apply(&self, jobs: &mut [Box<dyn Job>], heads: &mut Heads) -> rusqlite::Result<()> {
        self.begin(heads)?;
        for job in &mut *jobs {
            if !job.run(&self.connection, heads)? {
                self.execute("ROLLBACK")?;
                heads.undo();
                return self.apply_each(jobs, heads);
            }
        }
        Ok(())
    }

    /// Does the jobs in one transaction, and undoes those alone that are to be undone.
    fn apply_each(&self, jobs: &mut [Box<dyn Job>], heads: &mut Heads) -> rusqlite::Result<()> {
        self.begin(heads)?;
        for job in jobs {
            self.execute("SAVEPOINT job")?;
            if !job.run(&self.connection, heads)? {
                self.execute("ROLLBACK TO job")?;
                heads.undo();
            }
            self.execute("RELEASE job")?;
        }
        Ok(())
    }

    fn begin(&self, heads: &mut Heads) -> rusqlite::Result<()> {
        self.execute("BEGIN IMMEDIATE")?;
        heads.begin(&self.connection)
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Sees whether writing succeeds again, by writing. After a failed COMMIT this also takes the place in the log of
    /// whatever that one has left there.
    fn retry(&self) {
        match self.execute(schema::HEARTBEAT) {
            Ok(()) => self.condition.recover(),
            Err(error) => self.condition.worsen(&Stop::at_commit(&error)),
        }
    }

    /// Moves the log into the file. What is in the log is safe there, so a full disk only puts this off.
    fn checkpoint(&self, sql: &str) {
        let Err(error) = self.connection.query_row(sql, [], |_| Ok(())) else {
            return;
        };
        match trouble(&error) {
            Trouble::Full | Trouble::Unwritable => tracing::warn!(%error, "the log could not be moved into the store's file yet"),
            Trouble::Disk | Trouble::File | Trouble::Rows => self.condition.worsen(&Stop::before_commit(&error)),
        }
    }

    /// Leaves one file with everything in it; or, if it is broken, all files as they are.
    fn close(self) {
        if self.condition.health() != Health::Broken {
            self.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)");
        }
        if self.condition.health() != Health::Broken
            && let Err(error) = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        {
            tracing::warn!(%error, "the log stays beside the store's file");
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the store's file was not closed in order");
        }
        drop(self.lock);
    }
}

/// Tells the callers of these jobs how they ended.
///
/// To wake a task from a thread that is not its runtime's is dear, and may take a system call. So one task is woken, which wakes
/// the others from where they run.
fn answer(jobs: Vec<Box<dyn Job>>, end: Result<(), StoreError>) {
    let runtime = jobs.first().and_then(|job| job.runtime()).filter(|_| jobs.len() > 1).cloned();
    let Some(runtime) = runtime else { return answer_each(jobs, &end) };
    let is_there = |job: &dyn Job| job.runtime().is_some_and(|other| other.id() == runtime.id());
    let (there, elsewhere) = jobs.into_iter().partition(|job| is_there(&**job));
    answer_each(elsewhere, &end);
    runtime.spawn(async move { answer_each(there, &end) });
}

fn answer_each(jobs: Vec<Box<dyn Job>>, end: &Result<(), StoreError>) {
    for job in jobs {
        job.answer(end.clone());
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;
    use std::sync::mpsc;

    /// Callers that keep asking must not keep the store from trying again.
    #[test]
    fn a_retry_that_is_due_comes_before_what_is_queued() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        let condition = Arc::new(Condition::writable());
        condition.worsen(&Stop::before_commit(&full));
        let (queue, inbox) = mpsc::channel();
        let writer = Writer {
            connection: Connection::open_in_memory().expect("a database"),
            inbox,
            condition: condition.clone(),
            retry_every: Duration::from_secs(60),
            metrics: StoreMetrics::default(),
            lock: Lock::take(&folder.path().join("store.db")).expect("the lock"),
        };
        queue.send(Message::Close).expect("the writer is there");
        assert!(matches!(writer.next(Instant::now(), 1), Turn::Retry));
        assert!(matches!(writer.next(Instant::now() + Duration::from_secs(60), 1), Turn::Write { then_close: true, .. }));

        queue.send(Message::Close).expect("the writer is there");
        condition.recover();
        assert!(
            matches!(writer.next(Instant::now(), 1), Turn::Write { then_close: true, .. }),
            "nothing to retry when all is well"
        );
    }
}
