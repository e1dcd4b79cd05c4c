//! `mancala bench` against a server: what it counts is what is stored, and what it is given is checked.
#![cfg(all(feature = "server", unix))]

#[path = "support/process.rs"]
mod process;

use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{ListSessionsRequest, Session, SessionState};
use process::Process;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tonic::transport::Channel;

const APPLY: &str = "apply";
/// Far longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

fn mancala(folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command.env_clear().env("XDG_DATA_HOME", folder.path()).env("HOME", folder.path());
    command
}

/// A running `mancala serve`, ended when it is dropped.
struct Server {
    process: Process,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = mancala(&folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process(command.spawn().expect("the program"));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0;
        Server { process, address: address.parse().expect("an address"), folder }
    }

    /// `mancala bench` of this server.
    fn bench(&self, flags: &[&str]) -> Command {
        let mut command = mancala(&self.folder);
        command.args(["bench", "--json", "--address", &self.address.to_string()]).args(flags);
        command
    }

    async fn client(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::connect(format!("http://{}", self.address)).await.expect("a connection")
    }
}

/// The sessions of a run, or of all.
async fn sessions(client: &mut SessionServiceClient<Channel>, bench: Option<&str>) -> Vec<Session> {
    let labels = bench.map(|bench| ("bench".to_owned(), bench.to_owned())).into_iter().collect();
    let mut request = ListSessionsRequest { labels, page_size: 1_000, ..Default::default() };
    let mut all = Vec::new();
    loop {
        let page = client.list_sessions(request.clone()).await.expect("a page").into_inner();
        all.extend(page.sessions);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

/// Moves among a session's events: all but its creation and the two of its end.
fn moves(session: &Session) -> u64 {
    let end = if session.state() == SessionState::Finished { 2 } else { 0 };
    u64::from(session.version) - 1 - end
}

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[tokio::test]
async fn moves_acknowledged_are_moves_stored() {
    let server = Server::start();
    let flags = [
        "--duration",
        "1s",
        "--concurrency",
        "8",
        "--connections",
        "2",
        "--sessions",
        "20",
        "--calls",
        "apply=8,legal=1,get=1,health=1",
    ];
    let output = server.bench(&flags).output().expect("the program");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    assert_eq!(
        (count(&report["failed"]), &report["errors"], &report["interrupted"]),
        (0, &Value::Array(Vec::new()), &Value::Bool(false))
    );
    assert!(report["seconds"].as_f64().is_some_and(|seconds| (1.0..10.0).contains(&seconds)), "{report}");

    let by_call = report["by_call"].as_object().expect("kinds of calls");
    assert_eq!(by_call.values().map(|calls| count(&calls["succeeded"])).sum::<u64>(), count(&report["calls"]));
    for name in [APPLY, "legal", "get", "health"] {
        let latency = &by_call[name]["latency_us"];
        let order = ["p50", "p90", "p99", "p99_9", "max"].map(|name| count(&latency[name]));
        assert!(order[0] > 0 && order.is_sorted(), "{name}: {latency}");
    }

    let stored = sessions(&mut server.client().await, report["bench"].as_str()).await;
    assert_eq!(stored.iter().map(moves).sum::<u64>(), count(&by_call[APPLY]["succeeded"]));
    let replaced = by_call.get("create").map_or(0, |calls| count(&calls["succeeded"]));
    assert_eq!(stored.len() as u64, 20 + replaced);
    let mut games: Vec<_> = stored.iter().map(|session| &*session.game).collect();
    games.sort_unstable();
    games.dedup();
    assert_eq!(games, ["ali_guli_mane", "ayoayo", "gore", "hoyito3", "kiothi"]);
}

/// On streams sessions have several moves on their way, each drawn before the last one is answered.
#[tokio::test]
async fn moves_acknowledged_on_streams_are_moves_stored() {
    let server = Server::start();
    let flags = ["--stream", "--duration", "1s", "--concurrency", "50", "--connections", "2", "--sessions", "20"];
    let output = server.bench(&flags).output().expect("the program");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    assert_eq!((count(&report["failed"]), count(&report["sessions"])), (0, 20), "{report}");
    let by_call = report["by_call"].as_object().expect("kinds of calls");
    let stored = sessions(&mut server.client().await, report["bench"].as_str()).await;
    assert_eq!(stored.iter().map(moves).sum::<u64>(), count(&by_call[APPLY]["succeeded"]));
    let replaced = by_call.get("create").map_or(0, |calls| count(&calls["succeeded"]));
    assert_eq!(stored.len() as u64, 20 + replaced);
    assert!(stored.iter().any(|session| moves(session) > 2), "several moves of a session");
}

#[tokio::test]
async fn a_rate_is_kept_and_only_the_games_that_are_named_are_played() {
    let server = Server::start();
    let flags = ["--duration", "1s", "--rate", "50", "--concurrency", "4", "--games", "gore,kiothi"];
    let output = server.bench(&flags).output().expect("the program");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    let due = count(&report["calls"]) + count(&report["unstarted"]);
    let most = 50.0 * report["seconds"].as_f64().expect("seconds") + 1.0;
    // A machine that is busy with other things may wake the bench late.
    assert!((25.0..=most).contains(&(due as f64)), "{report}");
    let stored = sessions(&mut server.client().await, report["bench"].as_str()).await;
    assert!(stored.iter().all(|session| ["gore", "kiothi"].contains(&&*session.game)), "{stored:?}");
    assert_eq!(stored.iter().map(moves).sum::<u64>(), count(&report["by_call"][APPLY]["succeeded"]));
}

/// Starts a bench without end, and waits until it plays.
async fn start_playing(server: &Server) -> Process {
    start_playing_by(server, &[]).await
}

async fn start_playing_by(server: &Server, flags: &[&str]) -> Process {
    let mut bench = server.bench(&["--duration", "1h", "--concurrency", "4"]);
    let bench = bench.args(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    let (mut bench, mut client) = (Process(bench), server.client().await);
    let plays = async {
        loop {
            if sessions(&mut client, None).await.iter().any(|session| moves(session) > 0) {
                return true;
            }
            if bench.has_ended() {
                return false;
            }
            tokio::task::yield_now().await;
        }
    };
    let plays = tokio::time::timeout(PATIENCE, plays).await.expect("it plays in time");
    assert!(plays, "it ended before it had played: {:?}", bench.end());
    bench
}

fn interrupt(bench: &Process) {
    let kill = format!("kill -INT {}", bench.0.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
}

#[tokio::test]
async fn an_interrupt_ends_it_with_its_report() {
    let server = Server::start();
    let bench = start_playing(&server).await;
    interrupt(&bench);
    let output = bench.end();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = report(&output);
    assert_eq!((&report["interrupted"], count(&report["failed"])), (&Value::Bool(true), 0));
    let stored = sessions(&mut server.client().await, None).await;
    assert_eq!(stored.iter().map(moves).sum::<u64>(), count(&report["by_call"][APPLY]["succeeded"]));
}

#[tokio::test]
async fn a_server_that_goes_away_is_failed_calls_with_their_code_and_an_exit_code() {
    for flags in [&[][..], &["--stream"]] {
        a_server_goes_away(flags).await;
    }
}

async fn a_server_goes_away(flags: &[&str]) {
    let mut server = Server::start();
    let bench = start_playing_by(&server, flags).await;
    server.process.0.kill().expect("it can be killed");
    server.process.0.wait().expect("its end");
    interrupt(&bench);
    let output = bench.end();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = report(&output);
    let errors = report["errors"].as_array().expect("errors");
    assert!(count(&report["failed"]) > 0 && errors.iter().all(|error| error["code"] != "OK"), "{report}");
    assert_eq!(errors.iter().map(|error| count(&error["count"])).sum::<u64>(), count(&report["failed"]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("calls failed"), "{output:?}");
}

#[test]
fn where_no_server_answers_it_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    // Taken and given back: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address");
    let output = mancala(&folder).args(["bench", "--address", &address.to_string()]).output().expect("the program");
    assert_eq!(output.status.code(), Some(1));
    let problem = String::from_utf8_lossy(&output.stderr);
    for part in [&*format!("no server answers at {address}"), "mancala serve", "--address"] {
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn flags_that_make_no_sense_are_refused_with_what_is_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused: &[(&[&str], &str)] = &[
        (&["--concurrency", "0"], "1..=10000"),
        (&["--connections", "0"], "1..=1000"),
        (&["--connections", "65"], "a connection without calls"),
        (&["--sessions", "63"], "a session of its own"),
        (&["--duration", "0s"], "more than 0"),
        (&["--duration", "10"], "500ms, 30s"),
        (&["--duration", "25h"], "at most 24h"),
        (&["--rate=-1"], "0..=1000000"),
        (&["--games", "chess"], "one of ali_guli_mane, ayoayo, gore, hoyito3, kiothi"),
        (&["--games", ""], "one of"),
        (&["--stream", "--sessions", "65"], "here 1 to 64"),
        (&["--stream", "--calls", "get"], "cannot be used with"),
        (&["--calls", "resign=1"], "apply, legal, get, health"),
        (&["--calls", "apply=0"], "from 1 to 1000"),
        (&["--calls", "get,get"], "named twice"),
        (&["--address", "localhost"], "--address"),
    ];
    for (flags, expected) in refused {
        let output = mancala(&folder).arg("bench").args(*flags).output().expect("the program");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {problem}");
        assert!(problem.contains(expected), "{flags:?}: {problem}");
    }
}
