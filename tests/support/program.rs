//! The built program as a process of its own.

// Each test binary uses a part of it.
#![allow(dead_code)]

#[path = "binary.rs"]
mod binary;

use super::sandbox::run;
pub use binary::binary;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tonic::transport::{Channel, Endpoint};

/// `mancala serve`, killed when it is dropped.
pub struct Program {
    child: Child,
    address: String,
}

impl Program {
    /// Starts it with its data at this path, on a free port, configured by nothing else.
    pub fn serve(store: &Path) -> Program {
        Program::serve_with(store, &[])
    }

    /// The same, with these variables in its environment.
    pub fn serve_with(store: &Path, variables: &[(&str, &str)]) -> Program {
        Program::serve_on(store.as_os_str(), store.parent().expect("a folder"), variables)
    }

    /// The same, with its data in this store, as on its command line, and this home.
    pub fn serve_on(store: &OsStr, home: &Path, variables: &[(&str, &str)]) -> Program {
        let mut command = Command::new(binary());
        command.args(["serve", "--log", "warn", "--listen", "127.0.0.1:0", "--store"]).arg(store);
        command.env_clear().env("HOME", home).envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the program starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("its first line");
        let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(','));
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}")).0.to_owned();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Program { child, address }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.address)).expect("an address")
    }

    pub async fn channel(&self) -> Channel {
        self.endpoint().connect().await.expect("a connection")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, and a clean end.
    pub fn stop(mut self) {
        run("kill", &["-TERM", &self.child.id().to_string()]);
        assert!(self.child.wait().expect("an end").success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
