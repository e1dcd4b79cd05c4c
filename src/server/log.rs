//! One span and one line a call: its method, operator, session, code and duration. Never what it said, nor its metadata.

use crate::wire::reason::{Reason, code_name};
use std::time::Duration;
use tonic::Code;
use tracing::level_filters::LevelFilter;
use tracing::{Span, field};

/// So much of a method's name is logged: it may be one that a caller made up.
const METHOD_LENGTH: usize = 100;

/// The span of a call of the method with this path.
///
/// The gate adds the operator, and a handler the session by `Span::current().record("session_id", ...)`. The span has the level
/// of the worst line that can be in it, so that no line is without its method; where even that is off, a call costs one comparison.
pub fn span(path: &str) -> Span {
    tracing::warn_span!(
        "call",
        method = path.get(1..path.len().min(METHOD_LENGTH)).unwrap_or_default(),
        operator = field::Empty,
        session_id = field::Empty,
        otel.kind = field::Empty
    )
}

/// Logs how a call ended: a success at DEBUG, a failure of the caller's at INFO, one of the server's at WARN. That a stream is at the
/// end of its life is no failure.
pub fn ended(span: &Span, code: Code, reason: Option<Reason>, took: Duration) {
    let fault = match reason {
        Some(Reason::StreamAged | Reason::StreamStopping) => Fault::Nobody,
        _ => whose(code),
    };
    if matches!(fault, Fault::Nobody) && LevelFilter::current() < LevelFilter::DEBUG {
        return;
    }
    let _entered = span.enter();
    let name = code_name(code);
    let duration_ms = took.as_micros() as f64 / 1000.0;
    let reason = reason.map(Reason::name);
    match fault {
        Fault::Nobody => tracing::debug!(code = name, reason, duration_ms, "call ended"),
        Fault::Caller => tracing::info!(code = name, reason, duration_ms, "call ended"),
        Fault::Server => tracing::warn!(code = name, reason, duration_ms, "call ended"),
    }
}

/// Whether a code tells of a fault of the server's.
#[cfg(feature = "otel")]
pub fn is_fault_of_server(code: Code) -> bool {
    matches!(whose(code), Fault::Server)
}

/// Whose fault it is that a call ended as it did.
enum Fault {
    Nobody,
    Caller,
    Server,
}

fn whose(code: Code) -> Fault {
    match code {
        // A caller that goes away is no failure: whoever watches leaves so.
        Code::Ok | Code::Cancelled => Fault::Nobody,
        Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable | Code::DataLoss => Fault::Server,
        Code::InvalidArgument
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
