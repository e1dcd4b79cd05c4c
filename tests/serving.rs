//! The server layer over real sockets: health, reflection, what guards a call, what is logged, and how it stops.
//! A program of its own, since what is logged depends on what other tests of the same process let be logged.
#![cfg(feature = "server")]

use mancala::server::{self, Api, ServeError, Settings, Stopped};
use mancala::wire::access::Access;
use mancala::wire::proto::rules_service_client::RulesServiceClient;
use mancala::wire::proto::rules_service_server::{RulesService, RulesServiceServer};
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use prost::Message;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1, v1alpha};
use tonic_types::StatusExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

/// Far longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);
const RULES: &str = "mancala.v1.RulesService";

/// A service whose calls end as a test wants them to.
#[derive(Clone, Default)]
struct Scripted {
    entered: Arc<Notify>,
    release: Arc<Notify>,
}

#[tonic::async_trait]
impl RulesService for Scripted {
    /// Answers when the test says so.
    async fn list_games(&self, _: Request<proto::ListGamesRequest>) -> Result<Response<proto::ListGamesResponse>, Status> {
        self.entered.notify_one();
        self.release.notified().await;
        Ok(Response::new(proto::ListGamesResponse::default()))
    }

    /// Names a session and answers.
    async fn get_game(&self, _: Request<proto::GetGameRequest>) -> Result<Response<proto::GetGameResponse>, Status> {
        tracing::Span::current().record("session_id", "s-1");
        Ok(Response::new(proto::GetGameResponse::default()))
    }

    /// Names a session and refuses.
    async fn list_position_moves(
        &self,
        _: Request<proto::ListPositionMovesRequest>,
    ) -> Result<Response<proto::ListPositionMovesResponse>, Status> {
        tracing::Span::current().record("session_id", "s-2");
        Err(Status::failed_precondition("no"))
    }

    /// Panics.
    async fn list_reasons(&self, _: Request<proto::ListReasonsRequest>) -> Result<Response<proto::ListReasonsResponse>, Status> {
        panic!("a fault in a handler");
    }

    /// Refuses.
    async fn verify_record(
        &self,
        _: Request<proto::VerifyRecordRequest>,
    ) -> Result<Response<proto::VerifyRecordResponse>, Status> {
        Err(Status::unimplemented("no script"))
    }

    /// Never answers.
    async fn step_positions(
        &self,
        _: Request<proto::StepPositionsRequest>,
    ) -> Result<Response<proto::StepPositionsResponse>, Status> {
        std::future::pending().await
    }

    /// Says that it can't.
    async fn playout_positions(
        &self,
        _: Request<proto::PlayoutPositionsRequest>,
    ) -> Result<Response<proto::PlayoutPositionsResponse>, Status> {
        Err(Status::unavailable("not now"))
    }
}

/// A server under test.
struct Running {
    address: SocketAddr,
    service: Scripted,
    ready: watch::Sender<bool>,
    stopping: watch::Receiver<bool>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Stopped, ServeError>>,
}

async fn start(change: impl FnOnce(&mut Settings)) -> Running {
    let mut settings =
        Settings { request_timeout: PATIENCE, longest_timeout: PATIENCE, drain_timeout: PATIENCE, ..Settings::default() };
    change(&mut settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = Scripted::default();
    let api = Api::new(FILE_DESCRIPTOR_SET, Access::open()).with(RulesServiceServer::new(service.clone()));
    let (ready, is_ready) = watch::channel(true);
    let (stopping, is_stopping) = watch::channel(false);
    let (stop, stopped) = oneshot::channel();
    let shutdown = async { stopped.await.expect("a signal to stop") };
    let served = tokio::spawn(server::serve(listener, api, settings, is_ready, stopping, shutdown));
    Running { address, service, ready, stopping: is_stopping, stop, served }
}

impl Running {
    async fn channel(&self) -> Channel {
        Endpoint::from_shared(format!("http://{}", self.address)).expect("an address").connect().await.expect("a connection")
    }

    async fn rules(&self) -> RulesServiceClient<Channel> {
        RulesServiceClient::new(self.channel().await)
    }

    async fn health(&self) -> HealthClient<Channel> {
        HealthClient::new(self.channel().await)
    }

    /// Tells the server to stop, and how it did.
    async fn stop(self) -> Stopped {
        self.stop.send(()).expect("a running server");
        timeout(PATIENCE, self.served).await.expect("an end in time").expect("no panic").expect("no failure")
    }
}

fn ask(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

/// A peer that speaks enough HTTP/2 to be taken in and is then silent.
async fn silent_peer(address: SocketAddr) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.expect("a connection");
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.expect("the preface is taken");
    socket.write_all(&empty_settings).await.expect("settings are taken");
    // The server's settings tell that it has the connection.
    socket.read_exact(&mut [0; 9]).await.expect("settings");
    socket
}

#[tokio::test]
async fn health_answers_for_the_server_and_each_service() {
    let server = start(|_| {}).await;
    let mut health = server.health().await;
    for service in ["", RULES] {
        let status = health.check(ask(service)).await.expect("an answer").into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service:?}");
    }
    assert_eq!(health.check(ask("mancala.v1.Nothing")).await.expect_err("unknown").code(), Code::NotFound);

    server.ready.send(false).expect("a running server");
    let mut watch = health.watch(ask(RULES)).await.expect("a stream").into_inner();
    while watch.next().await.expect("a message").expect("no error").status() != ServingStatus::NotServing {}
    for service in ["", RULES] {
        let status = health.check(ask(service)).await.expect("an answer").into_inner().status();
        assert_eq!(status, ServingStatus::NotServing, "{service:?}");
    }
}

#[tokio::test]
async fn a_health_watch_tells_each_change_and_ends_with_the_server() {
    let server = start(|settings| settings.drain_delay = Duration::from_millis(100)).await;
    let mut health = server.health().await;
    let mut watch = health.watch(ask(RULES)).await.expect("a stream").into_inner();
    let mut unknown = health.watch(ask("mancala.v1.Nothing")).await.expect("a stream").into_inner();
    assert_eq!(unknown.next().await.expect("a message").expect("no error").status(), ServingStatus::ServiceUnknown);

    let mut told =
        async || timeout(PATIENCE, watch.next()).await.expect("in time").map(|answer| answer.expect("no error").status());
    assert_eq!(told().await, Some(ServingStatus::Serving));
    server.ready.send(false).expect("a running server");
    assert_eq!(told().await, Some(ServingStatus::NotServing));
    server.ready.send(true).expect("a running server");
    assert_eq!(told().await, Some(ServingStatus::Serving));

    let stopped = tokio::spawn(server.stop());
    assert_eq!(told().await, Some(ServingStatus::NotServing));
    assert_eq!(told().await, None);
    assert_eq!(stopped.await.expect("no panic"), Stopped::Drained);
}

/// Asks reflection one question and gives its answer; the two versions differ in nothing but the package.
macro_rules! reflect {
    ($version:ident, $channel:expr, $question:ident($argument:expr)) => {{
        use $version::server_reflection_request::MessageRequest;
        let question = MessageRequest::$question($argument.to_owned());
        let request = $version::ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let mut client = $version::server_reflection_client::ServerReflectionClient::new($channel);
        let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.expect("a stream").into_inner();
        answers.next().await.expect("an answer").expect("no error").message_response.expect("a body")
    }};
}

macro_rules! check_reflection {
    ($version:ident) => {{
        use $version::server_reflection_response::MessageResponse;
        let server = start(|_| {}).await;
        let listed = reflect!($version, server.channel().await, ListServices(""));
        let MessageResponse::ListServicesResponse(listed) = listed else { panic!("{listed:?}") };
        let mut names: Vec<_> = listed.service.into_iter().map(|service| service.name).collect();
        names.sort();
        let reflection = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];
        assert_eq!(names, ["grpc.health.v1.Health", reflection[0], reflection[1], RULES]);

        let wanted = [
            ("google.rpc.ErrorInfo", "google.rpc"),
            ("google.rpc.BadRequest", "google.rpc"),
            ("google.rpc.Status", "google.rpc"),
            ("google.protobuf.Duration", "google.protobuf"),
            ("google.protobuf.Timestamp", "google.protobuf"),
            ("grpc.health.v1.Health", "grpc.health.v1"),
            ("mancala.v1.RulesService", "mancala.v1"),
            ("mancala.v1.Position", "mancala.v1"),
        ];
        for (symbol, package) in wanted {
            let found = reflect!($version, server.channel().await, FileContainingSymbol(symbol));
            let MessageResponse::FileDescriptorResponse(found) = found else { panic!("{symbol}: {found:?}") };
            let file = prost_types::FileDescriptorProto::decode(&*found.file_descriptor_proto[0]).expect("a descriptor");
            assert_eq!(file.package(), package, "{symbol}");
            // A tool must be able to load what the file imports.
            for import in file.dependency {
                let found = reflect!($version, server.channel().await, FileByFilename(&*import));
                assert!(matches!(found, MessageResponse::FileDescriptorResponse(_)), "{symbol} imports {import}: {found:?}");
            }
        }
    }};
}

#[tokio::test]
async fn reflection_v1_describes_what_is_served_and_errors() {
    check_reflection!(v1);
}

#[tokio::test]
async fn reflection_v1alpha_describes_what_is_served_and_errors() {
    check_reflection!(v1alpha);
}

#[tokio::test]
async fn a_call_in_flight_is_finished_after_new_connections_are_refused() {
    let server = start(|_| {}).await;
    let (address, service, mut stopping) = (server.address, server.service.clone(), server.stopping.clone());
    assert!(!*stopping.borrow());
    let mut rules = server.rules().await;
    let call = tokio::spawn(async move { rules.list_games(proto::ListGamesRequest {}).await });
    service.entered.notified().await;

    let stopped = tokio::spawn(server.stop());
    stopping.wait_for(|stopping| *stopping).await.expect("streams are told to end");
    TcpStream::connect(address).await.expect_err("connections are refused by then");
    assert!(!call.is_finished() && !stopped.is_finished());

    service.release.notify_one();
    call.await.expect("no panic").expect("an answer");
    assert_eq!(stopped.await.expect("no panic"), Stopped::Drained);
}

#[tokio::test]
async fn a_peer_that_is_silent_does_not_hold_the_server() {
    let server = start(|settings| settings.drain_timeout = Duration::from_millis(200)).await;
    let peer = silent_peer(server.address).await;
    assert_eq!(server.stop().await, Stopped::TimedOut);
    drop(peer);
}

#[tokio::test]
async fn a_stream_that_its_caller_keeps_open_does_not_hold_the_server() {
    let server = start(|settings| settings.drain_timeout = Duration::from_millis(200)).await;
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(server.channel().await);
    let stream = client.server_reflection_info(tokio_stream::pending()).await.expect("a stream");
    assert_eq!(server.stop().await, Stopped::TimedOut);
    drop(stream);
}

#[tokio::test]
async fn the_drain_delay_goes_on_serving() {
    let server = start(|settings| settings.drain_delay = Duration::from_millis(300)).await;
    let mut health = server.health().await;
    let mut watch = health.watch(ask("")).await.expect("a stream").into_inner();
    let fresh = async || Endpoint::from_shared(format!("http://{}", server.address)).expect("an address").connect().await;
    fresh().await.expect("a connection");

    server.stop.send(()).expect("a running server");
    while watch.next().await.expect("a message").expect("no error").status() != ServingStatus::NotServing {}
    let mut late = RulesServiceClient::new(fresh().await.expect("a connection while balancers take notice"));
    late.get_game(proto::GetGameRequest::default()).await.expect("an answer");
    let stopped = timeout(PATIENCE, server.served).await.expect("an end").expect("no panic").expect("no failure");
    assert_eq!(stopped, Stopped::Drained);
}

#[tokio::test]
async fn a_panic_is_an_internal_error_of_that_call_alone() {
    let server = start(|_| {}).await;
    let mut rules = server.rules().await;
    let status = rules.list_reasons(proto::ListReasonsRequest {}).await.expect_err("a panic");
    assert_eq!(status.code(), Code::Internal);
    assert!(!status.message().contains("a fault in a handler"), "{}", status.message());
    assert_eq!(status.get_details_error_info().expect("a reason").reason, "INTERNAL");
    rules.get_game(proto::GetGameRequest::default()).await.expect("the connection goes on");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended() {
    let server = start(|settings| settings.request_timeout = Duration::from_millis(50)).await;
    let status = server.rules().await.step_positions(proto::StepPositionsRequest::default()).await.expect_err("a time limit");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let info = status.get_details_error_info().expect("a reason");
    assert_eq!(info.reason, "DEADLINE_EXCEEDED");
    assert_eq!(info.metadata["limit_ms"], "50");
}

#[tokio::test]
async fn more_metadata_than_allowed_is_refused() {
    let server = start(|_| {}).await;
    let mut rules = server.rules().await;
    let mut with = async |length: usize| {
        let mut request = Request::new(proto::GetGameRequest::default());
        request.metadata_mut().insert("x-long", "a".repeat(length).parse().expect("a value"));
        rules.get_game(request).await
    };
    with(12 * 1024).await.expect("an answer");
    with(20 * 1024).await.expect_err("too much");
}

/// Log lines of a thread, as they are written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes one call of each kind and gives the level, method, session and code of the lines that are logged.
async fn lines_of_calls(filter: &str) -> Vec<[String; 4]> {
    let lines = Lines::default();
    let writer = lines.clone();
    let lines_to_writer = tracing_subscriber::fmt::layer().json().with_writer(move || writer.clone());
    let filter: Targets = filter.parse().expect("a filter");
    // The runtime of this test has one thread, so the server's lines come here too.
    let _logging = tracing::subscriber::set_default(tracing_subscriber::registry().with(filter).with(lines_to_writer));

    let server = start(|settings| settings.request_timeout = Duration::from_millis(50)).await;
    let mut rules = server.rules().await;
    rules.get_game(proto::GetGameRequest::default()).await.expect("an answer");
    rules.list_position_moves(proto::ListPositionMovesRequest::default()).await.expect_err("a refusal");
    rules.playout_positions(proto::PlayoutPositionsRequest::default()).await.expect_err("a failure");
    rules.list_reasons(proto::ListReasonsRequest {}).await.expect_err("a panic");
    rules.step_positions(proto::StepPositionsRequest::default()).await.expect_err("a time limit");
    let mut watch = server.health().await.watch(ask("")).await.expect("a stream").into_inner();
    watch.next().await.expect("a message").expect("no error");
    let stopped = tokio::spawn(server.stop());
    while watch.next().await.is_some() {}
    drop((rules, watch));
    assert_eq!(stopped.await.expect("no panic"), Stopped::Drained);

    let text = String::from_utf8(lines.0.lock().expect("no panic").clone()).expect("text");
    text.lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|line| line["span"]["name"] == "call")
        .map(|line| {
            assert!(line["fields"]["duration_ms"].as_f64().is_some_and(|time| time >= 0.0), "{line}");
            let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
            [&line["level"], &line["span"]["method"], &line["span"]["session_id"], &line["fields"]["code"]].map(text)
        })
        .collect()
}

// One test for all filters: loggers of several threads at once get in each other's way.
#[tokio::test]
async fn every_call_is_one_line_with_its_level_unless_the_filter_is_above_it() {
    let expected = [
        ["DEBUG", "mancala.v1.RulesService/GetGame", "s-1", "OK"],
        ["INFO", "mancala.v1.RulesService/ListPositionMoves", "s-2", "FAILED_PRECONDITION"],
        ["WARN", "mancala.v1.RulesService/PlayoutPositions", "-", "UNAVAILABLE"],
        ["WARN", "mancala.v1.RulesService/ListReasons", "-", "INTERNAL"],
        ["WARN", "mancala.v1.RulesService/StepPositions", "-", "DEADLINE_EXCEEDED"],
        ["DEBUG", "grpc.health.v1.Health/Watch", "-", "OK"],
    ];
    // What another test logs for the first time just when a logger comes may not know of it. By then all has been logged once.
    lines_of_calls("mancala=debug").await;
    tracing::callsite::rebuild_interest_cache();
    assert_eq!(lines_of_calls("mancala=debug").await, expected);
    assert_eq!(lines_of_calls("mancala=info").await, expected[1..5]);
    assert_eq!(lines_of_calls("mancala=warn").await, expected[2..5]);
    assert_eq!(lines_of_calls("mancala=error").await, [[""; 4]; 0]);
}
