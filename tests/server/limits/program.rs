//! The program with its metrics on.

use super::monitoring::{request, samples};
use super::raw::Raw;
use mancala::wire::proto;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use tonic::Code;

/// Killed when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it, and gives the addresses of the service and of the metrics.
fn serve(folder: &std::path::Path, drain_delay: &str) -> (Program, SocketAddr, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(folder.join("games.db"));
    command.env_clear().env("MANCALA_METRICS__LISTEN", "127.0.0.1:0").env("MANCALA_SERVER__DRAIN_DELAY", drain_delay);
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut address = |before: &str, after: &str| {
        let line = lines.next().expect("a line").expect("text");
        let address = line.split_once(before).and_then(|(_, rest)| rest.split_once(after)).expect("an address").0;
        address.parse().expect("an address")
    };
    let (service, metrics) = (address("listening on ", ","), address("metrics on http://", "/metrics"));
    (Program(child), service, metrics)
}

#[tokio::test]
async fn what_is_done_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_program, service, metrics) = serve(folder.path(), "0s");
    let raw = Raw::connect(service).await;
    let session_id = "table-1".to_owned();
    let create = proto::CreateSessionRequest { game: "gore".to_owned(), session_id: session_id.clone(), ..Default::default() };
    assert_eq!(raw.call("/mancala.v1.SessionService/CreateSession", &[], &create).await.status().code(), Code::Ok);
    for (text, code) in [("0", Code::Ok), ("1", Code::FailedPrecondition), ("4", Code::Ok)] {
        let r#move = Some(proto::Move { text: text.to_owned(), kind: None });
        let apply = proto::ApplyMoveRequest { session_id: session_id.clone(), r#move, ..Default::default() };
        assert_eq!(raw.call("/mancala.v1.SessionService/ApplyMove", &[], &apply).await.status().code(), code);
    }
    assert_eq!(request(metrics, "GET", "/readyz").await.0, "HTTP/1.1 200 OK");
    let (_, text) = request(metrics, "GET", "/metrics").await;
    let samples = samples(&text);
    for (series, expected) in [
        (&*format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0),
        ("calls_total{method=\"mancala.v1.SessionService/ApplyMove\",code=\"OK\"}", 2.0),
        ("calls_rejected_total{reason=\"PIT_NOT_YOURS\"}", 1.0),
        ("sessions_created_total", 1.0),
        ("events_appended_total", 3.0),
        ("session_cache_hits_total", 3.0),
        ("session_cache_misses_total", 0.0),
        ("session_cache_size", 1.0),
        ("store_commit_seconds_count", 3.0),
        ("store_batch_writes_sum", 3.0),
        ("store_queued_writes", 0.0),
        ("store_writable", 1.0),
        ("watchers", 0.0),
        ("compute_running", 0.0),
        ("compute_waiting", 0.0),
        ("sessions_timed_out_total", 0.0),
        ("sessions_expired_total", 0.0),
    ] {
        assert_eq!(samples.get(&format!("mancala_{series}")), Some(&expected), "{series} in:\n{text}");
    }
    // Sessions are counted at the start, which may have been before there was one.
    assert!(samples["mancala_sessions{state=\"active\"}"] <= 1.0);
}

#[tokio::test]
async fn a_server_that_stops_is_not_ready_but_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut program, _, metrics) = serve(folder.path(), "1h");
    assert_eq!(request(metrics, "GET", "/readyz").await.0, "HTTP/1.1 200 OK");
    let terminate = |program: &Program| Command::new("kill").args(["-TERM", &program.0.id().to_string()]).status();
    assert!(terminate(&program).expect("kill runs").success());
    let unready = async { while !request(metrics, "GET", "/readyz").await.0.contains("503") {} };
    tokio::time::timeout(super::running::PATIENCE, unready).await.expect("in time");
    assert_eq!(request(metrics, "GET", "/livez").await.0, "HTTP/1.1 200 OK");
    // It does not wait for the hour to pass.
    assert!(terminate(&program).expect("kill runs").success());
    assert!(program.0.wait().expect("an end").code().is_some());
}
