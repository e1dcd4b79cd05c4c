//! The outermost of what every call goes through: it sees how calls begin and how they end, for logs, metrics and traces, and ends
//! an answer whose stream panics.

use super::log;
use super::measure::{CallMetrics, Method};
use super::trace;
use crate::wire::reason::Reason;
use crate::wire::refuse::{Refused, reason_in};
use http::{HeaderMap, Response};
use http_body::{Frame, SizeHint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::{Code, Status};
use tracing::Span;

/// An answer of which the end has not been sent.
pub struct ObservedBody {
    body: Body,
    /// Until its end.
    call: Option<Call>,
}

impl ObservedBody {
    /// Of an answer in which there is nothing more to see.
    pub fn unobserved(body: Body) -> ObservedBody {
        ObservedBody { body, call: None }
    }
}

impl http_body::Body for ObservedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { body, call } = self.get_mut();
        let Some(observed) = call else { return Pin::new(body).poll_frame(context) };
        let entered = observed.span.enter();
        // Unwind safe: what panicked is put away.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *body).poll_frame(context)));
        let polled = polled.unwrap_or_else(|_panic| {
            *body = Body::empty();
            observed.metrics.panicked();
            Poll::Ready(Some(Ok(Frame::trailers(failed()))))
        });
        drop(entered);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => take(call).ended(&HeaderMap::new()),
            Poll::Ready(Some(Err(status))) => take(call).failed(status.code()),
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(trailers) = frame.trailers_ref() {
                    take(call).ended(trailers);
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn take(call: &mut Option<Call>) -> Call {
    call.take().expect("it has not ended before")
}

/// The trailers of a stream that failed by a fault of the server.
fn failed() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    let status = Refused::plain(Reason::Internal).into_status();
    // A status of ours fits into headers.
    status.add_header(&mut trailers).expect("a status");
    trailers
}

/// A call in flight. How it ended is told when it is dropped, so that none goes untold.
#[derive(Debug)]
pub struct Call {
    /// Its lines are logged in this one.
    pub span: Span,
    metrics: CallMetrics,
    method: Method,
    begun: Instant,
    /// Until it is known otherwise, the caller has left or its deadline has passed.
    code: Code,
    reason: Option<Reason>,
}

impl Call {
    /// Counts a call of the method with this path as begun.
    pub fn begin(path: &str, metrics: CallMetrics) -> Call {
        let method = metrics.begun(path);
        Call { span: log::span(path), metrics, method, begun: Instant::now(), code: Code::Cancelled, reason: None }
    }

    /// The path of its method, if there is such a method.
    pub fn method(&self) -> Option<&'static str> {
        self.method.path()
    }

    /// Its answer begins, and is observed to its end.
    pub fn answered(self, mut answer: Response<Body>) -> Response<ObservedBody> {
        trace::announce(&self.span, answer.headers_mut());
        // A failure without an answer is told in the headers; otherwise the code follows the last message.
        if answer.headers().contains_key(Status::GRPC_STATUS) {
            self.ended(answer.headers());
            return answer.map(ObservedBody::unobserved);
        }
        answer.map(|body| ObservedBody { body, call: Some(self) })
    }

    /// With these headers or trailers.
    fn ended(mut self, told: &HeaderMap) {
        self.code = told.get(Status::GRPC_STATUS).map_or(Code::Unknown, |code| Code::from_bytes(code.as_bytes()));
        if self.code != Code::Ok
            && let Some(reason) = reason_in(told)
        {
            self.metrics.rejected(reason);
            self.reason = Some(reason);
        }
    }

    fn failed(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        self.metrics.ended(self.method, self.code, took);
        trace::end(&self.span, self.code);
        log::ended(&self.span, self.code, self.reason, took);
    }
}
