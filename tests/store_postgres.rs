//! The Postgres store does what every store must, whatever its database is set to.

#![cfg(all(feature = "server", unix))]

mod support;

#[path = "support/postgres.rs"]
mod postgres;

// The tests of the server's own encryption use the rest of it.
#[allow(dead_code)]
#[path = "server/tls/authority.rs"]
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

/// Each function of the suite as a test, on a store of its own. Those before the semicolon run again where the database isolates
/// transactions as if they ran one after the other, as others that speak Postgres's language always do; the lists only read.
macro_rules! conformance {
    ($($twice:ident)*; $($once:ident)*) => {
        $(conformance!(@test $twice, "");)*
        $(conformance!(@test $once, "");)*

        mod serializable {
            use super::{Arc, Store, open, suite};
            $(conformance!(@test $twice, "?options=-c%20default_transaction_isolation%3Dserializable");)*
        }

        /// Names of all the suite's tests that run here.
        const RUN: &[&str] = &[$(stringify!($twice),)* $(stringify!($once)),*];
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

conformance! {
    what_is_created_is_read_back
    a_session_id_is_taken_once
    a_creation_request_makes_one_session
    creations_without_request_are_not_repetitions
    an_append_adds_events_and_changes_the_head
    a_read_is_a_slice
    a_missing_session_is_not_found
    a_conflict_leaves_nothing
    a_request_id_is_taken_within_its_session_only
    a_deleted_session_is_gone_for_good
    a_deletion_without_request_is_remembered
    a_batch_is_made_whole_or_not_at_all
    a_batch_request_makes_its_sessions_once
    heads_come_in_the_order_asked_for
    changes_come_in_the_order_of_writing_and_whole
    changes_bear_events_and_sessions_as_they_are
    deletions_are_changes_too
    a_place_that_is_not_reached_is_unknown
    followers_miss_nothing_that_many_write
    one_of_many_racing_appends_wins
    one_of_many_racing_creations_wins
    many_sessions_are_written_at_once
    a_big_append_is_one
    a_refused_write_spares_its_neighbours
    a_closed_store_says_so
    what_is_imported_is_read_back
    an_import_is_refused_as_a_creation_is
    every_event_has_its_hash
    ;
    lists_filter_and_order
    pages_are_stable_while_others_write
    a_change_of_state_moves_between_lists
    changed_players_are_found_by_their_names
    what_is_rare_is_found_all_the_same
    idle_sessions_come_longest_first
    due_sessions_come_first_due_first
    overdue_sessions_come_longest_overdue_first
}

#[test]
fn the_whole_suite_runs() {
    let files = [
        include_str!("support/store_conformance/outcomes.rs"),
        include_str!("support/store_conformance/batches.rs"),
        include_str!("support/store_conformance/changes.rs"),
        include_str!("support/store_conformance/races.rs"),
        include_str!("support/store_conformance/imports.rs"),
        include_str!("support/store_conformance/lists.rs"),
        include_str!("support/store_conformance/expiry.rs"),
    ];
    let declared: Vec<_> = files
        .iter()
        .flat_map(|file| file.lines())
        .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
        .collect();
    assert_eq!(declared, RUN);
}

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
