//! A server under test, and callers of it.

use mancala::server::{self, Api, Settings};
use mancala::service::{Compute, Secret, Sessions, SystemClock};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::wire::access::Access;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use mancala::wire::{RulesHandlers, SessionHandlers, StreamSettings, rules_service, session_service};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_types::StatusExt;

/// Shows a token with every call.
#[derive(Clone)]
pub struct Bearer(Option<String>);

impl Bearer {
    pub fn new(token: Option<&str>) -> Bearer {
        Bearer(token.map(str::to_owned))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a value"));
        }
        Ok(request)
    }
}

pub type Client = SessionServiceClient<InterceptedService<Channel, Bearer>>;

/// A server that runs as long as its test.
pub struct Running {
    pub channel: Channel,
    /// Its sessions, to look at beside it.
    pub sessions: Sessions,
    /// An operator's key.
    pub key: String,
    _folder: tempfile::TempDir,
    _ready: watch::Sender<bool>,
}

/// Starts a server in token mode, or in open mode.
pub async fn start(with_tokens: bool) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("games.db"), Options::default()).expect("a store");
    let sessions = Sessions::new(Arc::new(store), Arc::new(SystemClock::default()), 64);
    let secret = Secret::new_token();
    let operators = BTreeMap::from([("ops".to_owned(), secret.hash())]);
    let access = if with_tokens { Access::tokens(operators, sessions.clone()) } else { Access::open() };
    let compute = Compute::new(2);
    let api = Api::new(FILE_DESCRIPTOR_SET, access)
        .with(rules_service(RulesHandlers::new(compute.clone())))
        .with(session_service(SessionHandlers::new(sessions.clone(), compute, StreamSettings::new(watch::channel(false).1))));

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (ready, is_ready) = watch::channel(true);
    let patience = Duration::from_secs(20);
    let settings =
        Settings { request_timeout: patience, longest_timeout: patience, drain_timeout: patience, ..Settings::default() };
    tokio::spawn(server::serve(listener, api, settings, is_ready, watch::channel(false).0, std::future::pending()));
    let channel = Endpoint::from_shared(format!("http://{address}")).expect("an address").connect().await.expect("a connection");
    Running { channel, sessions, key: secret.operator_key("ops"), _folder: folder, _ready: ready }
}

impl Running {
    /// A client that shows a token, or none.
    pub fn client(&self, token: Option<&str>) -> Client {
        SessionServiceClient::with_interceptor(self.channel.clone(), Bearer::new(token))
    }

    pub fn operator(&self) -> Client {
        self.client(Some(&self.key))
    }

    /// Makes a session; gives its id and its secrets.
    pub async fn make(&self, request: proto::CreateSessionRequest) -> Made {
        let reply = self.operator().create_session(request).await.expect("a session").into_inner();
        Made { id: reply.session.expect("it").session_id, secrets: reply.secrets }
    }
}

/// A session that was made.
pub struct Made {
    pub id: String,
    pub secrets: Vec<proto::SeatSecret>,
}

impl Made {
    pub fn token(&self, seat: proto::Seat) -> String {
        self.secret(seat).token
    }

    pub fn join_code(&self, seat: proto::Seat) -> String {
        self.secret(seat).join_code
    }

    fn secret(&self, seat: proto::Seat) -> proto::SeatSecret {
        self.secrets.iter().find(|secret| secret.seat() == seat).expect("a secret of that seat").clone()
    }
}

/// What is asked for a session of Goré with these seats and spectators.
pub fn gore<const N: usize>(
    seats: [proto::SeatSetup; N],
    policy: proto::SpectatorPolicy,
    delay_plies: u32,
) -> proto::CreateSessionRequest {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    proto::CreateSessionRequest {
        game: "gore".to_owned(),
        session_id: format!("table-{:06}", NUMBER.fetch_add(1, Ordering::Relaxed)),
        seats: seats.to_vec(),
        spectators: Some(proto::Spectators { policy: policy.into(), delay_plies }),
        ..Default::default()
    }
}

/// A seat with a token.
pub fn with_token(seat: proto::Seat) -> proto::SeatSetup {
    proto::SeatSetup { seat: seat.into(), issue_token: true, ..Default::default() }
}

/// A seat to be claimed.
pub fn with_join_code(seat: proto::Seat) -> proto::SeatSetup {
    proto::SeatSetup { seat: seat.into(), issue_join_code: true, ..Default::default() }
}

/// A move in text.
pub fn play(session_id: &str, text: &str) -> proto::ApplyMoveRequest {
    let r#move = Some(proto::Move { text: text.to_owned(), kind: None });
    proto::ApplyMoveRequest { session_id: session_id.to_owned(), r#move, ..Default::default() }
}

/// The reason of an error.
pub fn reason(status: &Status) -> String {
    status.get_details_error_info().expect("a reason").reason
}

/// The reason why a call failed.
pub fn refused<T: std::fmt::Debug>(outcome: Result<T, Status>) -> String {
    reason(&outcome.expect_err("it should be refused"))
}
