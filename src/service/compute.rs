//! Long computations, kept away from the threads that serve the network.

use super::ServiceError;
use super::error::join;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;
use tracing::Span;

/// Calls that may wait for computations, for each one that may run.
const WAITING: usize = 64;

/// Runs long computations on threads of their own, a few at a time.
#[derive(Clone)]
pub struct Compute {
    threads: usize,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// Tells a computation that nobody waits for it any more.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets its [`Cancel`] when the call that it belongs to ends, for whatever reason.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Compute {
    /// At most `threads` computations run at a time, and 64 times as many at most run or wait.
    #[must_use]
    pub fn new(threads: usize) -> Compute {
        let threads = threads.max(1);
        Compute { threads, running: Arc::new(Semaphore::new(threads)), waiting: Arc::new(Semaphore::new(threads * WAITING)) }
    }

    /// Computations that run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.threads - self.running.available_permits()
    }

    /// Calls that wait for one to run or to end.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.threads * WAITING - self.waiting.available_permits()
    }

    /// Runs a computation. When the returned future is dropped, the computation is told to stop.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] when too many wait already; [`ServiceError::Stopping`] when the server stops.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce(&Cancel) -> T + Send + 'static) -> Result<T, ServiceError> {
        let _waiting = self.waiting.clone().try_acquire_owned().map_err(|_| ServiceError::Busy)?;
        let running = self.running.clone().acquire_owned().await.map_err(|_| ServiceError::Stopping)?;
        let cancel = Cancel::default();
        let _guard = CancelOnDrop(cancel.clone());
        let span = Span::current();
        let task = tokio::task::spawn_blocking(move || {
            let _running = running;
            span.in_scope(|| work(&cancel))
        });
        join(task.await)
    }
}
