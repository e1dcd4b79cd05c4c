//! A server as a process of its own, whose processor time can be told.

use mancala::wire::proto::rules_service_client::RulesServiceClient;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tonic::transport::Channel;

/// `mancala serve` as it is by default, on a store of its own.
pub struct Served {
    process: Child,
    address: String,
    _store: TempDir,
}

impl Served {
    pub fn start() -> Served {
        let store = tempfile::tempdir().expect("a temporary folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_mancala"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store"])
            .arg(store.path().join("games.db"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("listening on ")?;
            Some(rest.split([',', ' ']).next()?.to_owned())
        });
        Served { process, address: address.expect("it listens"), _store: store }
    }

    pub async fn connect(&self) -> RulesServiceClient<Channel> {
        RulesServiceClient::connect(format!("http://{}", self.address)).await.expect("a connection")
    }

    /// Processor time so far of each of its threads, of the program and of the system for it.
    fn times(&self) -> HashMap<OsString, Duration> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("it runs");
        let of_thread = |thread: std::io::Result<DirEntry>| {
            let thread = thread.ok()?;
            // A thread may end meanwhile.
            let times = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let nanos = times.split(' ').next()?.parse().expect("a number");
            Some((thread.file_name(), Duration::from_nanos(nanos)))
        };
        threads.filter_map(of_thread).collect()
    }

    /// Processor time that it takes for something.
    pub async fn time_for(&self, work: impl Future<Output = ()>) -> Duration {
        let before = self.times();
        work.await;
        // A thread that has ended had nothing to do for seconds before.
        let spent = |(thread, time): (OsString, Duration)| time - before.get(&thread).copied().unwrap_or_default();
        self.times().into_iter().map(spent).sum()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Nothing of its store is kept.
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }
}
