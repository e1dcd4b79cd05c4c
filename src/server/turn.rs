//! When a connection has its turn.
//!
//! A stream that has something to send wakes the task of its connection, and the task that was woken last is the one that tokio runs
//! next. So each of many answers would be written by itself, with a system call of its own, while the streams that have the next ones
//! ready wait behind it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

/// How many streams of a connection are there. Clones are the same number.
#[derive(Debug, Clone, Default)]
pub struct Streaming(Arc<AtomicUsize>);

/// A stream, as long as it is there.
#[derive(Debug)]
pub struct Stream(Arc<AtomicUsize>);

impl Streaming {
    /// One more.
    pub fn begin(&self) -> Stream {
        self.0.fetch_add(1, Ordering::Relaxed);
        Stream(self.0.clone())
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a connection behind its streams: as long as there are some, whatever can run when it is woken runs before it does. A connection
/// without any waits for nothing, so that a call that is alone is answered at once.
pub async fn behind<F: Future>(streams: &Streaming, connection: F) -> F::Output {
    let mut connection = pin!(connection);
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if !has_waited && streams.any() {
            has_waited = true;
            // A task that wakes itself goes to the end of the queue.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        has_waited = false;
        connection.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::task::yield_now;

    /// What runs in which order, when a connection is woken before two of its streams can run.
    async fn order(streams: Streaming) -> Vec<&'static str> {
        let ran = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let ran = ran.clone();
            async move { ran.lock().expect("it is whole").push(what) }
        };
        let connection = note("connection");
        let connection = tokio::spawn(async move { behind(&streams, connection).await });
        for stream in [note("a stream"), note("another")] {
            tokio::spawn(stream);
        }
        connection.await.expect("it ends");
        while ran.lock().expect("it is whole").len() < 3 {
            yield_now().await;
        }
        ran.lock().expect("it is whole").clone()
    }

    #[tokio::test]
    async fn a_connection_waits_for_its_streams_and_for_nothing_else() {
        let streams = Streaming::default();
        assert_eq!(order(streams.clone()).await, ["connection", "a stream", "another"]);
        let stream = streams.begin();
        assert_eq!(order(streams.clone()).await, ["a stream", "another", "connection"]);
        drop(stream);
        assert_eq!(order(streams).await, ["connection", "a stream", "another"]);
    }
}
