//! Files and databases are read and taken in as every store must be, from one to the other in all directions.

use super::postgres::Cluster;
use super::support::store_conformance::{Subject, archive as suite};
use async_trait::async_trait;
use mancala::store::archive::{Archive, Hold, Intake};
use mancala::store::postgres::{self, PostgresArchive, PostgresIntake, PostgresStore};
use mancala::store::sqlite::{Options, SqliteArchive, SqliteIntake, SqliteStore};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A store in a folder of its own.
struct File(TempDir);

fn file() -> File {
    File(TempDir::new().expect("a folder"))
}

impl File {
    fn path(&self) -> PathBuf {
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

/// A store in a database of its own.
struct Database(postgres::Options);

fn database() -> Database {
    let cluster = Cluster::shared();
    Database(postgres::Options::new(cluster.url(&cluster.database())))
}

#[async_trait]
impl suite::Place for Database {
    async fn store(&self) -> Subject {
        Arc::new(PostgresStore::connect(self.0.clone()).await.expect("the store opens"))
    }

    async fn archive(&self) -> Box<dyn Archive> {
        Box::new(PostgresArchive::connect(self.0.clone(), Hold::Shared).await.expect("it can be read"))
    }

    async fn intake(&self) -> Box<dyn Intake> {
        // Connections that were closed a moment ago may not have gone yet.
        let begun = std::time::Instant::now();
        loop {
            match PostgresIntake::connect(self.0.clone()).await {
                Ok(intake) => return Box::new(intake),
                Err(postgres::OpenError::InUse { .. }) if begun.elapsed().as_secs() < 30 => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Each function of the suite as a test: those that read in both kinds of store, those that copy in all four directions.
macro_rules! conformance {
    (reading { $($reading:ident)* } copying { $($copying:ident)* }) => {
        conformance!(@ in_files: $($reading(file()))* $($copying(file(), file()))*);
        conformance!(@ in_databases: $($reading(database()))* $($copying(database(), database()))*);
        conformance!(@ from_files_to_databases: $($copying(file(), database()))*);
        conformance!(@ from_databases_to_files: $($copying(database(), file()))*);

        const RUN: &[&str] = &[$(stringify!($reading),)* $(stringify!($copying),)*];
    };
    (@ $way:ident: $($name:ident($($place:expr),*))*) => {
        mod $way {
            use super::{database, file, suite};
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    suite::$name($(&$place),*).await;
                }
            )*

            /// Not every direction uses both.
            #[allow(dead_code)]
            const BOTH: (fn() -> super::File, fn() -> super::Database) = (file, database);
        }
    };
}

conformance! {
    reading {
        portions_are_bounded_and_whole_sessions_if_they_can_be
        deletions_and_requests_are_read
    }
    copying {
        a_copy_answers_as_its_source
        events_older_than_hashes_get_theirs
        the_order_of_changes_is_the_stores_own
        what_is_there_is_passed_over_and_what_differs_is_told
        a_copy_says_what_it_is_of
        differences_are_found
    }
}

#[test]
fn the_whole_suite_runs() {
    let source = include_str!("../support/store_conformance/archive.rs");
    let declared: Vec<_> = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next()).collect();
    assert_eq!(declared, RUN);
}
