//! What a client may conclude from a status.

use crate::call::Outcome;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Whether what was asked for has happened. The reason says so even where the code only says to repeat the call.
pub fn outcome(status: &Status) -> Outcome {
    let Some(info) = status.get_details_error_info() else {
        // The connection's, or the client's own deadline.
        return Outcome::Unknown;
    };
    match info.reason.as_str() {
        "OUTCOME_UNKNOWN" | "DEADLINE_EXCEEDED" | "STOPPING" | "INTERNAL" => Outcome::Unknown,
        _ if status.code() == Code::Unavailable => Outcome::Failed,
        _ => {
            let current = info.metadata.get("current_version").and_then(|version| version.parse().ok());
            Outcome::Refused { reason: info.reason, current }
        }
    }
}

/// Whether the published policy repeats the call.
pub fn may_repeat(status: &Status) -> bool {
    status.code() == Code::Unavailable || was_not_sent(status)
}

/// What tonic says of a call that met a connection which was just being closed. Other libraries of gRPC send such a call on another
/// connection by themselves.
fn was_not_sent(status: &Status) -> bool {
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return true;
        }
        cause = error.source();
    }
    false
}
