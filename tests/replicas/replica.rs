//! The built program on a database, as a process of its own.

#[path = "../support/binary.rs"]
mod binary;

use binary::binary;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// `mancala serve`, killed when it is dropped.
pub struct Replica {
    child: Mutex<Child>,
    channel: Channel,
    folder: TempDir,
}

/// Settings as they stand in the environment, beside those that every replica has here.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

impl Replica {
    /// Starts one on the database at a URL, on a free port, and returns when it listens.
    pub fn start(url: &str, settings: Settings<'_>) -> Replica {
        let folder = TempDir::new().expect("a folder");
        let mut child = command(url, settings, folder.path()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("its first line");
        let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(','));
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}:\n{}", log(folder.path()))).0.to_owned();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        let channel = endpoint.tcp_nodelay(true).connect_timeout(Duration::from_secs(1)).connect_lazy();
        Replica { child: Mutex::new(child), channel, folder }
    }

    /// Runs one that ends by itself; gives how it ended, and all that it said.
    pub fn run(url: &str, settings: Settings<'_>) -> (ExitStatus, String) {
        let folder = TempDir::new().expect("a folder");
        let mut child = command(url, settings, folder.path()).stdout(Stdio::null()).spawn().expect("the program starts");
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("a child") {
                return (status, log(folder.path()));
            }
            if started.elapsed() > Duration::from_secs(30) {
                child.kill().expect("it can be killed");
                child.wait().expect("it ends");
                panic!("it did not end by itself:\n{}", log(folder.path()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel())
    }

    /// Whether it says that calls are welcome.
    pub async fn is_serving(&self) -> bool {
        let answer = HealthClient::new(self.channel()).check(HealthCheckRequest::default()).await;
        answer.expect("health is told whatever else happens").into_inner().status == i32::from(ServingStatus::Serving)
    }

    /// Waits until it does, or no longer does; gives how long that took.
    pub async fn until_serving(&self, serving: bool) -> Duration {
        let begun = Instant::now();
        while self.is_serving().await != serving {
            assert!(begun.elapsed() < Duration::from_secs(60), "not serving = {serving} in time:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        begun.elapsed()
    }

    /// SIGTERM.
    pub fn tell_to_stop(&self) {
        let id = self.child.lock().expect("no panic").id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        self.child.lock().expect("no panic").try_wait().expect("a child").is_none()
    }

    /// Waits for its end, which must be a clean one.
    pub async fn ended(&self) {
        let begun = Instant::now();
        while self.runs() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not stop:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let status = self.child.lock().expect("no panic").wait().expect("an end");
        assert!(status.success(), "{status}:\n{}", self.log());
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        log(self.folder.path())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let child = self.child.get_mut().expect("no panic");
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn command(url: &str, settings: Settings<'_>, folder: &Path) -> Command {
    let log = File::create(folder.join("log")).expect("a file");
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", url]).stdin(Stdio::null()).stderr(log);
    command.env_clear().env("HOME", folder).envs(settings.iter().copied());
    command
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("log")).unwrap_or_default()
}
