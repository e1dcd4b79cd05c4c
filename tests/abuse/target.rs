//! The program as a process of its own, a peer that behaves, and what it notices of those that don't.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// By then whatever abuses the server is closed.
pub const BOUND: Duration = Duration::from_secs(6);
/// Time between two calls of the peer that behaves.
const PACE: Duration = Duration::from_millis(2);
/// What may be left in memory: an allocator keeps pages for the next use.
const LEFT_OVER: u64 = 48 << 20;
/// A call may take so long in the short form, which runs without optimisation and beside others.
const LOOSE: Duration = Duration::from_millis(100);

pub fn is_long() -> bool {
    std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1")
}

/// The first in the short form, the second in the long one.
pub fn by_form<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

pub struct Target {
    child: Child,
    pub address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Target {
    fn start() -> Target {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
        command.env_clear().env("HOME", folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0;
        Target { child, address: address.parse().expect("an address"), _folder: folder }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// Says something, and reads until the server closes, which must be in time. Gives what it answered.
    pub async fn say(&self, said: &[u8]) -> Vec<u8> {
        let mut peer = self.connect().await;
        // It may be closed before all is said.
        let _ = peer.write_all(said).await;
        until_closed(peer).await
    }

    async fn client(&self) -> HealthClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).expect("an address");
        HealthClient::new(endpoint.connect().await.expect("a connection"))
    }

    /// Memory that it uses, in bytes.
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until the server closes, which must be in time.
pub async fn until_closed(mut peer: TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset is a way of closing.
    let closed = async { while peer.read_buf(&mut said).await.is_ok_and(|count| count > 0) {} };
    timeout(BOUND, closed).await.unwrap_or_else(|_| panic!("it is still open"));
    said
}

/// Runs an attack on a server of its own, one at a time, while a peer that behaves makes calls: none may fail, and they may not
/// become slow; afterwards the server must use no more memory than before.
pub fn attack(name: &str, attack: impl AsyncFnOnce(&Target)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let target = Target::start();
        let mut client = target.client().await;
        calls(&mut client, sleep(Duration::from_millis(100))).await;
        let quiet = p99(calls(&mut client, sleep(by_form(Duration::from_millis(500), Duration::from_secs(5)))).await);
        let before = target.memory();

        let (over, is_over) = oneshot::channel::<()>();
        let mut disturbed = client.clone();
        let caller = tokio::spawn(async move {
            let taken = calls(&mut disturbed, async { drop(is_over.await) }).await;
            (taken.len(), p99(taken))
        });
        attack(&target).await;
        drop(over);
        let (count, loud) = caller.await.expect("no call fails");
        println!("{name}: p99 of {count} calls {loud:?}, quiet {quiet:?}");
        let bound = by_form((quiet * 5).max(LOOSE), (quiet * 2).max(Duration::from_millis(5)));
        assert!(loud <= bound, "{name}: p99 {loud:?}, more than {bound:?}");

        let start = Instant::now();
        while target.memory() > before + LEFT_OVER && start.elapsed() < BOUND {
            sleep(Duration::from_millis(50)).await;
        }
        let after = target.memory();
        println!("{name}: memory {} MiB, before {} MiB", after >> 20, before >> 20);
        assert!(after <= before + LEFT_OVER, "{name}: {after} bytes of memory, {before} before");
        calls(&mut target.client().await, sleep(PACE)).await;
    });
}

/// Makes calls one after another until it is time, and gives how long each took. None may fail.
async fn calls(client: &mut HealthClient<Channel>, end: impl Future<Output = ()>) -> Vec<Duration> {
    tokio::pin!(end);
    let mut taken = Vec::new();
    loop {
        let start = Instant::now();
        client.check(HealthCheckRequest::default()).await.expect("an answer");
        taken.push(start.elapsed());
        tokio::select! {
            () = &mut end => return taken,
            () = sleep(PACE) => {}
        }
    }
}

fn p99(mut taken: Vec<Duration>) -> Duration {
    taken.sort();
    taken[(taken.len() - 1) * 99 / 100]
}
