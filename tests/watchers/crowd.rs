//! Thousands of watchers, idle and slow, of the built program: its memory against that of a server that does nothing but hold the same
//! streams (`examples/bare_streams.rs`), and the time from the acknowledgement of a move to its arrival.
//!
//! The figures that count are those of `MANCALA_TEST_LONG=1 cargo test --release --test watchers crowd`, on a machine that does
//! nothing else.

use crate::app::apply;
use crate::long_form;
use crate::program::Program;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, WatchSessionRequest};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

const PATIENCE: Duration = Duration::from_secs(120);
/// What one delivery in a hundred may take.
const LATE: Duration = Duration::from_millis(500);
/// Streams on one connection; the program allows 128.
const A_CONNECTION: usize = 100;
/// So little a slow watcher lets the server send before it has taken it.
const SLOW_WINDOW: u32 = 1_024;

/// How many there are.
#[derive(Clone, Copy)]
struct Size {
    idle: usize,
    slow: usize,
    prompt: usize,
    /// Sessions that are played, each watched by its part of the slow and the prompt.
    played: usize,
    moves: u32,
    /// Time between two moves, of all sessions together.
    pause: Duration,
    /// A slow watcher takes a message this often.
    slowness: Duration,
}

/// What was measured of a server.
#[derive(Debug)]
struct Measured {
    /// Before anybody connected, with all streams, and after the moves.
    kib: [u64; 3],
    /// From acknowledgement to arrival at those who wait for it, in order.
    late: Vec<Duration>,
    /// How many times longer than on a machine of its own the server took while moves were played.
    crowded: f64,
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_watchers_is_cheap_and_served_at_once() {
    let full = long_form();
    let size = Size {
        idle: if full { 10_000 } else { 1_000 },
        slow: if full { 1_000 } else { 200 },
        prompt: if full { 200 } else { 40 },
        played: 10,
        moves: if full { 1_000 } else { 100 },
        pause: Duration::from_millis(20),
        slowness: Duration::from_millis(if full { 1_000 } else { 200 }),
    };
    let bare = Bare::serve();
    let yardstick = measure(&bare.endpoint, bare.child.id(), &size, false).await;
    drop(bare);
    let folder = TempDir::new().expect("a folder");
    let program = Program::serve(&folder.path().join("store.db"));
    let ours = measure(&program.endpoint(), program.pid(), &size, true).await;
    let ratios = [1, 2].map(|at| ours.kib[at] as f64 / yardstick.kib[at] as f64);
    report!(
        "{} idle, {} slow and {} prompt watchers, {} moves: {:?} KiB at first, with all streams and after the moves; a bare server \
         {:?}: {:.2} and {:.2} times. Arrival after the acknowledgement: median {:?}, p99 {:?}, last {:?}; bare p99 {:?}. Others beside made it {:.1} times slower",
        size.idle,
        size.slow,
        size.prompt,
        size.moves,
        ours.kib,
        yardstick.kib,
        ratios[0],
        ratios[1],
        percentile(&ours.late, 50),
        percentile(&ours.late, 99),
        percentile(&ours.late, 100),
        percentile(&yardstick.late, 99),
        ours.crowded,
    );
    assert_eq!(ours.late.len(), size.moves as usize * size.prompt / size.played, "every move reached all who waited for it");
    // Loosely, for the program may not be optimised. In the short form other tests run beside.
    let bound = if full { LATE } else { LATE.mul_f64(ours.crowded) };
    assert!(percentile(&ours.late, 99) < bound, "{:?} of {bound:?}", percentile(&ours.late, 99));
    assert!(ratios.iter().all(|ratio| *ratio < 2.0), "{ratios:?}");
}

/// The bare server, killed when it is dropped.
struct Bare {
    child: Child,
    endpoint: Endpoint,
}

impl Bare {
    fn serve() -> Bare {
        let path = PathBuf::from(env!("CARGO_BIN_EXE_mancala")).with_file_name("examples").join("bare_streams");
        assert!(path.exists(), "{} is not built: cargo test builds it, or cargo build --examples", path.display());
        let mut child = Command::new(path).stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("its first line");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Bare { child, endpoint: Endpoint::from_shared(format!("http://{address}")).expect("an address") }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("an end");
    }
}

/// Memory of a process that is its own.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Nanoseconds that each thread of a process ran, and waited for a processor.
fn processor_times(pid: u32) -> BTreeMap<OsString, [u64; 2]> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let time = |thread: DirEntry| {
        // A thread may end meanwhile.
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut parts = text.split_whitespace().map(|part| part.parse().expect("a number"));
        Some((thread.file_name(), [parts.next().expect("its time"), parts.next().expect("what it waited")]))
    };
    threads.filter_map(|thread| time(thread.expect("a thread"))).collect()
}

/// How many times longer a process took for what it did since then than on a machine of its own: the time that its threads ran and
/// waited for a processor, by the time they ran.
fn crowded(pid: u32, since: &BTreeMap<OsString, [u64; 2]>) -> f64 {
    let [mut ran, mut waited] = [0, 0];
    for (thread, now) in processor_times(pid) {
        let then = since.get(&thread).unwrap_or(&[0; 2]);
        ran += now[0] - then[0];
        waited += now[1] - then[1];
    }
    (ran + waited) as f64 / ran as f64
}

/// When moves were acknowledged, and when they came.
#[derive(Default)]
struct Times {
    acknowledged: BTreeMap<(usize, u32), Instant>,
    arrived: Vec<((usize, u32), Instant)>,
}

async fn measure(endpoint: &Endpoint, pid: u32, size: &Size, real: bool) -> Measured {
    let first = resident_kib(pid);
    let mover = endpoint.connect().await.expect("a connection");
    let sessions = size.played + size.idle / A_CONNECTION;
    if real {
        make_sessions(&mover, sessions).await;
    }
    let (ended, end) = watch::channel(None);
    let times = Arc::new(Mutex::new(Times::default()));
    let mut watching = JoinSet::new();
    let mut holding = Vec::new();
    for (number, channel) in connect(endpoint, size.idle).await.into_iter().enumerate() {
        for _ in 0..A_CONNECTION {
            holding.push(open(&channel, size.played + number).await);
        }
    }
    let slow_endpoint = endpoint.clone().initial_stream_window_size(SLOW_WINDOW).initial_connection_window_size(1 << 20);
    for (count, endpoint, slow) in [(size.slow, &slow_endpoint, true), (size.prompt, endpoint, false)] {
        let channels = connect(endpoint, count).await;
        for number in 0..count {
            let session = number % size.played;
            let watch = open(&channels[number / A_CONNECTION], session).await;
            let (times, end) = (times.clone(), end.clone());
            let slowness = slow.then_some(size.slowness);
            watching.spawn(Follower { session, slowness, times, end, whole: real }.run(watch));
        }
    }
    let held = resident_kib(pid);
    let before = processor_times(pid);
    let last = play(&mover, size, real, &times).await;
    let crowded = crowded(pid, &before);
    let after = resident_kib(pid);
    ended.send_replace(Some(last));
    while let Some(done) = watching.join_next().await {
        done.expect("a watcher's end");
    }
    // Those who were idle are still there and have been told nothing.
    for mut watch in holding {
        while let Ok(told) = timeout(Duration::ZERO, watch.message()).await {
            let beat = told.expect("no failure").expect("no end");
            assert_eq!((beat.version, beat.events), (1, vec![]), "an idle watcher was told of what has not happened");
        }
    }
    let times = times.lock().expect("no panic");
    // Of a change of several events the last one is acknowledged.
    let awaited = times.arrived.iter().filter_map(|(at, arrived)| Some((arrived, times.acknowledged.get(at)?)));
    // What comes before its acknowledgement is not late.
    let mut late: Vec<_> = awaited.map(|(arrived, acknowledged)| arrived.saturating_duration_since(*acknowledged)).collect();
    late.sort_unstable();
    Measured { kib: [first, held, after], late, crowded }
}

fn session_id(session: usize) -> String {
    format!("crowd-{session}")
}

async fn make_sessions(channel: &Channel, count: usize) {
    let requests = (0..count).map(|session| proto::CreateSessionRequest {
        session_id: session_id(session),
        game: "gore".to_owned(),
        rounds: 100,
        ..Default::default()
    });
    let request = proto::BatchCreateSessionsRequest { requests: requests.collect(), ..Default::default() };
    SessionServiceClient::new(channel.clone()).batch_create_sessions(request).await.expect("sessions");
}

type Watch = Streaming<proto::WatchSessionResponse>;

/// Enough connections for so many streams.
async fn connect(endpoint: &Endpoint, streams: usize) -> Vec<Channel> {
    let mut channels = Vec::new();
    for _ in 0..streams.div_ceil(A_CONNECTION) {
        channels.push(endpoint.connect().await.expect("a connection"));
    }
    channels
}

/// A watch that has had its first message.
async fn open(channel: &Channel, session: usize) -> Watch {
    let request = WatchSessionRequest { session_id: session_id(session), after_version: Some(1), ..Default::default() };
    let mut watch = SessionServiceClient::new(channel.clone()).watch_session(request).await.expect("a watch").into_inner();
    let first = timeout(PATIENCE, watch.message()).await.expect("in time").expect("no failure").expect("no end");
    assert_eq!((first.version, first.events), (1, vec![]));
    watch
}

/// Plays moves at an even pace, and gives the last version of each session.
async fn play(channel: &Channel, size: &Size, real: bool, times: &Mutex<Times>) -> BTreeMap<usize, u32> {
    let mut client = SessionServiceClient::new(channel.clone());
    let mut last = BTreeMap::new();
    let mut pace = tokio::time::interval(size.pause);
    for number in 0..size.moves {
        pace.tick().await;
        let session = number as usize % size.played;
        let mut text = "0".to_owned();
        if real {
            let sample = proto::SampleMovesRequest { session_id: session_id(session), count: 1, seed: number };
            text = client.sample_moves(sample).await.expect("a sample").into_inner().moves.pop().expect("a move").text;
        }
        let version = client.apply_move(apply(&session_id(session), &text)).await.expect("a move").into_inner().version;
        times.lock().expect("no panic").acknowledged.insert((session, version), Instant::now());
        last.insert(session, version);
    }
    last
}

/// One who takes what it is told, at once or slowly, until it has all.
struct Follower {
    session: usize,
    /// It takes a message this often.
    slowness: Option<Duration>,
    times: Arc<Mutex<Times>>,
    end: watch::Receiver<Option<BTreeMap<usize, u32>>>,
    /// The server tells of every event.
    whole: bool,
}

impl Follower {
    async fn run(mut self, mut watch: Watch) {
        let mut at = 1;
        loop {
            let last = self.end.borrow().as_ref().map(|last| last[&self.session]);
            if last == Some(at) {
                return;
            }
            let message = tokio::select! {
                message = timeout(PATIENCE, watch.message()) => message.expect("a sign of life"),
                _ = self.end.changed(), if last.is_none() => continue,
            };
            let message = message.expect("no failure").expect("no end");
            let now = Instant::now();
            for event in message.events {
                assert!(!self.whole || event.version == at + 1, "{} came after {at}", event.version);
                at = event.version;
                if self.slowness.is_none() {
                    self.times.lock().expect("no panic").arrived.push(((self.session, at), now));
                }
            }
            if let Some(slowness) = self.slowness {
                // Once nothing more happens it makes haste.
                let _ = timeout(slowness, self.end.wait_for(Option::is_some)).await;
            }
        }
    }
}
