//! One span and one line a call: its method, session, code and duration. Never what it said, nor its metadata.

use crate::wire::reason::code_name;
use http::{HeaderMap, Request, Response};
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tonic::body::Body;
use tonic::codegen::{Bytes, Service};
use tonic::{Code, Status};
use tracing::instrument::{Instrument, Instrumented};
use tracing::{Span, field};

/// So much of a method's name is logged: it may be one that a caller made up.
const METHOD_LENGTH: usize = 100;

/// Opens a span `call` around each call and logs how it ended: a success at DEBUG, a failure of the caller's at INFO, one of
/// the server's at WARN.
///
/// A handler adds the session with `Span::current().record("session_id", ...)`. The span has the level of the worst line that
/// can be in it, so that no line is without its method; where even that is off, a call costs one comparison.
#[derive(Debug, Clone, Copy)]
pub struct LogLayer;

impl<S> tower::Layer<S> for LogLayer {
    type Service = Log<S>;

    fn layer(&self, inner: S) -> Log<S> {
        Log { inner }
    }
}

/// See [`LogLayer`].
#[derive(Debug, Clone)]
pub struct Log<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for Log<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + Unpin + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Logged<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let span = tracing::warn_span!("call", method = field::Empty, session_id = field::Empty);
        let call = (!span.is_disabled()).then(|| {
            let path = request.uri().path();
            span.record("method", path.get(1..path.len().min(METHOD_LENGTH)).unwrap_or_default());
            Call { span: span.clone(), started: Instant::now(), code: Code::Cancelled }
        });
        let answer = span.in_scope(|| self.inner.call(request));
        Logged { answer: answer.instrument(span), call }
    }
}

/// A call whose answer has not begun.
#[derive(Debug)]
pub struct Logged<F> {
    answer: Instrumented<F>,
    call: Option<Call>,
}

impl<F: Future<Output = Result<Response<Body>, Infallible>> + Unpin> Future for Logged<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Poll::Ready(Ok(response)) = Pin::new(&mut self.answer).poll(context) else { return Poll::Pending };
        let Some(call) = self.call.take() else { return Poll::Ready(Ok(response)) };
        // A failure without an answer is told in the headers; otherwise the code follows the last message.
        Poll::Ready(Ok(match code(response.headers()) {
            Some(code) => {
                call.ended(code);
                response
            }
            None => response.map(|body| Body::new(LoggedBody { body, call: Some(call) })),
        }))
    }
}

/// The code that headers or trailers bear, if they do.
fn code(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()))
}

/// An answer of which the end has not been sent.
struct LoggedBody {
    body: Body,
    call: Option<Call>,
}

impl http_body::Body for LoggedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { body, call } = self.get_mut();
        let entered = call.as_ref().map(|call| call.span.enter());
        let polled = Pin::new(body).poll_frame(context);
        drop(entered);
        let ended = match &polled {
            Poll::Pending => None,
            Poll::Ready(None) => Some(Code::Unknown),
            Poll::Ready(Some(Err(status))) => Some(status.code()),
            Poll::Ready(Some(Ok(frame))) => frame.trailers_ref().map(|trailers| code(trailers).unwrap_or(Code::Unknown)),
        };
        if let Some(code) = ended
            && let Some(call) = call.take()
        {
            call.ended(code);
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

/// A call in flight. It logs how it ended when it is dropped, so that none goes without a line.
#[derive(Debug)]
struct Call {
    span: Span,
    started: Instant,
    /// Until it is known otherwise, the caller has left or its deadline has passed.
    code: Code,
}

impl Call {
    fn ended(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _entered = self.span.enter();
        let code = code_name(self.code);
        let duration_ms = self.started.elapsed().as_micros() as f64 / 1000.0;
        match whose(self.code) {
            Fault::Nobody => tracing::debug!(code, duration_ms, "call ended"),
            Fault::Caller => tracing::info!(code, duration_ms, "call ended"),
            Fault::Server => tracing::warn!(code, duration_ms, "call ended"),
        }
    }
}

/// Whose fault it is that a call ended as it did.
enum Fault {
    Nobody,
    Caller,
    Server,
}

fn whose(code: Code) -> Fault {
    match code {
        Code::Ok => Fault::Nobody,
        Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable | Code::DataLoss => Fault::Server,
        Code::Cancelled
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => Fault::Caller,
    }
}
