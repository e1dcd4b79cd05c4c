//! Answers that their peer does not take.
//!
//! A peer of HTTP/2 can ask for an answer and grant no window for it, for ever. Whether a stream waits for its peer or for us
//! is known here alone: hyper takes a frame from an answer's body and asks for the next when the peer has granted room for the
//! one before. So the body notes what it gave, and the task of the stream, which polls it, looks at that: when the body gave data
//! and was not asked since, it is the peer that is waited for. So it is when the body, which had nothing at first, has woken the task
//! and was not asked all the same.

use crate::server::counts::{Counts, Present};
use crate::server::overdue::Overdue;
use crate::server::turn::{New, Turn};
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;
use tonic::codegen::Bytes;

/// The largest piece of an answer that is given at once. Of a longer one the rest stays here, where a stream that is given up
/// frees it, rather than in buffers of the connection.
const PIECE: usize = 16 * 1024;

/// What a body did last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gave {
    /// It gave data.
    Data,
    /// It had none yet, or no more.
    Nothing,
}

thread_local! {
    /// What the body did that was polled last on this thread.
    static GAVE: Cell<Option<Gave>> = const { Cell::new(None) };
}

/// Runs streams, each as a task, and gives those up whose peer takes nothing.
#[derive(Clone)]
pub struct Streams {
    /// For so long a peer may take nothing.
    pub patience: Duration,
    /// Where they are counted.
    pub counts: Arc<Counts>,
    /// The connection's turn, which comes after theirs.
    pub turn: Turn,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        tokio::spawn(attend(stream, self.patience, self.counts.clone(), self.turn.begin()));
    }
}

/// Runs a stream to its end, or until the peer has taken nothing for too long: then it is dropped, which resets it.
async fn attend(stream: impl Future<Output = ()>, patience: Duration, counts: Arc<Counts>, new: New) {
    let _present = Present::new(&counts, |counts| &counts.streams);
    let mut stream = pin!(stream);
    let mut new = Some(new);
    let mut begun = false;
    let mut given: Option<Instant> = None;
    let mut overdue = Overdue::default();
    let stalled = std::future::poll_fn(|context| {
        GAVE.set(None);
        let polled = stream.as_mut().poll(context);
        new = None;
        if polled.is_ready() {
            return Poll::Ready(false);
        }
        let gave = GAVE.take();
        begun |= gave.is_some();
        match gave {
            Some(Gave::Data) => given = Some(Instant::now()),
            Some(Gave::Nothing) => given = None,
            None if begun => given = given.or_else(|| Some(Instant::now())),
            // The answer has no body yet.
            None => {}
        }
        match given {
            Some(given) => overdue.poll(given + patience, context).map(|()| true),
            None => Poll::Pending,
        }
    });
    if stalled.await {
        counts.stalled.up();
        tracing::debug!("a stream was given up: its peer takes nothing");
    }
}

/// An answer's body in pieces.
pub struct Pieces<B> {
    body: B,
    /// What is left of the data that the body gave.
    rest: Bytes,
}

impl<B> Pieces<B> {
    /// The pieces of this body.
    pub fn of(body: B) -> Self {
        Self { body, rest: Bytes::new() }
    }
}

impl<B: http_body::Body<Data = Bytes, Error = Status> + Unpin> http_body::Body for Pieces<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { body, rest } = self.get_mut();
        if rest.is_empty() {
            match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => *rest = data,
                    Err(trailers) => return gave_nothing(Poll::Ready(Some(Ok(trailers)))),
                },
                other => return gave_nothing(other),
            }
        }
        GAVE.set(Some(Gave::Data));
        let piece = rest.split_to(rest.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

fn gave_nothing<T>(polled: T) -> T {
    GAVE.set(Some(Gave::Nothing));
    polled
}
