//! A process that a test has started.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::io::Read;
use std::process::{Child, Output};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Far longer than a process takes to end, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Killed when it is dropped, so that a test that fails leaves none behind.
pub struct Process(pub Child);

impl Process {
    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("its state").is_some()
    }

    /// How it ends, which must be in time, and what it says until then on the pipes that nobody has taken.
    pub fn end(mut self) -> Output {
        let (out, err) = (read(self.0.stdout.take()), read(self.0.stderr.take()));
        let [stdout, stderr] = [out, err].map(|said| said.recv_timeout(PATIENCE).expect("it ends in time"));
        Output { status: self.0.wait().expect("its end"), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All that comes out of a pipe, once it is closed.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (said, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What can't be read any more has been said by nobody, and nobody may wait for it.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _ = said.send(bytes);
    });
    all
}
