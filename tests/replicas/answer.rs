//! Which calls a client may repeat.

use tonic::{Code, Status};

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
