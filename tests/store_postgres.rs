//! The Postgres store does what every store must, whatever its database is set to.

#![cfg(all(feature = "server", unix))]

mod support;

#[path = "support/postgres.rs"]
mod postgres;

// The tests of the server's own encryption use the rest of it.
#[allow(dead_code)]
#[path = "tls/authority.rs"]
mod authority;
#[path = "store_postgres/groups.rs"]
mod groups;
#[path = "store_postgres/hints.rs"]
mod hints;
#[path = "store_postgres/outages.rs"]
mod outages;
#[path = "store_postgres/plans.rs"]
mod plans;
#[path = "store_postgres/rights.rs"]
mod rights;
#[path = "store_postgres/statements.rs"]
mod statements;
#[path = "store_postgres/tls.rs"]
mod tls;

use mancala::store::Store;
use mancala::store::postgres::{Options, PostgresStore};
use postgres::{Cluster, Stop};
use std::sync::Arc;
use support::store_conformance as suite;

/// A store in a database of its own.
async fn open(database_settings: &str) -> PostgresStore {
    let cluster = Cluster::shared();
    let url = format!("{}{database_settings}", cluster.url(&cluster.database()));
    PostgresStore::connect(Options::new(url)).await.expect("the store opens")
}

/// Each function of the suite as a test, on a store of its own. Those that write run again where the database isolates transactions as
/// if they ran one after the other, as others that speak Postgres's language always do.
macro_rules! conformance {
    ($($write:ident)*; $($read:ident)*) => {
        $(conformance!(@test $write, "");)*
        $(conformance!(@test $read, "");)*

        mod serializable {
            use super::{Arc, Store, open, suite};
            $(conformance!(@test $write, "?options=-c%20default_transaction_isolation%3Dserializable");)*
        }
    };
    (@test $name:ident, $settings:literal) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let store = Arc::new(open($settings).await);
            suite::$name(store.clone()).await;
            store.close().await;
        }
    };
}

suite::each_test!(conformance);

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
