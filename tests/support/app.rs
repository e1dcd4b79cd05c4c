//! A server in this process, over a store in a folder of its own and a clock that tests set, and the verbs to use it with.

// Each test binary uses a part of it.
#![allow(dead_code)]

use mancala::server::{self, Api, ServeError, Settings, Stopped};
use mancala::service::{Clock, Compute, Sessions};
use mancala::session::Micros;
use mancala::store::Store;
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::wire::access::Access;
use mancala::wire::proto::rules_service_client::RulesServiceClient;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use mancala::wire::reason::Reason;
use mancala::wire::{self, RulesHandlers, SessionHandlers, StreamSettings};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

/// Far longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A clock that stands until it is set.
#[derive(Debug)]
pub struct FakeClock(AtomicI64);

impl FakeClock {
    pub fn set(&self, time: Micros) {
        self.0.store(time, Ordering::SeqCst);
    }

    pub fn advance(&self, by: Micros) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Micros {
        self.0.load(Ordering::SeqCst)
    }
}

/// What clocks show at first: 2020-09-13 12:26:40 UTC.
pub const START: Micros = 1_600_000_000_000_000;

/// A running server.
pub struct App {
    pub clock: Arc<FakeClock>,
    folder: Arc<TempDir>,
    cached: usize,
    /// What the server works with.
    pub service: Sessions,
    pub store: Arc<SqliteStore>,
    channel: Channel,
    endpoint: Endpoint,
    streams: StreamSettings,
    /// Ends streams as a stop of the server does.
    pub stopping: watch::Sender<bool>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Stopped, ServeError>>,
}

impl App {
    pub async fn start() -> App {
        App::with_cache(64).await
    }

    /// A server that keeps so many sessions in memory.
    pub async fn with_cache(cached: usize) -> App {
        App::with(cached, |_| {}).await
    }

    /// A server whose streams behave otherwise.
    pub async fn with_streams(change: impl FnOnce(&mut StreamSettings)) -> App {
        App::with(64, change).await
    }

    /// A server that reaches its store through something. Started again it reaches the store itself.
    pub async fn wrapped(wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> App {
        App::anew(64, |_| {}, wrap).await
    }

    async fn with(cached: usize, change: impl FnOnce(&mut StreamSettings)) -> App {
        App::anew(cached, change, |store| store).await
    }

    async fn anew(
        cached: usize,
        change: impl FnOnce(&mut StreamSettings),
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> App {
        let folder = Arc::new(TempDir::new().expect("a folder"));
        let mut streams = StreamSettings::new(watch::channel(false).1);
        change(&mut streams);
        App::over(folder, cached, Arc::new(FakeClock(AtomicI64::new(START))), streams, wrap).await
    }

    async fn over(
        folder: Arc<TempDir>,
        cached: usize,
        clock: Arc<FakeClock>,
        streams: StreamSettings,
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> App {
        let (stopping, stopped) = watch::channel(false);
        let streams = StreamSettings { stopping: stopped, ..streams };
        let store = SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens");
        let store = Arc::new(store);
        let sessions = Sessions::new(wrap(store.clone()), clock.clone(), cached);
        let compute = Compute::new(1);
        let api = Api::new(FILE_DESCRIPTOR_SET, Access::open())
            .with(wire::rules_service(RulesHandlers::new(compute.clone())))
            .with(wire::session_service(SessionHandlers::new(sessions.clone(), compute, streams.clone())));
        let mut settings =
            Settings { request_timeout: PATIENCE, longest_timeout: PATIENCE, drain_timeout: PATIENCE, ..Settings::default() };
        settings.connections.max_streams = 512;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let (_, ready) = watch::channel(true);
        let stopped = async { stopped.await.unwrap_or_default() };
        let served = tokio::spawn(server::serve(listener, api, settings, ready, stopping.clone(), stopped));
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        let channel = endpoint.connect().await.expect("a connection");
        App { clock, folder, cached, service: sessions, store, channel, endpoint, streams, stopping, stop, served }
    }

    /// Stops the server, and starts another one over what it has stored.
    pub async fn restart(self) -> App {
        let App { clock, folder, cached, service: _, store, channel, endpoint: _, streams, stopping, stop, served } = self;
        drop(channel);
        stopping.send_replace(true);
        stop.send(()).expect("a running server");
        served.await.expect("no panic").expect("no failure");
        store.close().await;
        drop(store);
        App::over(folder, cached, clock, streams, |store| store).await
    }

    pub fn clock_now(&self) -> Micros {
        self.clock.now()
    }

    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Where the server is.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    pub fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel())
    }

    pub fn rules(&self) -> RulesServiceClient<Channel> {
        RulesServiceClient::new(self.channel()).max_decoding_message_size(usize::MAX)
    }

    /// Makes a session and gives its id.
    pub async fn create(&self, game: &str) -> String {
        self.make(proto::CreateSessionRequest { game: game.to_owned(), ..Default::default() }).await.session_id
    }

    /// Makes a session that begins at a position.
    pub async fn create_at(&self, position: &str) -> String {
        let game = position.split(' ').next().expect("a game").to_owned();
        let request = proto::CreateSessionRequest { game, position: position.to_owned(), ..Default::default() };
        self.make(request).await.session_id
    }

    pub async fn make(&self, request: proto::CreateSessionRequest) -> proto::Session {
        body(self.sessions().create_session(request).await).session.expect("a session")
    }

    /// Plays a move that must be legal.
    pub async fn play(&self, session_id: &str, mv: &str) -> proto::ApplyMoveResponse {
        body(self.sessions().apply_move(apply(session_id, mv)).await)
    }

    /// A session as it is.
    pub async fn session(&self, session_id: &str) -> proto::Session {
        let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version: None };
        body(self.sessions().get_session(request).await).session.expect("a session")
    }

    /// A session as it was.
    pub async fn session_at(&self, session_id: &str, version: u32) -> proto::Session {
        let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version: Some(version) };
        body(self.sessions().get_session(request).await).session.expect("a session")
    }

    /// All events of a session, read in pages.
    pub async fn events(&self, session_id: &str, page_size: u32, include_steps: bool) -> Vec<proto::Event> {
        let mut events: Vec<proto::Event> = Vec::new();
        loop {
            let after_version = events.last().map_or(0, |event| event.version);
            let request = proto::ListEventsRequest { session_id: session_id.to_owned(), after_version, page_size, include_steps };
            let page = body(self.sessions().list_events(request).await);
            assert!(page.events.len() <= page_size as usize);
            events.extend(page.events);
            if events.last().is_some_and(|last| last.version == page.version) {
                return events;
            }
        }
    }

    /// Legal moves of a session, as text.
    pub async fn legal_moves(&self, session_id: &str) -> Vec<String> {
        let request = proto::ListLegalMovesRequest { session_id: session_id.to_owned() };
        let listed = body(self.sessions().list_legal_moves(request).await);
        listed.moves.into_iter().map(|mv| mv.text).collect()
    }
}

/// A request to play a move that is given as text.
pub fn apply(session_id: &str, mv: &str) -> proto::ApplyMoveRequest {
    proto::ApplyMoveRequest { session_id: session_id.to_owned(), r#move: text(mv), ..Default::default() }
}

/// A move as text.
pub fn text(mv: &str) -> Option<proto::Move> {
    Some(proto::Move { kind: None, text: mv.to_owned() })
}

/// What a call answered, which must not be an error.
pub fn body<T>(answer: Result<Response<T>, Status>) -> T {
    answer.unwrap_or_else(|status| panic!("{:?}: {}", status.code(), status.message())).into_inner()
}

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub reason: String,
    pub facts: BTreeMap<String, String>,
    /// Faulty fields, each once.
    pub fields: Vec<String>,
}

impl Refusal {
    pub fn fact(&self, name: &str) -> &str {
        &self.facts[name]
    }
}

/// What a call was refused for, which must be all that every error is.
pub fn refusal<T>(answer: Result<Response<T>, Status>) -> Refusal {
    let Err(status) = answer else { panic!("it was not refused") };
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("no ErrorInfo: {status:?}"));
    assert_eq!(info.domain, "mancala.v1");
    assert!(status.message().starts_with(&format!("{}: ", info.reason)), "{}", status.message());
    let reason = Reason::ALL.iter().find(|reason| reason.name() == info.reason);
    let reason = reason.unwrap_or_else(|| panic!("{} is not in the table", info.reason));
    assert_eq!(reason.code(), status.code(), "{reason:?}");
    let facts: BTreeMap<_, _> = info.metadata.into_iter().collect();
    let mut named: Vec<_> = reason.facts().to_vec();
    named.sort_unstable();
    assert_eq!(facts.keys().collect::<Vec<_>>(), named, "{reason:?}");
    assert_eq!(status.get_details_retry_info().is_some(), status.code() == Code::Unavailable, "{reason:?}");
    let faults = status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
    let mut fields: Vec<_> = faults.into_iter().map(|fault| fault.field).collect();
    fields.dedup();
    Refusal { code: status.code(), reason: info.reason, facts, fields }
}

/// The fields that a malformed request was refused for.
pub fn faulty_fields<T>(answer: Result<Response<T>, Status>) -> Vec<String> {
    let refusal = refusal(answer);
    assert_eq!(refusal.reason, "INVALID_REQUEST");
    assert_eq!(refusal.fact("fields").split(',').next(), refusal.fields.first().map(String::as_str));
    refusal.fields
}
