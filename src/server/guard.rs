//! What keeps a call from failing without an answer that says why: a deadline, a limit to how many are in flight, a panic that
//! stays with the call, and reasons for the errors that tonic makes.

use super::measure::CallMetrics;
use super::room::Room;
use crate::wire::complete;
use crate::wire::deadline::{Deadline, TimeLimits};
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use http::{Request, Response};
use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::codegen::Service;

/// Answers DEADLINE_EXCEEDED for calls that take too long, INTERNAL for those that panic, and UNAVAILABLE for those that there is no
/// room for. What it says is limited until the answer begins; a stream may last longer.
#[derive(Debug, Clone)]
pub struct Guard<S> {
    inner: S,
    limits: TimeLimits,
    room: Room,
    metrics: CallMetrics,
}

impl<S> Guard<S> {
    /// Guards calls of `inner`.
    pub fn new(inner: S, limits: TimeLimits, room: Room, metrics: CallMetrics) -> Self {
        Self { inner, limits, room, metrics }
    }
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

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let refused = |refused: Refused| Box::pin(std::future::ready(Ok(refused.into_status().into_http())));
        let deadline = match Deadline::read(request.headers(), Instant::now(), self.limits) {
            Ok(deadline) => deadline,
            Err(malformed) => return refused(malformed),
        };
        let place = match self.room.enter(request.uri().path()) {
            Ok(place) => place,
            Err(overloaded) => return refused(overloaded),
        };
        request.extensions_mut().insert(deadline);
        let answer = self.inner.call(request);
        let metrics = self.metrics.clone();
        Box::pin(async move {
            let _place = place;
            match timeout_at(deadline.answer_by, catch_panic(answer)).await {
                Ok(Ok(answer)) => answer.map(complete),
                Ok(Err(_panic)) => {
                    metrics.panicked();
                    Ok(Refused::plain(Reason::Internal).into_status().into_http())
                }
                Err(_elapsed) => Ok(deadline.exceeded().into_status().into_http()),
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
