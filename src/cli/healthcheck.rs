//! `mancala healthcheck`, for containers, which may have no other client in them.

use crate::cli::Failure;
use crate::config::{Config, Sources};
use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the server listens [default: the configured server.listen]
    #[arg(long, value_name = "ADDR")]
    address: Option<SocketAddr>,
    /// Service to ask about, such as mancala.v1.SessionService [default: the server as a whole]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    service: String,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    timeout: u64,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let address = match args.address {
        Some(address) => address,
        None => Config::load(&Sources::of_process()).map_err(Failure::usage)?.server.listen,
    };
    let asked = ask(reachable(address), args.service, Duration::from_secs(args.timeout));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    match runtime.block_on(asked) {
        Ok(ServingStatus::Serving) => Ok(()),
        Ok(status) => Err(Failure::run(format!("the server at {address} answers {}", status.as_str_name()))),
        Err(problem) => Err(Failure::run(format!("the server at {address} {problem}"))),
    }
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

/// A service's status, or what the server does instead of telling it.
async fn ask(address: SocketAddr, service: String, timeout: Duration) -> Result<ServingStatus, String> {
    let unreachable = |error| format!("can't be reached: {}", with_causes(&error));
    let answer = async {
        let channel = Endpoint::from_shared(format!("http://{address}")).map_err(unreachable)?.connect().await;
        let answer = HealthClient::new(channel.map_err(unreachable)?).check(HealthCheckRequest { service }).await;
        answer.map(|answer| answer.into_inner().status()).map_err(|status| format!("answers: {}", status.message()))
    };
    let silent = |_| Err(format!("gives no answer within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, answer).await.unwrap_or_else(silent)
}

/// tonic's own message is "transport error"; what went wrong is in its causes.
fn with_causes(error: &tonic::transport::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
