//! Replicas and their database start in any order, and the database goes and comes back: health tells the truth, and what someone must
//! mend is said.

use crate::call::{Call, Outcome, What};
use crate::fleet::{Fleet, blocking};
use crate::postgres::{Cluster, Stop};
use crate::remote::{Remote, outcome};
use crate::replica::Replica;
use crate::within;
use std::time::{Duration, Instant};
use tonic::Code;

/// From when the database can be reached until the replica serves.
const BACK: Duration = Duration::from_secs(2);
/// A call that can't be answered is refused at once.
const AT_ONCE: Duration = Duration::from_millis(100);

fn create(session: &str) -> Call {
    Call { session: session.to_owned(), request: format!("makes-{session}"), expected_version: None, what: What::Create }
}

/// Asks a replica that does not reach its database to make a session.
async fn assert_refused(replica: &Replica, session: &str) {
    let asked = Instant::now();
    let refused = Remote::over(replica.channel()).send(&create(session), None).await.expect_err("no database");
    let took = asked.elapsed();
    assert_eq!((refused.code(), outcome(&refused)), (Code::Unavailable, Outcome::Failed), "{refused:?}");
    assert!(refused.message().starts_with("STORE_UNAVAILABLE: "), "{refused:?}");
    assert!(took < within(AT_ONCE), "refused after {took:?}");
}

async fn assert_serves(replica: &Replica, session: &str) {
    let made = Remote::over(replica.channel()).send(&create(session), None).await.expect("a session");
    assert_eq!(made.version, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_waits_for_its_database_and_says_so() {
    let cluster = blocking(|| Cluster::start(""));
    let database = blocking(|| cluster.database());
    blocking(|| cluster.stop(Stop::Fast));
    let replica = blocking(|| Replica::start(&cluster.url(&database), &[]));
    assert!(!replica.is_serving().await, "there is no database yet");
    assert_refused(&replica, "early-0").await;

    blocking(|| cluster.restart());
    let first = replica.until_serving(true).await;
    assert_serves(&replica, "first-0").await;

    blocking(|| cluster.stop(Stop::Fast));
    let noticed = replica.until_serving(false).await;
    assert_refused(&replica, "between-0").await;
    assert!(replica.runs(), "{}", replica.log());

    blocking(|| cluster.restart());
    let again = replica.until_serving(true).await;
    assert_serves(&replica, "again-0").await;
    report!("serving {first:?} after the database, not serving {noticed:?} after its end, serving {again:?} after its return");
    assert!(first < within(BACK) && again < within(BACK), "{first:?} {again:?}");
    assert!(noticed < within(BACK), "{noticed:?}");
    replica.tell_to_stop();
    replica.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_replicas_start_at_once_on_an_empty_database() {
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let begun = Instant::now();
    let fleet = Fleet::direct(&cluster.url(&database), 8, &[]);
    for place in 0..fleet.len() {
        let replica = fleet.replica(place);
        replica.until_serving(true).await;
        assert_serves(&replica, &format!("of-replica-{place}")).await;
    }
    report!("eight replicas on an empty database serve after {:?}", begun.elapsed());
    let sessions = blocking(|| cluster.sql(&database, "SELECT count(*) FROM sessions"));
    assert_eq!(sessions, "8");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_someone_must_mend_ends_the_start_and_is_said() {
    // It would lose what it acknowledges, and asks for passwords.
    let cluster = blocking(|| Cluster::start("fsync = off"));
    blocking(|| {
        cluster.sql("postgres", "CREATE ROLE player LOGIN PASSWORD 'right'");
        let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(cluster.folder().join("data/pg_hba.conf"), rules).expect("rules");
        cluster.reload();
    });
    let port = cluster.port();
    let refusal = |url: String| {
        let (status, said) = blocking(|| Replica::run(&url, &[]));
        assert!(!status.success(), "{url}: {said}");
        assert!(!said.contains("wrong") && !said.contains("right"), "a password is told: {said}");
        said
    };
    let wrong_password = refusal(format!("postgres://player:wrong@127.0.0.1:{port}/postgres"));
    assert!(wrong_password.contains("the database server refuses: 28P01"), "{wrong_password}");
    assert!(wrong_password.contains("check user, password, the database's name"), "{wrong_password}");
    let no_database = refusal(format!("postgres://player:right@127.0.0.1:{port}/nowhere"));
    assert!(no_database.contains("the database server refuses: 3D000: database \"nowhere\" does not exist"), "{no_database}");
    let unsafe_server = refusal(format!("postgres://player:right@127.0.0.1:{port}/postgres"));
    assert!(unsafe_server.contains("the database server has fsync off"), "{unsafe_server}");
    assert!(unsafe_server.contains("store.allow_unsafe_database = true"), "{unsafe_server}");
}
