//! A server under test, with limits.

use super::planted::Planted;
use super::raw::Raw;
use mancala::server::{self, Api, CallMetrics, Limits, Metrics, Settings, WebSettings};
use mancala::service::{Compute, Secret, Sessions, SystemClock};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::wire::access::Access;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use mancala::wire::{RulesHandlers, SessionHandlers, StreamSettings, rules_service, session_service};
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint};

/// Far longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What is not as usual.
pub struct Given {
    pub limits: Limits,
    pub request_timeout: Duration,
    pub longest_timeout: Duration,
    pub changes: usize,
    pub open_sessions: usize,
    pub with_tokens: bool,
    pub web: Option<WebSettings>,
}

impl Default for Given {
    fn default() -> Given {
        Given {
            limits: Limits::default(),
            request_timeout: PATIENCE,
            longest_timeout: PATIENCE,
            changes: 0,
            open_sessions: 0,
            with_tokens: false,
            web: None,
        }
    }
}

/// A server that runs as long as its test.
pub struct Running {
    pub address: SocketAddr,
    pub started: Instant,
    pub raw: Raw,
    pub sessions: Sessions,
    pub compute: Compute,
    pub calls: CallMetrics,
    pub folder: tempfile::TempDir,
    keys: [(&'static str, Secret); 2],
    _ready: watch::Sender<bool>,
}

pub async fn start(given: Given) -> Running {
    let Given { limits, request_timeout, longest_timeout, changes, open_sessions, with_tokens, web } = given;
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { busy_timeout: PATIENCE, ..Options::default() };
    let store = SqliteStore::open(&folder.path().join("games.db"), options).expect("a store");
    let sessions = Sessions::new(Arc::new(store), Arc::new(SystemClock::default()), 64).limited(changes, open_sessions);
    let keys = ["ops", "night"].map(|name| (name, Secret::new_token()));
    let operators = keys.iter().map(|(name, secret)| ((*name).to_owned(), secret.hash())).collect();
    let access = if with_tokens { Access::tokens(operators, sessions.clone()) } else { Access::open() };
    let (_, never) = watch::channel(false);
    let (compute, calls) = (Compute::new(1), CallMetrics::default());
    let api = Api::new(FILE_DESCRIPTOR_SET, access)
        .limited(limits)
        .counted(calls.clone())
        .with(rules_service(RulesHandlers::new(compute.clone())))
        .with(session_service(SessionHandlers::new(sessions.clone(), compute.clone(), StreamSettings::new(never))))
        .with(Planted);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, started) = (listener.local_addr().expect("an address"), Instant::now());
    let (ready, is_ready) = watch::channel(true);
    let settings = Settings { request_timeout, longest_timeout, drain_timeout: PATIENCE, web, ..Settings::default() };
    // Its descriptors don't know the planted service, which reflection does not mind.
    tokio::spawn(async move {
        server::serve(listener, api, settings, is_ready, watch::channel(false).0, std::future::pending())
            .await
            .expect("it serves");
    });
    let raw = Raw::connect(address).await;
    Running { address, started, raw, sessions, compute, calls, folder, keys, _ready: ready }
}

impl Running {
    /// The metadata by which an operator is known: "ops" or "night".
    pub fn key(&self, operator: &str) -> String {
        let (name, secret) = self.keys.iter().find(|(name, _)| *name == operator).expect("an operator");
        format!("Bearer {}", secret.operator_key(name))
    }

    /// A connection for generated clients.
    pub async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).expect("an address");
        endpoint.connect().await.expect("a connection")
    }

    /// A session of Ayoayo, which anybody makes in open mode.
    pub async fn make(&self) -> String {
        let request = proto::CreateSessionRequest { game: "ayoayo".to_owned(), ..Default::default() };
        let answer = self.raw.call("/mancala.v1.SessionService/CreateSession", &[], &request).await;
        let made = proto::CreateSessionResponse::decode(answer.messages[0].clone()).expect("an answer");
        made.session.expect("a session").session_id
    }

    /// What the metric of this name and labels has come to, as it is shown.
    pub fn metric(&self, sample: &str) -> Option<f64> {
        let mut metrics = Metrics::default();
        self.calls.register(metrics.registry());
        let text = metrics.text();
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
        Some(line.parse().expect("a number"))
    }

    /// Keeps the store from writing until it is dropped.
    pub fn pause_store(&self) -> rusqlite::Connection {
        let other = rusqlite::Connection::open(self.folder.path().join("games.db")).expect("the file");
        other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        other
    }
}

/// Waits until something is so.
pub async fn until(what: impl Fn() -> bool) {
    let waiting = async {
        while !what() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time");
}
