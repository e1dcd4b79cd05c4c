//! A server of the rules in this process, and peers that speak with it by hand.

// Each test binary uses a part of it.
#![allow(dead_code)]

use mancala::server::{self, Api, Counts, ServeError, Settings, Stopped};
use mancala::service::Compute;
use mancala::wire::access::Access;
use mancala::wire::proto::FILE_DESCRIPTOR_SET;
use mancala::wire::{RulesHandlers, rules_service};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Far longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Listening {
    pub address: SocketAddr,
    pub counts: Arc<Counts>,
    pub ready: watch::Sender<bool>,
    pub stopping: watch::Receiver<bool>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Stopped, ServeError>>,
}

/// Starts a server in open mode.
pub async fn start(change: impl FnOnce(&mut Settings)) -> Listening {
    start_with(Access::open(), change).await.expect("a server")
}

/// Starts a server, if it can be.
pub async fn start_with(access: Access, change: impl FnOnce(&mut Settings)) -> Result<Listening, ServeError> {
    let mut settings = Settings { request_timeout: PATIENCE, drain_timeout: PATIENCE, ..Settings::default() };
    change(&mut settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let api = Api::new(FILE_DESCRIPTOR_SET, access).with(rules_service(RulesHandlers::new(Compute::new(1))));
    let counts = settings.counts.clone();
    let (ready, is_ready) = watch::channel(true);
    let (stopping, is_stopping) = watch::channel(false);
    let (stop, stopped) = oneshot::channel();
    // A test that ends without stopping its server drops the sender.
    let shutdown = async { stopped.await.unwrap_or_default() };
    let served = tokio::spawn(server::serve(listener, api, settings, is_ready, stopping, shutdown));
    // It fails before it first waits, if it does.
    tokio::task::yield_now().await;
    if served.is_finished() {
        return Err(served.await.expect("no panic").expect_err("it has ended"));
    }
    Ok(Listening { address, counts, ready, stopping: is_stopping, stop, served })
}

impl Listening {
    pub async fn channel(&self) -> Channel {
        Endpoint::from_shared(format!("http://{}", self.address)).expect("an address").connect().await.expect("a connection")
    }

    pub async fn health(&self) -> HealthClient<Channel> {
        HealthClient::new(self.channel().await)
    }

    pub async fn peer(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// Tells the server to stop, and how it did.
    pub async fn stop(self) -> Stopped {
        self.stop.send(()).expect("a running server");
        timeout(PATIENCE, self.served).await.expect("an end in time").expect("no panic").expect("no failure")
    }
}

/// Asks whether the server is serving.
pub async fn check(health: &mut HealthClient<Channel>) -> Result<(), Status> {
    health.check(HealthCheckRequest::default()).await.map(|_| ())
}

/// Waits until something is so.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, so).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Reads until the other side closes, and gives what it said until then.
pub async fn closed(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut said = Vec::new();
    let mut read = async || match stream.read_buf(&mut said).await {
        Ok(count) => count > 0,
        Err(error) if [ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof, ErrorKind::BrokenPipe].contains(&error.kind()) => {
            false
        }
        Err(error) => panic!("{error}"),
    };
    let closed = async { while read().await {} };
    timeout(PATIENCE, closed).await.expect("it is closed in time");
    said
}
