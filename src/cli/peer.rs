//! The server that a command talks to.

use crate::cli::Failure;
use crate::config::{Config, Sources};
use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address that was given, or else the one that a server of this configuration listens on.
pub fn address(given: Option<SocketAddr>) -> Result<SocketAddr, Failure> {
    let address = match given {
        Some(address) => address,
        None => Config::load(&Sources::of_process()).map_err(Failure::usage)?.server.listen,
    };
    Ok(reachable(address))
}

/// An address by which a server on this machine can be reached that listens on this one.
fn reachable(mut listening: SocketAddr) -> SocketAddr {
    match listening.ip() {
        ip if !ip.is_unspecified() => {}
        ip if ip.is_ipv4() => listening.set_ip(Ipv4Addr::LOCALHOST.into()),
        _ => listening.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    listening
}

/// tonic's own message is "transport error"; what went wrong is in its causes.
pub fn with_causes(error: &tonic::transport::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
