//! A process that writes: several callers at once, each request noted in a ledger before it is sent and after it is answered.

use super::form::by_form;
use super::story::{Group, Story};
use super::support::store_conformance as suite;
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Appended, Created, CreatedAll, Deleted, Store};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::JoinSet;

/// A file beside the store's.
pub const LEDGER: &str = "ledger";

/// Callers at once.
const CALLERS: u64 = 4;

/// Groups of sessions of one run.
pub fn groups_per_run() -> u64 {
    by_form(16, 24)
}

/// More jobs than the store does between two checkpoints. They change nothing.
const IDLE_JOBS: usize = 4_200;

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The store is closed.
    Closed,
    /// The process ends in the middle of its work.
    Killed,
}

/// Writes what the groups of a run are to become.
pub async fn write(store_path: &Path, run: u64, end: End) {
    let ledger = store_path.with_file_name(LEDGER);
    let ledger = Arc::new(OpenOptions::new().create(true).append(true).open(ledger).expect("the ledger"));
    let store = Arc::new(SqliteStore::open(store_path, Options::default()).expect("the store opens"));
    let next = Arc::new(AtomicU64::new(run * groups_per_run()));
    // A killed run leaves its last groups unfinished.
    let limit = (run + 1) * groups_per_run();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (store, ledger, next) = (store.clone(), ledger.clone(), next.clone());
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= limit {
                    break;
                }
                write_group(&store, &ledger, number).await;
                if end == End::Killed && number + 2 == limit {
                    std::process::exit(0);
                }
                if number == limit - groups_per_run() / 2 {
                    let mut idle = JoinSet::new();
                    for _ in 0..IDLE_JOBS {
                        let store = store.clone();
                        idle.spawn(async move { store.append(suite::append("not there", 1)).await });
                    }
                    assert!(idle.join_all().await.into_iter().all(|end| end == Ok(Appended::NotFound)));
                }
            }
        });
    }
    callers.join_all().await;
    store.close().await;
}

async fn write_group(store: &SqliteStore, ledger: &File, number: u64) {
    let group = Group::of(number);
    let note = |mark: char, place: usize, step: usize| note(ledger, mark, number, place, step);
    let all = 0..group.stories.len();
    all.clone().for_each(|place| note('>', place, 0));
    match group.batch() {
        Some(batch) => assert_eq!(store.create_all(batch).await, Ok(CreatedAll::Done)),
        None => assert_eq!(store.create(group.stories[0].create.clone()).await, Ok(Created::Done)),
    }
    all.for_each(|place| note('<', place, 0));
    let most = group.stories.iter().map(Story::steps).max().expect("a session");
    for step in 1..most {
        for (place, story) in group.stories.iter().enumerate().filter(|(_, story)| step < story.steps()) {
            note('>', place, step);
            match (story.appends.get(step - 1), &story.delete) {
                (Some(append), _) => assert_eq!(store.append(append.clone()).await, Ok(Appended::Done)),
                (None, Some(delete)) => assert_eq!(store.delete(delete.clone()).await, Ok(Deleted::Done)),
                (None, None) => unreachable!("the steps are counted"),
            }
            note('<', place, step);
        }
    }
}

/// Notes that a step was sent (`>`) or was answered (`<`), by one write.
fn note(mut ledger: &File, mark: char, group: u64, place: usize, step: usize) {
    ledger.write_all(format!("{mark} {group} {place} {step}\n").as_bytes()).expect("the ledger");
}
