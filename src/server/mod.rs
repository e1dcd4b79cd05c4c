//! Connections, health, reflection, what every call has in common, and a stop that ends.

mod accept;
mod api;
mod breach;
mod connection;
mod counts;
mod descriptors;
mod first_bytes;
mod frames;
mod gate;
mod guard;
mod health;
mod layers;
mod log;
mod measure;
mod metrics;
mod monitor;
mod observe;
mod only_calls;
mod overdue;
mod peer;
mod places;
pub mod process;
mod rates;
mod reflection;
mod reload;
mod room;
mod services;
mod settings;
pub mod signal;
mod socket;
mod stall;
mod tls;
mod trace;
mod turn;
mod web;

pub use api::Api;
pub use counts::{Count, Counts};
pub use descriptors::fit as connections_that_fit;
pub use layers::Limits;
pub use measure::CallMetrics;
pub use metrics::Metrics;
pub use monitor::monitor;
pub use rates::{Rate, Rates};
pub use settings::{ConnectionSettings, Settings, TlsSettings, WebSettings};
pub use tls::TlsError;

use crate::server::connection::{Host, Phase};
use crate::server::health::{Health, Serving};
use crate::server::layers::Calls;
use crate::server::only_calls::OnlyCalls;
use crate::server::places::Places;
use crate::server::reload::Reload;
use crate::server::tls::{Files, Tls};
use crate::wire::deadline::TimeLimits;
use http::{Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic_web::GrpcWebLayer;
use tower::{Service, ServiceBuilder, service_fn};

/// Once connections are refused, streams have so long to end by themselves before their connections are told to go.
const STREAMS_END: Duration = Duration::from_secs(2);
/// How often it is looked whether they have.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Time that connections have to close at the end of the drain timeout.
const CLOSE: Duration = Duration::from_millis(100);

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every call was finished and every connection closed.
    Drained,
    /// Some connections were still open at the end of the drain timeout, and were closed.
    TimedOut,
}

/// Why a server could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The descriptors of the services do not fit together.
    #[error("the services can't be described by reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// Connections can't be encrypted.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Serves `api`, health and reflection on `listener` until `shutdown` completes, then drains and returns.
///
/// Health reports SERVING while `ready` is true. From `shutdown` on it reports NOT_SERVING; after [`Settings::drain_delay`]
/// connections are refused and `stopping` becomes true, at which streams are to end by themselves within two seconds. When
/// they have, open connections are told to go away and finish the calls in flight, and within [`Settings::drain_timeout`] this
/// returns, whatever peers do.
///
/// # Errors
/// When it can't begin.
pub async fn serve(
    listener: TcpListener,
    api: Api,
    settings: Settings,
    ready: watch::Receiver<bool>,
    stopping: watch::Sender<bool>,
    shutdown: impl Future<Output = ()>,
) -> Result<Stopped, ServeError> {
    let (serving, health) = Health::new(&api.names);
    // Now and not by the first report: a connection may be answered before that.
    serving.send_replace(Serving::when(*ready.borrow()));
    let services = reflection::add(api.services, &api.names, api.descriptors, stopping.subscribe())?.with(health);
    let times = TimeLimits { unless_given: settings.request_timeout, longest: settings.longest_timeout };
    let calls = Arc::new(Calls::new(Api { services, ..api }, times));

    let (tls, reload) = settings.tls.clone().map(Reload::start).transpose()?.unzip();
    let stop = announce_stop(&serving, ready, shutdown, settings.drain_delay);
    let server = Server { listener, settings, tls, reload, stopping, serving: serving.clone() };
    Ok(match server.settings.web.as_ref().map(web::cors) {
        Some(cors) => {
            let answer = move |request| {
                let answer = Box::pin(calls.clone().answer(request));
                async move { Ok(answer.await.map(Body::new)) }
            };
            let calls = ServiceBuilder::new().layer(cors).layer_fn(OnlyCalls).layer(GrpcWebLayer::new());
            server.run(calls.service(service_fn(answer)), true, stop).await
        }
        None => {
            let answer = move |request| {
                // Boxed here, since hyper copies what it is given several times on its way to a task.
                let answer = Box::pin(calls.clone().answer(request));
                async move { Ok(answer.await) }
            };
            server.run(service_fn(answer), false, stop).await
        }
    })
}

/// Whether a server could begin with these settings, as far as that can be known before it does.
///
/// # Errors
/// Those that [`serve`] would fail with.
pub fn check(settings: &Settings) -> Result<(), ServeError> {
    if let Some(files) = &settings.tls {
        tls::configuration(files, &Files::read(files)?)?;
    }
    Ok(())
}

/// A server that is set up.
struct Server {
    listener: TcpListener,
    settings: Settings,
    tls: Option<Tls>,
    reload: Option<Reload>,
    stopping: watch::Sender<bool>,
    serving: watch::Sender<Serving>,
}

impl Server {
    async fn run<S, B>(self, service: S, web: bool, stop: impl Future<Output = ()>) -> Stopped
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes, Error = Status> + Send + Unpin + 'static,
    {
        let Self { listener, settings, tls, reload, stopping, serving } = self;
        let (phase, _) = watch::channel(Phase::Serving);
        let places = Places::new(settings.connections.max_connections, settings.connections.max_connections_per_address);
        let counts = settings.counts.clone();
        let host = Arc::new(Host { service, web, tls, settings: settings.connections, counts: counts.clone() });
        let accept = accept::accept(&listener, &places, &counts, |stream, peer, place| {
            let connection = connection::serve(host.clone(), stream, peer, phase.subscribe());
            tokio::spawn(async move {
                connection.await;
                drop(place);
            });
        });
        let renew = async {
            match reload {
                Some(reload) => reload.run(counts.clone()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {}
            never = accept => match never {},
            never = renew => match never {},
        }
        drop(listener);
        serving.send_replace(Serving::Ended);
        stopping.send_replace(true);

        let drained = async {
            let _ = tokio::time::timeout(STREAMS_END, no_streams(&counts)).await;
            phase.send_replace(Phase::Leaving);
            // Every connection watches it.
            phase.closed().await;
        };
        if tokio::time::timeout(settings.drain_timeout, drained).await.is_ok() {
            return Stopped::Drained;
        }
        phase.send_replace(Phase::Over);
        // Those that don't close even now end with the runtime.
        let _ = tokio::time::timeout(CLOSE, phase.closed()).await;
        Stopped::TimedOut
    }
}

async fn no_streams(counts: &Counts) {
    while counts.streams.get() > 0 {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Reports health until `shutdown`, then that it is going, and completes when no more connections are to be accepted.
async fn announce_stop(
    serving: &watch::Sender<Serving>,
    ready: watch::Receiver<bool>,
    shutdown: impl Future<Output = ()>,
    delay: Duration,
) {
    tokio::select! {
        () = shutdown => {}
        never = report(serving, ready) => match never {},
    }
    serving.send_replace(Serving::No);
    tokio::time::sleep(delay).await;
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
