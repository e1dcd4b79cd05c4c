//! `mancala serve`.

use crate::cli::Failure;
use crate::cli::config_args::ConfigArgs;
use crate::cli::measures::{self, Parts};
use crate::cli::open_store;
use crate::config::{AuthMode, Config};
use crate::server::signal::{Hangup, StopSignals};
use crate::server::{self, Api, CallMetrics, Metrics, Stopped};
use crate::service::{Compute, Sessions, SystemClock};
use crate::store::{Health, Location};
use crate::telemetry;
use crate::wire::access::Access;
use crate::wire::proto::FILE_DESCRIPTOR_SET;
use crate::wire::{self, RulesHandlers, SessionHandlers};
use std::convert::Infallible;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// How often rounds that are lost by time are looked for. Whoever looks at such a session ends its round at once.
const TIME_KEPT_EVERY: Duration = Duration::from_secs(1);
/// So many tasks have their turn before a thread looks for what has arrived. At tokio's 61 a call waits behind as many floods, and its
/// slowest hundredth takes twice as long meanwhile; fewer cost nothing that can be measured.
const EVENT_INTERVAL: u32 = 8;
/// Time that the last traces have to be sent once the server has stopped.
const TELEMETRY_STOP: Duration = Duration::from_secs(1);
/// Time that background work has to end once the server has stopped.
const RUNTIME_STOP: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let config = args.config.load()?;
    let runtime = runtime(&config).map_err(|error| Failure::run(format!("threads can't be started: {error}")))?;
    let telemetry = {
        let _in_runtime = runtime.enter();
        telemetry::init(&config.log, &config.telemetry).map_err(Failure::run)?
    };
    let served = runtime.block_on(serve(&config));
    telemetry.finish(TELEMETRY_STOP);
    // Connections of peers that are still there end here.
    runtime.shutdown_timeout(RUNTIME_STOP);
    served
}

/// What calls are answered in. One thread would be quicker in the runtime that is made for one. But there it also accepts connections, and a
/// crowd of watchers waits behind that.
fn runtime(config: &Config) -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(config.server.worker_threads()).event_interval(EVENT_INTERVAL).enable_all().build()
}

async fn serve(config: &Config) -> Result<(), Failure> {
    let signals = StopSignals::listen().map_err(|error| Failure::run(format!("signals can't be listened to: {error}")))?;
    // Where certificates may be renewed, SIGHUP is never what ends the process, not even before there is anything to renew.
    let _hangup = config.tls.is_on().then(Hangup::listen);
    let mut settings = config.settings();
    settings.connections.max_connections = server::connections_that_fit(settings.connections.max_connections);
    config.check_files().map_err(Failure::run)?;
    let mut stopped = Box::pin(stop(signals));
    // A file may take its time to be checked, and a database that does not answer takes all of it.
    let opened = tokio::select! {
        opened = open_store::open(&config.store) => opened?,
        () = &mut stopped => {
            tracing::info!("stopped before the store was open");
            return Ok(());
        }
    };
    let store = opened.store.clone();
    let listener =
        TcpListener::bind(config.server.listen).await.map_err(|error| cannot_listen("--listen", config.server.listen, &error))?;
    let address = listener.local_addr().map_err(Failure::run)?;

    let sessions = Sessions::new(store.clone(), Arc::new(SystemClock::default()), config.store.cached_sessions)
        .limited(config.limits.calls_in_flight, config.limits.open_sessions as usize);
    let sweep = config.retention.retention().map(|retention| {
        let every = config.retention.sweep_every;
        tokio::spawn(sessions.clone().keep_swept(retention, every))
    });
    let timekeeper = tokio::spawn(sessions.clone().keep_time(TIME_KEPT_EVERY));
    let informer = tokio::spawn(sessions.clone().keep_informed());
    let (stopping, stop_streams) = watch::channel(false);
    let compute = Compute::new(config.server.worker_threads());
    let access = match config.auth.mode {
        AuthMode::Open => Access::open(),
        AuthMode::Token => Access::tokens(config.auth.keys(), sessions.clone()),
    };
    let calls = CallMetrics::default();
    let api = Api::new(FILE_DESCRIPTOR_SET, access)
        .limited(config.limits.limits())
        .counted(calls.clone())
        .with(wire::rules_service(RulesHandlers::new(compute.clone())))
        .with(wire::session_service(SessionHandlers::new(
            sessions.clone(),
            compute.clone(),
            config.streams.settings(stop_streams),
        )));

    let (ready, readiness) = watch::channel(*store.health().borrow() == Health::Writable);
    let parts = Parts { store: opened, sessions, compute, calls, connections: settings.counts.clone() };
    let (leaving, leaves) = watch::channel(false);
    let watched = watch_over(config, parts, readiness.clone(), leaves).await?;
    let (broken, breaks) = oneshot::channel();
    tokio::spawn(follow(store.health(), ready, broken));
    let stop = async {
        tokio::select! {
            () = stopped => {}
            Ok(()) = breaks => tracing::error!("the store is broken; stopping"),
        }
        leaving.send_replace(true);
    };

    announce(address, watched.as_ref().map(|(address, _)| *address), config);
    if cfg!(debug_assertions) {
        tracing::info!(
            "built without optimisation, which is enough to play: to serve others or to measure, build with --release"
        );
    }
    let served = server::serve(listener, api, settings, readiness, stopping, stop).await;
    // Wherever this cuts it, the next look goes on from there.
    timekeeper.abort();
    informer.abort();
    if let Some(sweep) = sweep {
        // Wherever this cuts it, the next sweep goes on from there.
        sweep.abort();
    }
    if let Some((_, mut watched)) = watched {
        watched.shutdown().await;
    }
    let intact = *store.health().borrow() != Health::Broken;
    store.close().await;
    match served.map_err(Failure::run)? {
        Stopped::Drained => tracing::info!("stopped"),
        Stopped::TimedOut => tracing::warn!("stopped; connections that were still open are cut"),
    }
    if intact { Ok(()) } else { Err(Failure::run("the store is broken; its log lines say how. Restore a backup")) }
}

/// Shows metrics, and whether the server can serve, on a port of their own if one is set. Gives its address, and what runs for it.
async fn watch_over(
    config: &Config,
    parts: Parts,
    ready: watch::Receiver<bool>,
    leaving: watch::Receiver<bool>,
) -> Result<Option<(SocketAddr, JoinSet<Infallible>)>, Failure> {
    let Some(listen) = config.metrics.listen else { return Ok(None) };
    let listener = TcpListener::bind(listen).await.map_err(|error| cannot_listen("metrics.listen", listen, &error))?;
    let address = listener.local_addr().map_err(Failure::run)?;
    let mut metrics = Metrics::default();
    measures::register(&mut metrics, &parts);
    let states = measures::states(&mut metrics);
    let mut tasks = JoinSet::new();
    tasks.spawn(server::monitor(listener, Arc::new(metrics), move || *ready.borrow() && !*leaving.borrow()));
    tasks.spawn(measures::count_sessions(parts.sessions, states));
    Ok(Some((address, tasks)))
}

/// Reports the store's health as the server's readiness. A broken store stops the server.
async fn follow(mut health: watch::Receiver<Health>, ready: watch::Sender<bool>, broken: oneshot::Sender<()>) {
    loop {
        let now = *health.borrow_and_update();
        ready.send_replace(now == Health::Writable);
        match now {
            Health::Writable => {}
            Health::Unwritable => tracing::warn!("the store can't be written; not serving until it can"),
            Health::Broken => {
                // Nobody listens any more only when the server stops already.
                let _ = broken.send(());
                return;
            }
        }
        if health.changed().await.is_err() {
            return;
        }
    }
}

/// Tells whoever started the server where it is and how to try it, in lines of their own that logs don't mix with.
fn announce(address: SocketAddr, metrics: Option<SocketAddr>, config: &Config) {
    // Whoever only tries need not say whose certificate it is.
    let how = if config.tls.is_on() { "-insecure" } else { "-plaintext" };
    let mut lines = format!(
        "mancala {} listening on {address}, data in {}; \
         try: grpcurl {how} {address} mancala.v1.RulesService/ListGames",
        env!("CARGO_PKG_VERSION"),
        match config.store.location() {
            Location::Sqlite(path) => path.display().to_string(),
            database => database.to_string(),
        },
    );
    if let Some(metrics) = metrics {
        lines += &format!("\nmetrics on http://{metrics}/metrics");
    }
    // A server whose output nobody reads is to serve all the same.
    let _ = writeln!(io::stdout(), "{lines}");
}

/// Completes at the first signal. A second one ends the process at once.
async fn stop(mut signals: StopSignals) {
    let (first, stop) = oneshot::channel();
    tokio::spawn(async move {
        let name = signals.next().await;
        tracing::info!(signal = name, "stopping; another signal stops at once");
        // The receiver is gone only if serving has failed, which ends the process anyway.
        let _ = first.send(());
        let name = signals.next().await;
        tracing::warn!(signal = name, "stopped at once; calls in flight are cut");
        std::process::exit(1);
    });
    // An error would mean that the task was cut off, which happens only when the runtime stops.
    let _ = stop.await;
}

/// `setting` is what another address is given by.
fn cannot_listen(setting: &str, address: SocketAddr, error: &io::Error) -> Failure {
    Failure::run(match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{address} is taken: another program listens there, perhaps another mancala. \
             Stop it, or choose another port with {setting} {}:PORT (0: any that is free)",
            address.ip()
        ),
        ErrorKind::PermissionDenied => {
            format!("{address} may not be listened on by this user: choose a port above 1023 with {setting}")
        }
        ErrorKind::AddrNotAvailable => {
            format!("{} is not an address of this machine: choose another with {setting}", address.ip())
        }
        _ => format!("{address} can't be listened on: {error}"),
    })
}
