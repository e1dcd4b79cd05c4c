//! Sockets, health, reflection, what every call has in common, and a stop that ends.

mod api;
mod gate;
mod guard;
mod health;
mod layers;
mod log;
mod measure;
mod metrics;
mod monitor;
mod observe;
mod peer;
pub mod process;
mod rates;
mod reflection;
mod room;
pub mod signal;
mod socket;
mod trace;

pub use api::Api;
pub use layers::Limits;
pub use measure::CallMetrics;
pub use metrics::Metrics;
pub use monitor::monitor;
pub use rates::{Rate, Rates};

use crate::server::health::{Health, Serving};
use crate::server::socket::Socket;
use crate::wire::deadline::TimeLimits;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The largest list of request headers (gRPC metadata) that is read, in bytes.
const MAX_HEADER_LIST: u32 = 16 * 1024;
/// A connection without traffic is asked so often whether it is still there...
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// ...and is closed if it hasn't answered by then.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept. Without it a full file table keeps a core busy with failing.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(50);

/// How a server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// A call that hasn't answered by then fails with DEADLINE_EXCEEDED, unless its caller gives it another time.
    pub request_timeout: Duration,
    /// The longest time that a caller may give.
    pub longest_timeout: Duration,
    /// Time between reporting NOT_SERVING and refusing connections, for balancers to take notice.
    pub drain_delay: Duration,
    /// Time that calls in flight have to finish once connections are refused.
    pub drain_timeout: Duration,
    /// Most calls in flight on one connection.
    pub max_streams: u32,
}

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every call was finished and every connection closed.
    Drained,
    /// Some connections were still open at the end of the drain timeout. They end with the runtime.
    TimedOut,
}

/// Why a server could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The descriptors of the services do not fit together.
    #[error("the services can't be described by reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// Serving ended by itself.
    #[error("serving failed: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves `api`, health and reflection on `listener` until `shutdown` completes, then drains and returns.
///
/// Health reports SERVING while `ready` is true. From `shutdown` on it reports NOT_SERVING; after [`Settings::drain_delay`]
/// connections are refused and open ones told to go away, and within [`Settings::drain_timeout`] this returns, whatever
/// peers do.
pub async fn serve(
    listener: TcpListener,
    api: Api,
    settings: Settings,
    ready: watch::Receiver<bool>,
    shutdown: impl Future<Output = ()>,
) -> Result<Stopped, ServeError> {
    let (serving, health) = Health::new(&api.names);
    // Now and not by the first report: a connection may be answered before that.
    serving.send_replace(Serving::when(*ready.borrow()));
    let routes = reflection::add(api.routes, &api.names, api.descriptors)?.add_service(health);

    let times = TimeLimits { unless_given: settings.request_timeout, longest: settings.longest_timeout };
    let mut stopping = serving.subscribe();
    let stop = drain(serving, ready, shutdown, settings.drain_delay);
    let serve = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .http2_max_header_list_size(Some(MAX_HEADER_LIST))
        .max_concurrent_streams(settings.max_streams)
        .layer(layers::layers(api.access, times, api.limits, api.metrics))
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming(listener), stop);

    // tonic waits without end for open streams, and for a peer that sent the HTTP/2 preface and went silent.
    let deadline = async {
        // An error means that the sender is gone, which it is only when nothing more is accepted.
        let _ = stopping.wait_for(|state| *state == Serving::Ended).await;
        tokio::time::sleep(settings.drain_timeout).await;
    };
    tokio::select! {
        served = serve => served.map(|()| Stopped::Drained).map_err(ServeError::from),
        () = deadline => Ok(Stopped::TimedOut),
    }
}

/// Reports health until `shutdown`, then that it is going, and completes when no more connections are to be accepted.
async fn drain(
    serving: watch::Sender<Serving>,
    ready: watch::Receiver<bool>,
    shutdown: impl Future<Output = ()>,
    delay: Duration,
) {
    tokio::select! {
        () = shutdown => {}
        never = report(&serving, ready) => match never {},
    }
    serving.send_replace(Serving::No);
    tokio::time::sleep(delay).await;
    serving.send_replace(Serving::Ended);
}

/// Reports readiness as it changes, without end.
async fn report(serving: &watch::Sender<Serving>, mut ready: watch::Receiver<bool>) -> Infallible {
    loop {
        let now = Serving::when(*ready.borrow_and_update());
        serving.send_if_modified(|state| std::mem::replace(state, now) != now);
        if ready.changed().await.is_err() {
            // Nobody is left to change it.
            return std::future::pending().await;
        }
    }
}

/// Accepted connections.
fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<Socket>> {
    // Without TCP_NODELAY a reply of more than one segment waits for the peer's delayed acknowledgement, 40 ms.
    TcpIncoming::from(listener).with_nodelay(Some(true)).then(async |accepted| {
        if let Err(error) = &accepted {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_BACK_OFF).await;
        }
        accepted.map(Socket)
    })
}
