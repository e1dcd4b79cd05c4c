//! What the user must be allowed to do in the database.

use crate::outages::refused;
use crate::postgres::{Cluster, USER};
use crate::support::store_conformance as suite;
use mancala::store::postgres::{OpenError, Options, PostgresStore};
use mancala::store::{Appended, Created, Deleted, Health, Store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_there_need_nobody_who_may_make_them() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    cluster.sql(&database, "CREATE ROLE clerk LOGIN");
    cluster.sql(&database, "REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let maker = Options::new(cluster.url(&database));
    let clerk = Options::new(maker.url.replace(USER, "clerk"));

    let refusal = refused(clerk.clone()).await;
    assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("permission denied for schema public")), "{refusal:?}");
    assert!(refusal.to_string().contains("what the user may do there"), "{refusal}");

    PostgresStore::connect(maker).await.expect("the store opens").close().await;
    let refusal = refused(clerk.clone()).await;
    assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("permission denied for table")), "{refusal:?}");

    cluster.sql(&database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk");
    let store = PostgresStore::connect(clerk.clone()).await.expect("the store opens");
    assert_eq!(*store.health().borrow(), Health::Writable);
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    assert_eq!(store.append(suite::append("s", 1)).await, Ok(Appended::Done));
    assert_eq!(store.delete(suite::delete("s")).await, Ok(Deleted::Done));
    store.close().await;

    // As if this program were one that has something to add.
    cluster.sql(&database, "DELETE FROM mancala_migrations WHERE version > 1");
    let refusal = refused(clerk).await;
    assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("permission denied for schema public")), "{refusal:?}");
}
