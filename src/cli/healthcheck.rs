//! `mancala healthcheck`, for containers, which may have no other client in them.

mod own_server;
mod same_certificate;

use crate::cli::Failure;
use crate::cli::peer::{Peer, PeerArgs, with_causes};
use own_server::OwnServer;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// What a client of HTTP/2 says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What a server of TLS answers whatever is no TLS: an alert begins so.
const ALERT: [u8; 2] = [0x15, 3];

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
    let server = match args.peer.own()? {
        Some(own) => Server::Own(OwnServer::new(own)?),
        None => Server::Told(Box::new(args.peer.peer()?), args.peer.shows_certificate()),
    };
    let asked = ask(&server, args.service, Duration::from_secs(args.timeout));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    let address = server.address();
    match runtime.block_on(asked) {
        Ok(ServingStatus::Serving) => Ok(()),
        Ok(status) => Err(Failure::run(format!("the server at {address} answers {}", status.as_str_name()))),
        Err(problem) => Err(Failure::run(format!("the server at {address} {problem}"))),
    }
}

/// Whom to ask.
enum Server {
    /// The configured one, by its own certificate.
    Own(OwnServer),
    /// The one that the arguments tell of, or a configured one without TLS; and whether it is shown a certificate.
    Told(Box<Peer>, bool),
}

impl Server {
    fn address(&self) -> SocketAddr {
        match self {
            Server::Own(own) => own.address,
            Server::Told(peer, _) => peer.address,
        }
    }

    async fn connect(&self) -> Result<Channel, String> {
        match self {
            Server::Own(own) => own.connect().await,
            Server::Told(peer, _) => {
                peer.endpoint.connect().await.map_err(|error| format!("can't be reached: {}", with_causes(&error)))
            }
        }
    }

    /// What it does with a connection on which no answer came, for this reason. In TLS 1.3 a client is let in before its certificate
    /// is looked at, and may not hear of what is found before its connection is gone.
    async fn broke(&self, reason: &str) -> String {
        let advice = match self {
            Server::Told(peer, _) if peer.endpoint.uri().scheme_str() == Some("http") => {
                if speaks_tls(peer.address).await {
                    return "speaks TLS and was asked without: give --ca FILE, or leave out --address where tls.certificate is \
                            configured"
                        .to_owned();
                }
                ""
            }
            Server::Own(own) if own.lacks_certificate => {
                "; it takes only clients that show a certificate of its tls.client_ca: give one by --certificate and --key"
            }
            Server::Told(_, false) => "; it may take only clients that show a certificate: give one by --certificate and --key",
            Server::Own(_) | Server::Told(_, true) => "; it may not take the certificate that it was shown, if it was shown one",
        };
        format!("answers: {reason}{advice}")
    }
}

/// A service's status, or what the server does instead of telling it.
async fn ask(server: &Server, service: String, timeout: Duration) -> Result<ServingStatus, String> {
    let answer = async {
        let channel = server.connect().await?;
        match HealthClient::new(channel).check(HealthCheckRequest { service }).await {
            Ok(answer) => Ok(answer.into_inner().status()),
            Err(status) => Err(match status.source() {
                None => format!("answers: {}", status.message()),
                // It is not the server's answer.
                Some(cause) => server.broke(&with_causes(cause)).await,
            }),
        }
    };
    let silent = |_| Err(format!("gives no answer within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, answer).await.unwrap_or_else(silent)
}

/// Whether a server answers what is no TLS as one that speaks nothing else.
async fn speaks_tls(address: SocketAddr) -> bool {
    let answer = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(PREFACE).await?;
        let mut first = [0; 2];
        stream.read_exact(&mut first).await.map(|_| first)
    };
    answer.await.is_ok_and(|first| first == ALERT)
}
