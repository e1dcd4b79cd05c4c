//! The program's commands on databases.

use super::filled::{ask_everything, fails, folder_with_store, mancala, opened, succeeds};
use super::postgres::Cluster;
use super::support::sandbox::text;
use mancala::store::postgres::{Options, PostgresStore};
use mancala::store::{Cursor, Store};
use std::sync::Arc;

/// Waits until nobody is connected to a database any more who would count as a server or a copy.
fn until_free(database: &str) {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND application_name LIKE 'mancala%'");
    let begun = std::time::Instant::now();
    while Cluster::shared().sql("postgres", &sql) != "0" {
        assert!(begun.elapsed().as_secs() < 30, "{database} is still in use");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_goes_to_a_database_on_to_another_and_back() {
    let (folder, path) = folder_with_store(40).await;
    let cluster = Cluster::shared();
    let (one, two) = (cluster.database(), cluster.database());
    let (first, second) = (cluster.url(&one), cluster.url(&two));
    let back = folder.path().join("back.db");
    let says = |said: &str| said.rsplit_once(": ").expect("totals").1.to_owned();
    let expected = says(&succeeds(&["copy", "--from", text(&path), "--to", &first]));
    until_free(&one);
    assert_eq!(says(&succeeds(&["copy", "--from", &first, "--to", &second])), expected);
    until_free(&two);
    assert_eq!(says(&succeeds(&["copy", "--from", &second, "--to", text(&back)])), expected);

    let in_file = super::filled::open(&path);
    let before = ask_everything(&in_file.sessions).await;
    in_file.store.close().await;
    assert!(before.iter().all(|(_, replayed)| *replayed));
    for url in [&first, &second] {
        assert!(succeeds(&["verify", "--store", url]).starts_with("ok: 43 sessions, "));
        let store = Arc::new(PostgresStore::connect(Options::new(url)).await.expect("the store opens"));
        assert_eq!(ask_everything(&opened(store.clone())).await, before);
        store.close().await;
    }
    let returned = super::filled::open(&back);
    assert_eq!(ask_everything(&returned.sessions).await, before);
    returned.store.close().await;

    until_free(&one);
    cluster.sql(&one, "UPDATE events SET body = body || ' ' WHERE session_id = 'made' AND seq = 2");
    let output = mancala(&["verify", "--store", &first]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("made: event 2: its hash is not"), "{said}");
    until_free(&one);
    let output = mancala(&["copy", "--from", text(&path), "--to", &first]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("was copied before: comparing") && said.contains("session made: event 2 is another"), "{said}");
}

/// As `pg_dump` brings it: with the transactions of a server that has carried out more of them.
#[tokio::test(flavor = "multi_thread")]
async fn what_came_from_another_server_is_moved_on_by_a_copy() {
    let (_folder, path) = folder_with_store(5).await;
    let cluster = Cluster::shared();
    let (brought, new) = (cluster.database(), cluster.database());
    let (from, to) = (cluster.url(&brought), cluster.url(&new));
    let copied = succeeds(&["copy", "--from", text(&path), "--to", &from]);
    cluster.sql(&brought, "UPDATE events SET tx = tx + 5000000000");
    let refused = PostgresStore::connect(Options::new(&from)).await.err().expect("it is refused").to_string();
    assert!(refused.contains("move it by `mancala copy` into a new database"), "{refused}");

    until_free(&brought);
    let totals = |said: &str| said.rsplit_once(": ").expect("totals").1.to_owned();
    let begun = std::time::Instant::now();
    assert_eq!(totals(&succeeds(&["copy", "--from", &from, "--to", &to])), totals(&copied));
    assert!(begun.elapsed().as_secs() < 60, "it waits for transactions that will not come");
    let store = PostgresStore::connect(Options::new(&to)).await.expect("the store opens");
    let page = store.changes(Cursor::start(), 1_000).await.expect("changes").expect("a known place");
    assert!(!page.changes.is_empty() && page.caught_up, "followers see everything");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_are_refused_by_their_reasons() {
    let (folder, path) = folder_with_store(0).await;
    let cluster = Cluster::shared();
    let database = cluster.database();
    let url = cluster.url(&database);
    for arguments in
        [["verify", "--store", &url].as_slice(), &["copy", "--from", &url, "--to", text(&folder.path().join("new.db"))]]
    {
        let said = fails(arguments, 1);
        assert!(said.contains("has no tables of this program's version; start a server on it once"), "{said}");
    }
    let dry = ["copy", "--dry-run", "--from", text(&path), "--to", &url];
    assert!(succeeds(&dry).contains("which is empty"));
    until_free(&database);
    assert_eq!(cluster.sql(&database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0", "nothing is made");

    let server = PostgresStore::connect(Options::new(&url)).await.expect("the store opens");
    for arguments in
        [["copy", "--from", text(&path), "--to", &url], ["copy", "--from", &url, "--to", text(&folder.path().join("new.db"))]]
    {
        let said = fails(&arguments, 1);
        assert!(said.contains("the database is in use by servers or by another copy"), "{said}");
    }
    assert!(succeeds(&["verify", "--store", &url]).starts_with("ok: 0 sessions"), "reading is not in the way");
    server.close().await;
    drop(server);
    until_free(&database);

    cluster.sql(&database, "INSERT INTO copied VALUES (1, 'sqlite:/elsewhere.db', false)");
    let part = "the database is half copied from sqlite:/elsewhere.db; run `mancala copy` again";
    let refused = PostgresStore::connect(Options::new(&url)).await.err().expect("it is refused").to_string();
    assert!(refused.contains(part), "{refused}");
    until_free(&database);
    let said = fails(&["verify", "--store", &url], 1);
    assert!(said.contains(part), "{said}");
    until_free(&database);
    let said = fails(&["copy", "--from", text(&path), "--to", &url], 1);
    assert!(said.contains("is a copy of sqlite:/elsewhere.db, or a part of one"), "{said}");
    until_free(&database);
    cluster.sql(&database, "DELETE FROM copied");
    cluster.sql(&database, "INSERT INTO creations VALUES ('r', 0, '', 's')");
    let said = fails(&["copy", "--from", text(&path), "--to", &url], 1);
    assert!(said.contains("holds sessions that no copy has put there"), "{said}");

    let nowhere = fails(&["verify", "--store", "postgres://mancala@127.0.0.1:1/games"], 1);
    assert!(nowhere.contains("postgres://mancala@127.0.0.1:1/games: the database can't be reached"), "{nowhere}");
    let said = fails(&["verify", "--store", &cluster.url("none")], 1);
    assert!(said.contains("check user, password, the database's name"), "{said}");
}
