//! Errors that tonic makes itself, completed: they too must bear a reason.

use super::reason::Reason;
use super::refuse::Refused;
use http::Response;
use tonic::body::Body;
use tonic::{Code, Status};

/// Gives an error without details the reason that belongs to it; leaves every other answer as it is.
pub fn complete(response: Response<Body>) -> Response<Body> {
    let headers = response.headers();
    if !headers.contains_key("grpc-status") || headers.contains_key("grpc-status-details-bin") {
        return response;
    }
    match Status::from_header_map(headers) {
        Some(status) if status.code() != Code::Ok => refused(&status).into_status().into_http(),
        _ => response,
    }
}

fn refused(status: &Status) -> Refused {
    match status.code() {
        // tonic's words, which name the sizes.
        Code::OutOfRange if status.message().contains("decoded message") => {
            Refused::new(Reason::MessageTooLarge, status.message(), Vec::new())
        }
        Code::OutOfRange => {
            Refused::new(Reason::ReplyTooLarge, status.message(), vec![("limit_bytes", super::MAX_REPLY.to_string())])
        }
        Code::Unimplemented => Refused::plain(Reason::MethodUnknown),
        Code::Cancelled | Code::DeadlineExceeded => {
            Refused::new(Reason::DeadlineExceeded, "the caller's deadline has passed", vec![("limit_ms", String::new())])
        }
        Code::Internal if status.message().contains("decode") => Refused::plain(Reason::MalformedMessage),
        _ => {
            tracing::error!(code = ?status.code(), message = status.message(), "an error without a reason");
            Refused::plain(Reason::Internal)
        }
    }
}
