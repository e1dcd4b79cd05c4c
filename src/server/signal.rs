//! Signals that ask the process to stop, or to look at its files.

use std::io;

/// The signals that ask a process to stop: SIGTERM and SIGINT (Ctrl-C).
#[cfg(unix)]
#[derive(Debug)]
pub struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    /// Takes the signals over from the system, which would otherwise end the process at once.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal and gives its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// The signal that asks a process to stop: Ctrl-C.
#[cfg(windows)]
#[derive(Debug)]
pub struct StopSignals {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl StopSignals {
    /// Takes the signal over from the system, which would otherwise end the process at once.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    /// Waits for the next signal and gives its name.
    pub async fn next(&mut self) -> &'static str {
        self.interrupt.recv().await;
        "Ctrl-C"
    }
}

/// The signal that asks a process to look at its files again: SIGHUP.
#[cfg(unix)]
#[derive(Debug)]
pub struct Hangup(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangup {
    /// Takes the signal over from the system, which would otherwise end the process.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        // There is always a next one: the stream of signals has no end.
        self.0.recv().await;
    }
}

/// There is no such signal here.
#[cfg(windows)]
#[derive(Debug)]
pub struct Hangup;

#[cfg(windows)]
impl Hangup {
    /// Nothing is to be taken over.
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Never completes.
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
