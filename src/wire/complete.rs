//! Errors that tonic makes itself, completed: they too must bear a reason.

use super::reason::Reason;
use super::refuse::Refused;
use http::Response;
use tonic::body::Body;
use tonic::{Code, Status};

/// The compressions that the server reads.
const ACCEPTED: &str = "grpc-accept-encoding";

/// Gives an error that tonic made about a request the reason that belongs to it; leaves every other answer as it is, such as
/// those of health and reflection, whose protocols have errors of their own.
pub fn complete(response: Response<Body>) -> Response<Body> {
    let headers = response.headers();
    if !headers.contains_key("grpc-status") || headers.contains_key("grpc-status-details-bin") {
        return response;
    }
    let refused = Status::from_header_map(headers).and_then(|status| refused(&status));
    let Some(refused) = refused else { return response };
    let mut completed = refused.into_status().into_http();
    // Whoever compresses what the server can't read is to be told what it can.
    if let Some(accepted) = headers.get(ACCEPTED) {
        completed.headers_mut().insert(ACCEPTED, accepted.clone());
    }
    completed
}

/// What an error of tonic's about a request is. They can be told by their code, since ours have details and come no further than
/// [`complete`].
pub(super) fn refused(status: &Status) -> Option<Refused> {
    match status.code() {
        // tonic's words name the sizes.
        Code::OutOfRange => Some(Refused::new(Reason::MessageTooLarge, status.message(), Vec::new())),
        Code::Unimplemented if status.message().contains("compressed") => Some(Refused::plain(Reason::CompressionUnknown)),
        Code::Unimplemented => Some(Refused::plain(Reason::MethodUnknown)),
        // Not a fault of the server, whatever the code says: no message, half of one, or one of another type.
        Code::Internal => Some(Refused::plain(Reason::MalformedMessage)),
        _ => None,
    }
}
