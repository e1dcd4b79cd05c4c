//! What keeps a call from failing without an answer: a time limit, and a panic that stays with the call.

use http::{Request, Response};
use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

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
                Ok(Ok(answer)) => answer,
                Ok(Err(_panic)) => Ok(failed().into_http()),
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

fn failed() -> Status {
    refusal(Code::Internal, "INTERNAL", "the server failed at this call; its log says why", [])
}

fn timed_out(timeout: Duration) -> Status {
    let limit = timeout.as_millis().to_string();
    let message = format!(
        "no answer within {limit} ms, the server's limit; a change may have happened: repeat it with the same request_id"
    );
    refusal(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", &message, [("limit_ms".to_owned(), limit)])
}

fn refusal<const N: usize>(code: Code, reason: &str, message: &str, facts: [(String, String); N]) -> Status {
    let details = ErrorDetails::with_error_info(reason, "mancala.v1", facts);
    Status::with_error_details(code, format!("{reason}: {message}"), details)
}
