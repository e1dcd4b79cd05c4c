//! Calls as spans: whose trace they belong to, what they say, and that they arrive at a collector.
#![cfg(feature = "otel")]

#[path = "support/process.rs"]
mod process;

use http::{Request, Response};
use http_body_util::BodyExt;
use mancala::server::{self, Api, Settings};
use mancala::service::{Compute, Sessions, SystemClock};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::telemetry::trace_layer;
use mancala::wire::access::Access;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use mancala::wire::{SessionHandlers, StreamSettings, session_service};
use opentelemetry::trace::{SpanId, SpanKind, Status, TraceId};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanData, SpanExporter};
use process::Process;
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tracing_subscriber::layer::SubscriberExt;

/// Far longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Keeps spans as they end.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("no panic").extend(batch);
        Ok(())
    }
}

impl Kept {
    fn take(&self, name: &str) -> SpanData {
        let mut spans = self.0.lock().expect("no panic");
        let place = spans.iter().position(|span| span.name == name);
        let place = place.unwrap_or_else(|| panic!("no {name} among {spans:?}"));
        spans.swap_remove(place)
    }
}

fn attribute(span: &SpanData, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.unwrap_or_else(|| panic!("no {key}: {span:?}")).value.to_string()
}

/// A server in this thread.
async fn start(folder: &tempfile::TempDir) -> SessionServiceClient<Channel> {
    let store = SqliteStore::open(&folder.path().join("games.db"), Options::default()).expect("a store");
    let sessions = Sessions::new(Arc::new(store), Arc::new(SystemClock::default()), 64);
    let (_, never) = watch::channel(false);
    let handlers = SessionHandlers::new(sessions, Compute::new(1), StreamSettings::new(never));
    let api = Api::new(FILE_DESCRIPTOR_SET, Access::open()).with(session_service(handlers));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let settings =
        Settings { request_timeout: PATIENCE, longest_timeout: PATIENCE, drain_timeout: PATIENCE, ..Settings::default() };
    let (_, ready) = watch::channel(true);
    tokio::spawn(server::serve(listener, api, settings, ready, watch::channel(false).0, std::future::pending()));
    let channel = Endpoint::from_shared(format!("http://{address}")).expect("an address").connect().await.expect("a connection");
    SessionServiceClient::new(channel)
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn create(game: &str) -> tonic::Request<proto::CreateSessionRequest> {
    tonic::Request::new(proto::CreateSessionRequest { game: game.to_owned(), ..Default::default() })
}

#[tokio::test]
async fn a_call_is_a_span_of_its_callers_trace() {
    let kept = Kept::default();
    let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOff));
    let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).with_sampler(sampler).build();
    // The runtime of this test has one thread, so the server's spans come here too.
    let _tracing = tracing::subscriber::set_default(tracing_subscriber::registry().with(trace_layer(&provider)));
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = start(&folder).await;

    let name = "mancala.v1.SessionService/CreateSession";
    let traced = |game: &str, flags: &str| {
        let mut request = create(game);
        let parent = format!("00-{TRACE}-{PARENT}-{flags}");
        request.metadata_mut().insert("traceparent", parent.parse().expect("a value"));
        request.metadata_mut().insert("tracestate", "vendor=state".parse().expect("a value"));
        request
    };
    let answer = client.create_session(traced("gore", "01")).await.expect("a session");
    let span = kept.take(name);
    assert_eq!(span.span_context.trace_id(), TraceId::from_hex(TRACE).expect("an id"));
    assert_eq!(span.parent_span_id, SpanId::from_hex(PARENT).expect("an id"));
    assert_eq!(span.span_context.trace_state().get("vendor"), Some("state"));
    assert_eq!((span.span_kind.clone(), span.status.clone()), (SpanKind::Server, Status::Unset));
    let attributes = ["rpc.system", "rpc.service", "rpc.method", "rpc.grpc.status_code"].map(|key| attribute(&span, key));
    assert_eq!(attributes, ["grpc", "mancala.v1.SessionService", "CreateSession", "0"]);
    let told = answer.metadata().get("traceparent").expect("our span").to_str().expect("text");
    assert_eq!(told, format!("00-{TRACE}-{}-01", span.span_context.span_id()));
    assert!(answer.metadata().get("tracestate").is_none());
    let write = kept.take("store.write");
    assert_eq!(
        (write.parent_span_id, write.span_context.trace_id()),
        (span.span_context.span_id(), span.span_context.trace_id())
    );

    // What is the caller's fault is told by its code, and is no error of the server's.
    let status = client.create_session(traced("chess", "01")).await.expect_err("no such game");
    let span = kept.take(name);
    assert_eq!((attribute(&span, "rpc.grpc.status_code"), span.status), ("3".to_owned(), Status::Unset));
    assert!(status.metadata().get("traceparent").is_some());

    // The caller decides; if it does not, the server's ratio does, which is zero here.
    client.create_session(traced("gore", "00")).await.expect("a session");
    client.create_session(create("gore")).await.expect("a session");
    assert!(kept.0.lock().expect("no panic").is_empty());
}

/// Keeps what it is sent.
#[derive(Clone)]
struct Collector(mpsc::UnboundedSender<Vec<u8>>);

impl NamedService for Collector {
    const NAME: &'static str = "opentelemetry.proto.collector.trace.v1.TraceService";
}

impl Service<Request<Body>> for Collector {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sent = self.0.clone();
        Box::pin(async move {
            let bytes = request.into_body().collect().await.expect("a message").to_bytes();
            sent.send(bytes.to_vec()).expect("the test waits");
            // An empty message.
            let body = http_body_util::Full::from(&b"\0\0\0\0\0"[..]).with_trailers(async {
                Some(Ok([("grpc-status".parse().expect("a name"), "0".parse().expect("a value"))].into_iter().collect()))
            });
            Ok(Response::builder().header("content-type", "application/grpc").body(Body::new(body)).expect("an answer"))
        })
    }
}

/// Runs the program for one call, stops it, which must go well, and gives its logs.
async fn serve_one_call(collector: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(folder.path().join("games.db"));
    command.env_clear().env("MANCALA_TELEMETRY__OTLP_ENDPOINT", collector);
    command.env("MANCALA_TELEMETRY__SERVICE_NAME", "games-of-the-test");
    let mut program = Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts"));
    let mut line = String::new();
    BufReader::new(program.0.stdout.take().expect("piped")).read_line(&mut line).expect("its first line");
    let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0;
    let channel = Endpoint::from_shared(format!("http://{address}")).expect("an address").connect().await.expect("a connection");
    SessionServiceClient::new(channel).create_session(create("gore")).await.expect("a session");
    let stopped = Command::new("kill").args(["-TERM", &program.0.id().to_string()]).status().expect("kill runs");
    assert!(stopped.success());
    let ended = tokio::task::spawn_blocking(|| program.end()).await.expect("no panic");
    let logs = String::from_utf8(ended.stderr).expect("text");
    assert!(ended.status.success(), "{logs}");
    logs
}

#[tokio::test]
async fn a_collector_that_is_away_keeps_nobody_waiting() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let logs = tokio::time::timeout(PATIENCE, serve_one_call(&format!("http://{closed}"))).await.expect("an end in time");
    assert!(logs.contains("stopped"), "{logs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_sends_its_spans_before_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let collector = listener.local_addr().expect("an address");
    let (sender, mut received) = mpsc::unbounded_channel();
    let incoming = TcpIncoming::from(listener);
    tokio::spawn(Server::builder().add_service(Collector(sender)).serve_with_incoming(incoming));

    let logs = serve_one_call(&format!("http://{collector}")).await;
    assert!(!logs.contains("could not be sent"), "{logs}");

    let mut all = Vec::new();
    while let Ok(bytes) = received.try_recv() {
        all.extend(bytes);
    }
    for part in ["games-of-the-test", "mancala.v1.SessionService/CreateSession", "store.write", "rpc.grpc.status_code"] {
        assert!(all.windows(part.len()).any(|bytes| bytes == part.as_bytes()), "{part} has not arrived");
    }
}
