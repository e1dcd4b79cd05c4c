//! What keeps a call from failing without an answer that says why: a deadline, a limit to how many are in flight, a panic that
//! stays with the call, and reasons for the errors that tonic makes.

use super::measure::CallMetrics;
use super::room::Room;
use crate::wire::deadline::{Deadline, TimeLimits};
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use http::{Request, Response};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;

/// Answers DEADLINE_EXCEEDED for calls that take too long, INTERNAL for those that panic, and UNAVAILABLE for those that there is no
/// room for. What it says is limited until the answer begins; a stream may last longer.
pub struct Guard {
    /// How long calls may take.
    pub limits: TimeLimits,
    /// How many there may be at once.
    pub room: Room,
    /// Counts those that panic.
    pub metrics: CallMetrics,
}

/// A call's place in the room, if it needs one.
type Place = Option<OwnedSemaphorePermit>;

impl Guard {
    /// Gives a call its deadline, which its handler finds in its extensions, and its place, to be kept until its answer begins.
    ///
    /// # Errors
    /// When it has a malformed time limit, or there is no room.
    pub fn enter(&self, request: &mut Request<Body>) -> Result<(Deadline, Place), Refused> {
        let deadline = Deadline::read(request.headers(), Instant::now(), self.limits)?;
        let place = self.room.enter(request.uri().path())?;
        request.extensions_mut().insert(deadline);
        Ok((deadline, place))
    }

    /// What a part of a call came to; `method` is the path of its method, if there is such a method.
    ///
    /// # Errors
    /// What its caller is told if that did not come by its deadline, or panicked.
    pub async fn keep<T>(
        &self,
        deadline: Deadline,
        method: Option<&str>,
        part: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Response<Body>> {
        match timeout_at(deadline.answer_by, catch_panic(part)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_panic)) => {
                self.metrics.panicked();
                Err(Refused::plain(Reason::Internal).into_status().into_http())
            }
            Err(_elapsed) => Err(deadline.exceeded(method, self.limits).into_status().into_http()),
        }
    }
}

/// Runs `future`; if it panics, gives what it panicked with.
async fn catch_panic<F: Future>(mut future: Pin<&mut F>) -> Result<F::Output, Box<dyn Any + Send>> {
    // Unwind safe: a future that panicked is not polled again.
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
