//! The Postgres store.

#![cfg(all(feature = "server", unix))]

mod support;

#[path = "support/postgres.rs"]
mod postgres;

use postgres::{Cluster, Stop};

#[test]
fn a_cluster_stops_starts_and_fails_over() {
    let first = Cluster::start("");
    let database = first.database();
    first.sql(&database, "CREATE TABLE numbers (n int)");
    let second = first.standby(true);
    first.sql(&database, "INSERT INTO numbers VALUES (1)");
    first.stop(Stop::Immediate);
    second.promote();
    assert_eq!(second.sql(&database, "SELECT n FROM numbers"), "1");
    first.restart();
    assert_eq!(first.sql(&database, "SELECT n FROM numbers"), "1");
    let folder = first.folder().to_owned();
    let process = first.process_id().expect("a server");
    drop(first);
    assert!(!folder.exists());
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
}
