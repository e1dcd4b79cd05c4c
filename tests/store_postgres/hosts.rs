//! What is reached under a URL: the first of several hosts that answers, and never a standby.

use crate::outages::{becomes, refused};
use crate::postgres::Cluster;
use crate::support::store_conformance as suite;
use mancala::store::archive::Hold;
use mancala::store::postgres::{OpenError, Options, PostgresArchive, PostgresStore};
use mancala::store::{Created, Health, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_says_nothing_keeps_nobody_from_the_next() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    // Connections are taken up by the system, and nobody speaks.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let url = cluster.url(&database).replace("127.0.0.1:", &format!("127.0.0.1:{port},127.0.0.1:"));
    let store = PostgresStore::connect(Options::new(url.as_str())).await.expect("the store opens");
    assert_eq!(*store.health().borrow(), Health::Writable);
    let begun = Instant::now();
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));
    assert!(begun.elapsed() < Duration::from_millis(450), "the good one is tried first: {:?}", begun.elapsed());
    store.close().await;
    drop(PostgresArchive::connect(Options::new(url), Hold::Shared).await.expect("so do commands"));
}

/// A port that leads to another one, which can be changed: then its connections are cut.
struct Way {
    port: u16,
    to: Arc<AtomicU16>,
    cut: Arc<Notify>,
}

impl Way {
    async fn to(port: u16) -> Way {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let way = Way {
            port: listener.local_addr().expect("an address").port(),
            to: Arc::new(AtomicU16::new(port)),
            cut: Arc::default(),
        };
        let (to, cut) = (way.to.clone(), way.cut.clone());
        tokio::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.expect("a connection");
                let (to, cut) = (to.clone(), cut.clone());
                tokio::spawn(async move {
                    let ended = cut.notified();
                    let Ok(mut far) = TcpStream::connect(("127.0.0.1", to.load(Ordering::SeqCst))).await else { return };
                    tokio::select! {
                        // How a connection ends is its two ends' affair.
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        () = ended => {}
                    }
                });
            }
        });
        way
    }

    fn lead_to(&self, port: u16) {
        self.to.store(port, Ordering::SeqCst);
        self.cut.notify_waiters();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_not_read() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let standby = cluster.standby(true);
    let way = Way::to(cluster.port()).await;
    let url = cluster.url(&database).replace(&cluster.port().to_string(), &way.port.to_string());
    let store = PostgresStore::connect(Options::new(url)).await.expect("the store opens");
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));

    way.lead_to(standby.port());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        let read = store.head("s").await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "after {:?}: {read:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(*store.health().borrow(), Health::Unwritable);
    assert!(matches!(store.census().await, Err(StoreError::Unavailable(_))));

    way.lead_to(cluster.port());
    becomes(&store, Health::Writable, Duration::from_secs(5)).await;
    assert_eq!(store.head("s").await.expect("it is read").expect("the session").version, 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_is_set_to_read_only_is_read() {
    let cluster = Cluster::start("");
    let database = cluster.database();
    let options = Options::new(cluster.url(&database));
    let store = PostgresStore::connect(options.clone()).await.expect("the store opens");
    assert_eq!(store.create(suite::create("s")).await, Ok(Created::Done));

    cluster.sql("postgres", &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"));
    let others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mancala'";
    cluster.sql("postgres", others);
    becomes(&store, Health::Unwritable, Duration::from_secs(5)).await;
    assert_eq!(refused(options).await, OpenError::ReadOnly);
    let begun = Instant::now();
    while !matches!(store.head("s").await, Ok(Some(_))) {
        assert!(begun.elapsed() < Duration::from_secs(5), "it can be read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(matches!(store.create(suite::create("t")).await, Err(StoreError::Unwritable(_))));

    cluster.sql("postgres", &format!("ALTER DATABASE {database} RESET default_transaction_read_only"));
    becomes(&store, Health::Writable, Duration::from_secs(5)).await;
    assert_eq!(store.create(suite::create("t")).await, Ok(Created::Done));
    store.close().await;
}
