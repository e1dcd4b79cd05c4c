//! What the embedded store does when something is wrong with its file, its disk or its neighbours.

#![cfg(all(feature = "server", target_os = "linux"))]

#[path = "store_faults/files.rs"]
mod files;
#[path = "store_faults/rows.rs"]
mod rows;
#[path = "store_faults/running.rs"]
mod running;
mod support;

use mancala::store::sqlite::{OpenError, Options, SqliteStore};
use mancala::store::{Health, Store};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Retries at once, and does not wait long for other programs.
fn options() -> Options {
    Options { retry_every: Duration::from_millis(10), busy_timeout: Duration::from_millis(100), ..Options::default() }
}

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, options())
}

fn refusal(path: &Path) -> OpenError {
    match open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime").block_on(future)
}

/// Waits for the store's health to become this.
async fn until(store: &SqliteStore, expected: Health) {
    let mut health = store.health();
    let becomes = health.wait_for(|health| *health == expected);
    tokio::time::timeout(Duration::from_secs(30), becomes)
        .await
        .unwrap_or_else(|_| panic!("health did not become {expected:?}"))
        .expect("the store lives");
}
