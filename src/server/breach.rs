//! What becomes of peers that break the protocol.

use std::io::{self, ErrorKind};
use std::time::Duration;

/// For so long a connection on which the protocol was broken keeps its place. Nothing is read of it meanwhile. To refuse a flood costs
/// more than to send it; whoever comes again and again can do so as often as there are connections by address, and no more.
pub const PENANCE: Duration = Duration::from_secs(1);

/// Whether a connection ended because its peer broke the protocol: not if the peer only left, or was slow.
pub fn is_breach(error: &hyper::Error) -> bool {
    let cause = || std::error::Error::source(error);
    let is_flood = || cause()?.downcast_ref::<io::Error>().map(|error| error.kind() == ErrorKind::InvalidData);
    let is_fault = || cause()?.downcast_ref::<h2::Error>().map(h2::Error::is_library);
    error.is_parse() || is_flood().or_else(is_fault).unwrap_or(false)
}
