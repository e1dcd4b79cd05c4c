//! When a connection has its turn, after its streams or before.
//!
//! A stream that has an answer wakes the task of its connection, and the task that was woken last is the one that tokio runs next. So of
//! many calls that were read at once the first to be answered would be written by itself, with a system call of its own, and the next
//! one, while the others wait behind it. A connection therefore lets calls that it has just read run first, though not too many: while
//! their answers travel, the server goes on with the others.

use futures_util::task::AtomicWaker;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// When so many have run, a connection has its turn, though there are more.
const AT_ONCE: usize = 16;

/// The turn of a connection. Clones are of the same one.
#[derive(Debug, Clone, Default)]
pub struct Turn(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Streams that have begun and have not run yet.
    new: AtomicUsize,
    /// Streams that have run for the first time since the connection did.
    ran: AtomicUsize,
    /// The connection, if it waits.
    connection: AtomicWaker,
}

/// A stream that has not run yet. To be dropped when it has.
#[derive(Debug)]
pub struct New(Arc<Inner>);

impl Turn {
    /// A stream begins, as a task that is sure to run.
    pub fn begin(&self) -> New {
        self.0.new.fetch_add(1, Ordering::AcqRel);
        New(self.0.clone())
    }

    /// Whether the connection may run; if not, it is woken when it may.
    fn has_come(&self, context: &Context<'_>) -> bool {
        if !self.0.is_over() {
            self.0.connection.register(context.waker());
            // A stream that ran just before has woken nobody.
            if !self.0.is_over() {
                return false;
            }
        }
        self.0.ran.store(0, Ordering::Release);
        true
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        self.new.load(Ordering::Acquire) == 0 || self.ran.load(Ordering::Acquire) >= AT_ONCE
    }
}

impl Drop for New {
    fn drop(&mut self) {
        self.0.ran.fetch_add(1, Ordering::AcqRel);
        self.0.new.fetch_sub(1, Ordering::AcqRel);
        if self.0.is_over() {
            self.0.connection.wake();
        }
    }
}

/// Runs a connection whenever it is its turn.
pub async fn in_turn<F: Future>(turn: &Turn, connection: F) -> F::Output {
    let mut connection = pin!(connection);
    std::future::poll_fn(|context| if turn.has_come(context) { connection.as_mut().poll(context) } else { Poll::Pending }).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// How many of so many new streams have run whenever their connection does, which each of them wakes.
    async fn ran_before(streams: usize) -> Vec<usize> {
        let (turn, ran) = (Turn::default(), Arc::new(AtomicUsize::new(0)));
        let waker = Arc::new(AtomicWaker::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connection = {
            let (ran, waker, seen, of_connection) = (ran.clone(), waker.clone(), seen.clone(), turn.clone());
            let mut begun = false;
            let reads = std::future::poll_fn(move |context| {
                waker.register(context.waker());
                if !begun {
                    begun = true;
                    for _ in 0..streams {
                        let (new, ran, waker) = (turn.begin(), ran.clone(), waker.clone());
                        tokio::spawn(async move {
                            ran.fetch_add(1, Ordering::Relaxed);
                            waker.wake();
                            drop(new);
                        });
                    }
                }
                let ran = ran.load(Ordering::Relaxed);
                seen.lock().expect("it is whole").push(ran);
                if ran == streams { Poll::Ready(()) } else { Poll::Pending }
            });
            async move { in_turn(&of_connection, reads).await }
        };
        tokio::spawn(connection).await.expect("it ends");
        let seen = seen.lock().expect("it is whole");
        seen.clone()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_connection_lets_new_streams_run_but_not_too_many() {
        assert_eq!(ran_before(0).await, [0]);
        assert_eq!(ran_before(1).await, [0, 1]);
        assert_eq!(ran_before(AT_ONCE).await, [0, AT_ONCE]);
        let many = ran_before(AT_ONCE * 3 + 1).await;
        assert_eq!(many, [0, AT_ONCE, AT_ONCE * 2, AT_ONCE * 3, AT_ONCE * 3 + 1]);
    }

    #[tokio::test]
    async fn a_stream_that_never_runs_holds_nobody() {
        let turn = Turn::default();
        let new = turn.begin();
        let connection = tokio::spawn({
            let turn = turn.clone();
            async move { in_turn(&turn, std::future::ready(7)).await }
        });
        tokio::task::yield_now().await;
        assert!(!connection.is_finished());
        drop(new);
        assert_eq!(connection.await.expect("it ends"), 7);
    }
}
