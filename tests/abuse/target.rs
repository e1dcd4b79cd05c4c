//! The program as a process of its own, a peer that behaves, and what it notices of those that don't.

#[path = "../support/binary.rs"]
mod binary;

use super::form::by_form;
use binary::binary;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};
use tonic::transport::Endpoint;
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

pub struct Target {
    child: Child,
    pub address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Target {
    fn start() -> Target {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        // The short form runs beside others, where a crowd takes longer to come than peers may be silent.
        command.env("MANCALA_SERVER__KEEPALIVE_INTERVAL", by_form("10m", "30s"));
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0;
        Target { child, address: address.parse().expect("an address"), _folder: folder }
    }

    /// A connection from an address of this machine that the peer that behaves doesn't use.
    ///
    /// # Errors
    /// When there are too many from there, whose places are those of peers that are held for what they did.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4().expect("a socket; raise the limit of open files (ulimit -n) above 4096");
        socket.bind("127.0.0.2:0".parse().expect("an address")).expect("an address of this machine");
        timeout(BOUND, socket.connect(self.address)).await.expect("in time")
    }

    /// Says something, and reads until the server closes, which must be in time. Gives what it answered.
    pub async fn say(&self, said: &[u8]) -> Vec<u8> {
        let Ok(mut peer) = self.connect().await else { return Vec::new() };
        // It may be closed before all is said.
        let _ = peer.write_all(said).await;
        until_closed(peer).await
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
pub fn attack(name: &str, attack: impl AsyncFnOnce(&Target) + Send) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Target::start();
    let end = Instant::now() + by_form(Duration::from_millis(500), Duration::from_secs(5));
    let quiet = p99(behave(&target, || Instant::now() >= end));
    let before = target.memory();

    let taken = thread::scope(|scope| {
        let attacking = scope.spawn(|| {
            yield_to_others();
            runtime().block_on(attack(&target));
        });
        let taken = behave(&target, || attacking.is_finished());
        attacking.join().expect("the attack ends");
        taken
    });
    let (count, loud) = (taken.len(), p99(taken));
    report!("{name}: p99 of {count} calls {loud:?}, quiet {quiet:?}");
    let bound = by_form((quiet * 5).max(LOOSE), (quiet * 2).max(Duration::from_millis(3)));
    assert!(loud <= bound, "{name}: p99 {loud:?}, more than {bound:?}");

    let start = Instant::now();
    while target.memory() > before + LEFT_OVER && start.elapsed() < BOUND {
        thread::sleep(Duration::from_millis(50));
    }
    let after = target.memory();
    report!("{name}: memory {} MiB, before {} MiB", after >> 20, before >> 20);
    assert!(after <= before + LEFT_OVER, "{name}: {after} bytes of memory, {before} before");
    behave(&target, || true);
}

/// Lets the server and who behaves go first: those who attack have machines of their own, and take nobody's processor.
fn yield_to_others() {
    let thread = fs::read_link("/proc/thread-self").expect("this thread");
    let number = thread.file_name().expect("its number");
    let status = Command::new("chrt").args(["--idle", "--pid", "0"]).arg(number).stdout(Stdio::null()).status();
    assert!(status.expect("chrt, of Debian's package util-linux").success());
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Makes calls one after another until it is time, and gives how long each took. None may fail.
fn behave(target: &Target, is_over: impl Fn() -> bool) -> Vec<Duration> {
    runtime().block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", target.address)).expect("an address");
        let mut client = HealthClient::new(endpoint.connect().await.expect("a connection"));
        // The first ones are not like others.
        for _ in 0..20 {
            client.check(HealthCheckRequest::default()).await.expect("an answer");
        }
        let mut taken = Vec::new();
        loop {
            let start = Instant::now();
            client.check(HealthCheckRequest::default()).await.expect("an answer");
            taken.push(start.elapsed());
            if is_over() {
                return taken;
            }
            sleep(PACE).await;
        }
    })
}

fn p99(mut taken: Vec<Duration>) -> Duration {
    taken.sort();
    taken[(taken.len() - 1) * 99 / 100]
}
