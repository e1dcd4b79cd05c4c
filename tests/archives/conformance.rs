//! Files are read and taken in as every store must be.

use super::support::store_conformance::{Subject, archive as suite};
use async_trait::async_trait;
use mancala::store::archive::{Archive, Intake};
use mancala::store::sqlite::{Hold, Options, SqliteArchive, SqliteIntake, SqliteStore};
use std::sync::Arc;
use tempfile::TempDir;

/// A store in a folder of its own.
struct File(TempDir);

impl File {
    fn new() -> File {
        File(TempDir::new().expect("a folder"))
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("store.db")
    }
}

#[async_trait]
impl suite::Place for File {
    async fn store(&self) -> Subject {
        Arc::new(SqliteStore::open(&self.path(), Options::default()).expect("the store opens"))
    }

    async fn archive(&self) -> Box<dyn Archive> {
        Box::new(SqliteArchive::open(&self.path(), Hold::Shared).expect("it can be read"))
    }

    async fn intake(&self) -> Box<dyn Intake> {
        Box::new(SqliteIntake::open(&self.path()).expect("it opens"))
    }
}

macro_rules! conformance {
    ($($name:ident($($place:expr),*))*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                suite::$name($(&$place),*).await;
            }
        )*

        const RUN: &[&str] = &[$(stringify!($name)),*];
    };
}

conformance! {
    portions_are_bounded_and_whole_sessions_if_they_can_be(File::new())
    deletions_and_requests_are_read(File::new())
    a_copy_answers_as_its_source(File::new(), File::new())
    the_order_of_changes_is_the_stores_own(File::new(), File::new())
    what_is_there_is_passed_over_and_what_differs_is_told(File::new(), File::new())
    a_copy_says_what_it_is_of(File::new(), File::new())
    differences_are_found(File::new(), File::new())
}

#[test]
fn the_whole_suite_runs() {
    let source = include_str!("../support/store_conformance/archive.rs");
    let declared: Vec<_> = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next()).collect();
    assert_eq!(declared, RUN);
}
