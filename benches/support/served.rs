//! A server as a process of its own, whose processor time can be told.

use mancala::wire::proto::rules_service_client::RulesServiceClient;
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

    /// Processor time so far, of the program and of the system for it, in hundredths of a second, as Linux counts it.
    pub fn time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("it runs");
        // Behind the program's name, which may hold blanks, the first field is the third of all.
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        let fields = fields.split_whitespace().skip(11).take(2);
        Duration::from_millis(fields.map(|ticks| ticks.parse::<u64>().expect("a number") * 10).sum())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Nothing of its store is kept.
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }
}
