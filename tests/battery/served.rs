//! A gRPC server in this process over given sessions.

use mancala::server::{self, Api, Settings};
use mancala::service::{Compute, Sessions};
use mancala::wire::access::Access;
use mancala::wire::proto::FILE_DESCRIPTOR_SET;
use mancala::wire::{self, RulesHandlers, SessionHandlers, StreamSettings};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

/// Far longer than a call takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves these sessions on a free port until the end of their life.
pub async fn serve(sessions: Sessions, life: CancellationToken) -> Endpoint {
    let (stopping, is_stopping) = watch::channel(false);
    let streams = StreamSettings { watches_per_caller: usize::MAX, ..StreamSettings::new(is_stopping) };
    let compute = Compute::new(1);
    let api = Api::new(FILE_DESCRIPTOR_SET, Access::open())
        .with(wire::rules_service(RulesHandlers::new(compute.clone())))
        .with(wire::session_service(SessionHandlers::new(sessions, compute, streams)));
    let settings = Settings { request_timeout: PATIENCE, longest_timeout: PATIENCE, ..Settings::default() };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (_, ready) = watch::channel(true);
    tokio::spawn(async move {
        let serve = server::serve(listener, api, settings, ready, stopping, std::future::pending());
        // When it is killed nothing is left of it that anybody could ask for how it went.
        if let Some(ended) = life.run_until_cancelled(serve).await {
            panic!("the server ended by itself: {:?}", ended.err());
        }
    });
    Endpoint::from_shared(format!("http://{address}")).expect("an address")
}
