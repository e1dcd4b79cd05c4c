//! What keeps a call from failing without an answer that says why: a time limit, a panic that stays with the call, and
//! reasons for the errors that tonic makes.

use crate::wire::complete;
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use http::{Request, Response};
use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;

/// Answers DEADLINE_EXCEEDED for calls that take too long and INTERNAL for those that panic.
///
/// tonic's own time limit answers CANCELLED and gives no reason; it still keeps the caller's.
#[derive(Debug, Clone, Copy)]
pub struct GuardLayer {
    timeout: Duration,
}

impl GuardLayer {
    /// `timeout` is the time until the answer begins; a stream may last longer.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout }
    }
}

impl<S> tower::Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { inner, timeout: self.timeout }
    }
}

/// See [`GuardLayer`].
#[derive(Debug, Clone)]
pub struct Guard<S> {
    inner: S,
    timeout: Duration,
}

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.inner.call(request);
        let timeout = self.timeout;
        Box::pin(async move {
            match tokio::time::timeout(timeout, catch_panic(answer)).await {
                Ok(Ok(answer)) => answer.map(complete),
                Ok(Err(_panic)) => Ok(Refused::plain(Reason::Internal).into_status().into_http()),
                Err(_elapsed) => Ok(timed_out(timeout).into_http()),
            }
        })
    }
}

/// Runs `future`; if it panics, gives what it panicked with.
async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    // Unwind safe: a future that panicked is not polled again.
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn timed_out(timeout: Duration) -> Status {
    let limit = timeout.as_millis().to_string();
    let text = format!(
        "no answer within {limit} ms, the server's limit; a change may have happened: repeat it with the same request_id"
    );
    Refused::new(Reason::DeadlineExceeded, text, vec![("limit_ms", limit)]).into_status()
}
