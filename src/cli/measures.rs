//! What a server shows of itself as metrics: all of it is named here.

use crate::cli::open_store::Opened;
use crate::server::{self, CallMetrics, Metrics, process};
use crate::service::{Census, Compute, Count, Counts, Sessions};
use crate::store::Health;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sessions are counted no more often than this,
const CENSUS_EVERY: Duration = Duration::from_secs(15);
/// and never for more than a hundredth of the time.
const CENSUS_REST: u32 = 100;

/// The parts of a server that are measured.
pub struct Parts {
    pub store: Opened,
    pub sessions: Sessions,
    pub compute: Compute,
    pub calls: CallMetrics,
    pub connections: Arc<server::Counts>,
}

/// Names everything that is measured of these parts.
pub fn register(metrics: &mut Metrics, parts: &Parts) {
    let Parts { store, sessions, compute, calls, connections } = parts;
    let build = Family::<[(&str, &str); 1], Gauge>::default();
    build.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
    metrics.registry().register("build_info", "The program's version", build);
    process::register(metrics);
    calls.register(metrics.registry());
    of_connections(metrics, connections);
    of_store(metrics, store);
    of_sessions(metrics, sessions);
    let running = compute.clone();
    metrics.gauge("compute_running", "Long computations that run", move || running.running() as f64);
    let waiting = compute.clone();
    metrics.gauge("compute_waiting", "Calls whose long computations run or wait", move || waiting.waiting() as f64);
}

fn of_connections(metrics: &mut Metrics, counts: &Arc<server::Counts>) {
    let read = |count: fn(&server::Counts) -> &server::Count| {
        let counts = counts.clone();
        move || count(&counts).get() as f64
    };
    metrics.gauge("connections_open", "Connections that are open", read(|counts| &counts.open));
    metrics.gauge("streams_open", "Calls of HTTP/2 that are not answered to their end", read(|counts| &counts.streams));
    metrics.counter("connections_accepted", "Connections that were let in", read(|counts| &counts.accepted));
    metrics.counters(
        "connections_refused",
        "Connections that were refused because there were too many",
        "why",
        [("total", read(|counts| &counts.refused_in_total)), ("address", read(|counts| &counts.refused_by_address))],
    );
    metrics.counters(
        "connections_cut",
        "Connections that were closed for what their peers did or left undone",
        "why",
        [
            ("silent", read(|counts| &counts.silent)),
            ("unruly", read(|counts| &counts.unruly)),
            ("breach", read(|counts| &counts.breaches)),
            ("tls", read(|counts| &counts.tls_failures)),
        ],
    );
    metrics.counter("connections_aged", "Connections that were told to go for their age", read(|counts| &counts.aged));
    metrics.counter("streams_stalled", "Answers that were given up because nobody took them", read(|counts| &counts.stalled));
    metrics.counter("accept_pauses", "Pauses of accepting for want of descriptors or memory", read(|counts| &counts.back_offs));
    metrics.counter("tls_reloads", "Certificates that were taken over", read(|counts| &counts.tls_reloads));
    metrics.counter(
        "tls_reload_failures",
        "Certificates that could not be taken over",
        read(|counts| &counts.tls_reload_failures),
    );
}

fn of_store(metrics: &mut Metrics, opened: &Opened) {
    let measured = opened.metrics.clone();
    let commit = "Time that a commit takes until it is on the disk";
    metrics.registry().register("store_commit_seconds", commit, measured.commit_seconds);
    metrics.registry().register("store_batch_writes", "Writes of one commit", measured.batch_writes);
    let queued = opened.queued.clone();
    metrics.gauge("store_queued_writes", "Writes that are queued or under way", move || queued() as f64);
    let health = opened.store.health();
    metrics.gauge("store_writable", "1 while the store can be written, 0 while it can't", move || {
        f64::from(u8::from(*health.borrow() == Health::Writable))
    });
}

fn of_sessions(metrics: &mut Metrics, sessions: &Sessions) {
    let mut count = |name, help, read: fn(&Counts) -> &Count| {
        let sessions = sessions.clone();
        metrics.counter(name, help, move || read(sessions.counts()).get() as f64);
    };
    count("sessions_created", "Sessions that were made or imported", |counts| &counts.created);
    count("events_appended", "Events that were stored", |counts| &counts.events);
    count("session_cache_hits", "Looks for a session that found it in memory", |counts| &counts.cache_hits);
    count("session_cache_misses", "Looks for a session that had to read it", |counts| &counts.cache_misses);
    count("sessions_timed_out", "Sessions whose overdue clocks were found in the background", |counts| &counts.timed_out);
    count("sessions_expiry_announced", "Sessions whose end retention has announced", |counts| &counts.announced);
    count("sessions_expired", "Sessions that retention has deleted", |counts| &counts.expired);
    let watchers = sessions.clone();
    metrics.gauge("watchers", "Watchers of single sessions", move || watchers.watchers().0 as f64);
    let watched = sessions.clone();
    metrics.gauge("watched_sessions", "Sessions that they watch", move || watched.watchers().1 as f64);
    let cached = sessions.clone();
    metrics.gauge("session_cache_size", "Sessions with a place in memory", move || cached.cached() as f64);
}

/// Shows how many sessions there are in each state.
pub fn states(metrics: &mut Metrics) -> States {
    let states = States::default();
    metrics.registry().register("sessions", "Sessions by state, counted now and then", states.clone());
    states
}

/// Numbers of sessions by state.
pub type States = Family<[(&'static str, &'static str); 1], Gauge>;

/// Counts sessions again and again.
pub async fn count_sessions(sessions: Sessions, states: States) -> Infallible {
    loop {
        let begun = Instant::now();
        match sessions.census().await {
            Ok(Census { active, finished, aborted }) => {
                for (state, number) in [("active", active), ("finished", finished), ("aborted", aborted)] {
                    states.get_or_create(&[("state", state)]).set(i64::try_from(number).unwrap_or(i64::MAX));
                }
            }
            Err(error) => tracing::warn!(%error, "sessions could not be counted; trying again"),
        }
        tokio::time::sleep(CENSUS_EVERY.max(begun.elapsed() * CENSUS_REST)).await;
    }
}
