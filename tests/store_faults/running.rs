//! What goes wrong while the store runs: the disk, other programs, the process itself.

use super::support::sandbox::{
    Companion, SAYS, again, assert_passed, companions_store, inside, limit_file_size, mount_small_disk, run, text,
    with_own_mounts, with_size_limit,
};
use super::support::store_conformance as suite;
use super::{block_on, folder, open, options, until};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Created, Health, Store, StoreError};
use rusqlite::Connection;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// An append of one event of 1 KiB that bears its place.
fn kilobyte(session_id: &str, version: u32) -> Append {
    suite::append_of(session_id, version, vec![format!("{}{}", version + 1, "x".repeat(1024))])
}

/// Appends to a session until it fails. Returns the version that was acknowledged last, and the failure.
async fn append_until_failure(store: &SqliteStore, session_id: &str, mut version: u32) -> (u32, StoreError) {
    loop {
        match store.append(kilobyte(session_id, version)).await {
            Ok(Appended::Done) => version += 1,
            Ok(other) => panic!("{other:?}"),
            Err(error) => return (version, error),
        }
    }
}

#[test]
fn a_full_disk_refuses_recovers_and_loses_nothing() {
    with_own_mounts("running::a_full_disk_refuses_recovers_and_loses_nothing", || {
        let folder = folder();
        let _mounted = mount_small_disk(folder.path(), 2048);
        let path = folder.path().join("store.db");
        let ballast = folder.path().join("ballast");
        fs::write(&ballast, vec![1; 900 << 10]).expect("room for ballast");
        block_on(async {
            // Seldom enough to see the health before a retry, which may find room for its few bytes.
            let slow = Options { retry_every: Duration::from_secs(2), ..options() };
            let store = Arc::new(SqliteStore::open(&path, slow).expect("a new store"));
            let mut writers = JoinSet::new();
            for n in 0..8 {
                let store = store.clone();
                writers.spawn(async move {
                    let id = format!("s{n}");
                    assert_eq!(store.create(suite::create(&id)).await, Ok(Created::Done));
                    let (version, error) = append_until_failure(&store, &id, 1).await;
                    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
                    assert_eq!(*store.health().borrow(), Health::Unwritable);
                    (id, version)
                });
            }
            let mut acknowledged = writers.join_all().await;
            for (id, version) in &acknowledged {
                let events = store.read(id, 0, usize::MAX).await.expect("a full disk is read").expect("the session");
                assert_eq!(events.len(), *version as usize, "what was refused is absent");
            }

            fs::remove_file(&ballast).expect("it is there");
            until(&store, Health::Writable).await;
            for (id, version) in &mut acknowledged {
                assert_eq!(store.append(kilobyte(id, *version)).await, Ok(Appended::Done));
                *version += 1;
            }
            store.close().await;

            let store = open(&path).expect("the store opens again");
            for (id, version) in acknowledged {
                let events = store.read(&id, 1, usize::MAX).await.expect("a read").expect("the session");
                let expected: Vec<_> = (1..version).map(|version| kilobyte(&id, version).events.remove(0)).collect();
                assert_eq!(events.into_iter().map(|event| event.body).collect::<Vec<_>>(), expected);
            }
        });
    });
}

#[test]
fn a_failing_write_is_unknown_until_it_succeeds_again() {
    with_size_limit("running::a_failing_write_is_unknown_until_it_succeeds_again", || {
        let folder = folder();
        let path = folder.path().join("store.db");
        block_on(async {
            let store = open(&path).expect("a new store");
            store.create(suite::create("s")).await.expect("create");
            assert_eq!(store.append(kilobyte("s", 1)).await, Ok(Appended::Done));

            limit_file_size(Some(0));
            let error = store.append(kilobyte("s", 2)).await.expect_err("nothing can be written");
            assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
            assert_eq!(*store.health().borrow(), Health::Unwritable);
            let error = store.append(kilobyte("s", 2)).await.expect_err("nothing can be written");
            assert!(matches!(error, StoreError::Unwritable(_)), "later ones are certainly not written: {error:?}");

            limit_file_size(None);
            until(&store, Health::Writable).await;
            assert_eq!(store.append(kilobyte("s", 2)).await, Ok(Appended::Done));
            store.close().await;
            let store = open(&path).expect("the store opens again");
            assert_eq!(store.read("s", 0, 10).await.expect("a read").expect("the session").len(), 3);
        });
    });
}

#[test]
fn a_failed_fsync_is_never_tried_again() {
    let test = "running::a_failed_fsync_is_never_tried_again";
    let flag = "FAIL_FSYNC_WHILE";
    if !inside(test) {
        let folder = folder();
        let library = folder.path().join("failing_fsync.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/failing_fsync.c");
        run("cc", &["-shared", "-fPIC", "-o", text(&library), source, "-ldl"]);
        let output =
            again(test, &["env"]).env("LD_PRELOAD", &library).env(flag, folder.path().join("flag")).output().expect("this test");
        return assert_passed(test, &output);
    }
    let flag = std::env::var(flag).expect("set by the outer process");
    let folder = folder();
    let path = folder.path().join("store.db");
    block_on(async {
        let store = open(&path).expect("a new store");
        store.create(suite::create("s")).await.expect("create");
        assert_eq!(store.append(kilobyte("s", 1)).await, Ok(Appended::Done));

        fs::write(&flag, "").expect("a flag");
        let error = store.append(kilobyte("s", 2)).await.expect_err("a failed fsync");
        assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
        assert_eq!(*store.health().borrow(), Health::Broken);

        fs::remove_file(&flag).expect("it is there");
        let error = store.append(kilobyte("s", 2)).await.expect_err("a broken store stays so");
        assert!(matches!(&error, StoreError::Unavailable(why) if why.contains("the disk failed")), "{error:?}");
        assert_eq!(store.read("s", 0, 10).await.expect("a read").expect("the session").len(), 2);
        store.close().await;

        let store = open(&path).expect("another process may try");
        let events = store.read("s", 0, 10).await.expect("a read").expect("the session").len();
        assert!(events == 2 || events == 3, "what was acknowledged is there, what is unknown may be: {events}");
    });
}

#[test]
fn another_program_that_writes_makes_the_store_unwritable_for_as_long() {
    let folder = folder();
    let path = folder.path().join("store.db");
    block_on(async {
        let store = open(&path).expect("a new store");
        store.create(suite::create("s")).await.expect("create");
        let shell = Connection::open(&path).expect("the store");
        shell.execute_batch("BEGIN IMMEDIATE").expect("its lock");
        let error = store.append(suite::append("s", 1)).await.expect_err("it is locked");
        assert!(matches!(error, StoreError::Unwritable(_)), "{error:?}");
        assert_eq!(*store.health().borrow(), Health::Unwritable);
        assert_eq!(store.read("s", 0, 10).await.expect("reads go on").expect("the session").len(), 1);
        drop(shell);
        until(&store, Health::Writable).await;
        assert_eq!(store.append(suite::append("s", 1)).await, Ok(Appended::Done));
    });
}

#[test]
fn a_store_under_load_recovers_too() {
    let folder = folder();
    let path = folder.path().join("store.db");
    block_on(async {
        let store = Arc::new(open(&path).expect("a new store"));
        store.create(suite::create("s")).await.expect("create");
        let shell = Connection::open(&path).expect("the store");
        shell.execute_batch("BEGIN IMMEDIATE").expect("its lock");
        let mut callers = JoinSet::new();
        for caller in 0..16 {
            let store = store.clone();
            callers.spawn(async move { while store.create(suite::create(&format!("t{caller}"))).await.is_err() {} });
        }
        until(&store, Health::Unwritable).await;
        drop(shell);
        tokio::time::timeout(Duration::from_secs(30), callers.join_all()).await.expect("all get through");
        until(&store, Health::Writable).await;
    });
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let test = "running::what_was_acknowledged_survives_a_kill";
    if inside(test) {
        let path = companions_store();
        block_on(async {
            let store = Arc::new(open(&path).expect("the store opens"));
            let mut writers = JoinSet::new();
            for n in 0..8 {
                let store = store.clone();
                writers.spawn(async move {
                    let id = format!("s{n}");
                    store.create(suite::create(&id)).await.expect("create");
                    let mut version = store.head(&id).await.expect("head").expect("the session").version;
                    loop {
                        assert_eq!(store.append(kilobyte(&id, version)).await, Ok(Appended::Done));
                        version += 1;
                        println!("{SAYS}{n} {version}");
                    }
                });
            }
            writers.join_all().await;
        });
    }
    let folder = folder();
    let path = folder.path().join("store.db");
    let mut acknowledged = [1_u32; 8];
    for round in 1..=5 {
        let mut child = Companion::start(test, &path);
        let mut heard: Vec<_> = (0..100 * round).map_while(|_| child.hear()).collect();
        assert_eq!(heard.len(), 100 * round, "the writer goes on");
        heard.extend(child.kill());
        for line in heard {
            let (session, version) = line.split_once(' ').expect("two numbers");
            acknowledged[session.parse::<usize>().expect("a session")] = version.parse().expect("a version");
        }
        block_on(async {
            let store = open(&path).expect("a killed store opens");
            for (n, acknowledged) in acknowledged.iter().enumerate() {
                let id = format!("s{n}");
                let events = store.read(&id, 1, usize::MAX).await.expect("a read").expect("the session");
                let stored = events.len() as u32 + 1;
                assert!(
                    stored == *acknowledged || stored == acknowledged + 1,
                    "{id}: {acknowledged} acknowledged, {stored} stored"
                );
                let expected: Vec<_> = (1..stored).map(|version| kilobyte(&id, version).events.remove(0)).collect();
                assert_eq!(events.into_iter().map(|event| event.body).collect::<Vec<_>>(), expected);
            }
            store.close().await;
        });
    }
}
