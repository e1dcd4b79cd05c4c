//! `mancala healthcheck`, for containers, which may have no other client in them.

use crate::cli::Failure;
use crate::cli::peer::{Peer, PeerArgs, with_causes};
use std::time::Duration;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    peer: PeerArgs,
    /// Service to ask about, such as mancala.v1.SessionService [default: the server as a whole]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    service: String,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    timeout: u64,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let Peer { address, endpoint } = args.peer.peer()?;
    let asked = ask(endpoint, args.service, Duration::from_secs(args.timeout));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    match runtime.block_on(asked) {
        Ok(ServingStatus::Serving) => Ok(()),
        Ok(status) => Err(Failure::run(format!("the server at {address} answers {}", status.as_str_name()))),
        Err(problem) => Err(Failure::run(format!("the server at {address} {problem}"))),
    }
}

/// A service's status, or what the server does instead of telling it.
async fn ask(endpoint: Endpoint, service: String, timeout: Duration) -> Result<ServingStatus, String> {
    let unreachable = |error| format!("can't be reached: {}", with_causes(&error));
    let answer = async {
        let channel = endpoint.connect().await;
        let answer = HealthClient::new(channel.map_err(unreachable)?).check(HealthCheckRequest { service }).await;
        answer.map(|answer| answer.into_inner().status()).map_err(|status| format!("answers: {}", status.message()))
    };
    let silent = |_| Err(format!("gives no answer within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, answer).await.unwrap_or_else(silent)
}
