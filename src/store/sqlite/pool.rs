//! Read-only connections, lent to one read at a time on a thread where waiting for the disk harms no one.

use super::condition::Condition;
use super::errors::{Failure, Stop, Trouble, trouble};
use crate::store::StoreError;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

pub(super) struct Pool {
    idle: Arc<Idle>,
    /// One permit for each connection.
    room: Arc<Semaphore>,
    size: u32,
    condition: Arc<Condition>,
}

impl Pool {
    pub fn new(connections: Vec<Connection>, condition: Arc<Condition>) -> Pool {
        let size = u32::try_from(connections.len()).expect("a handful of connections");
        let room = Arc::new(Semaphore::new(connections.len()));
        Pool { idle: Arc::new(Idle(Mutex::new(connections))), room, size, condition }
    }

    /// Runs a read. It sees every write that was acknowledged before.
    pub async fn read<T, R>(&self, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let permit = self.room.clone().acquire_owned().await.map_err(|_| closed())?;
        let idle = self.idle.clone();
        // The permit goes with the connection: it is given back when the read ends, even if nobody waits for it any more.
        let running = spawn_blocking(move || {
            let _permit = permit;
            let loan = idle.lend();
            read(loan.connection())
        });
        match running.await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(failure)) => Err(self.failed(failure)),
            Err(_) => Err(StoreError::Unavailable("a read failed by a fault of the program".into())),
        }
    }

    fn failed(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Rows(what) => StoreError::Damaged(what),
            Failure::Database(error) => match trouble(&error) {
                Trouble::Full | Trouble::Unwritable => StoreError::Unavailable(error.to_string()),
                Trouble::Disk | Trouble::File | Trouble::Rows => {
                    let stop = Stop::before_commit(&error);
                    self.condition.worsen(&stop);
                    stop.answer
                }
            },
        }
    }

    /// Waits for running reads, then closes the connections.
    pub async fn close(&self) {
        // It fails only if another call has closed the pool.
        if let Ok(_all) = self.room.acquire_many(self.size).await {
            self.room.close();
            self.idle.lock().clear();
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

struct Idle(Mutex<Vec<Connection>>);

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self) -> Loan<'_> {
        let connection = self.lock().pop().expect("as many connections as permits");
        Loan { idle: self, connection: Some(connection) }
    }
}

/// A connection that goes back by itself, also when the read panics.
struct Loan<'a> {
    idle: &'a Idle,
    /// There until it is dropped.
    connection: Option<Connection>,
}

impl Loan<'_> {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("given back only when dropped")
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.idle.lock().extend(self.connection.take());
    }
}
