//! Where the server is, while it comes and goes.

use crate::app::{App, PATIENCE};
use crate::program::Program;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

/// A server that can go down and come back with what it has stored.
pub enum Host {
    /// In this process; it goes down by a stop.
    Here(Box<App>),
    /// The built program; it is killed.
    Program { program: Program, folder: Arc<TempDir> },
}

impl Host {
    pub async fn here() -> Host {
        let app = App::with_streams(|streams| {
            // So that some watches end by age and some show that they live.
            streams.heartbeat = Duration::from_millis(200);
            streams.longest = Duration::from_millis(1500);
            streams.stop_within = Duration::from_millis(50);
        });
        Host::Here(Box::new(app.await))
    }

    pub fn program() -> Host {
        let folder = Arc::new(TempDir::new().expect("a folder"));
        Host::Program { program: Program::serve(&store(&folder)), folder }
    }

    pub fn endpoint(&self) -> Endpoint {
        match self {
            Host::Here(app) => app.endpoint(),
            Host::Program { program, .. } => program.endpoint(),
        }
    }

    /// Takes it down, and starts it over the same data.
    pub async fn restart(self) -> Host {
        match self {
            Host::Here(app) => Host::Here(Box::new(app.restart().await)),
            Host::Program { program, folder } => {
                drop(program);
                Host::Program { program: Program::serve(&store(&folder)), folder }
            }
        }
    }

    /// Lets time pass, where it doesn't pass by itself.
    pub fn tick(&self) {
        if let Host::Here(app) = self {
            app.clock.advance(1);
        }
    }
}

fn store(folder: &TempDir) -> PathBuf {
    folder.path().join("store.db")
}

/// Where the server is at the moment; nowhere while it is down.
#[derive(Clone)]
pub struct Place(watch::Receiver<Option<Endpoint>>);

impl Place {
    pub fn new(host: &Host) -> (watch::Sender<Option<Endpoint>>, Place) {
        let (moves, place) = watch::channel(Some(host.endpoint()));
        (moves, Place(place))
    }

    /// A connection of its own, as soon as there can be one.
    pub async fn connect(&mut self) -> Channel {
        let connect = async {
            loop {
                let there = self.0.wait_for(Option::is_some).await.expect("the test goes on").clone();
                match there.expect("waited for").connect().await {
                    Ok(channel) => return channel,
                    // It has just gone down: there is news of it soon.
                    Err(_down) => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        timeout(PATIENCE, connect).await.expect("a server comes back")
    }
}
