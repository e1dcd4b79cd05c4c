//! `mancala verify` finds what is wrong, says where, and nothing else.

use super::filled::{add_long, command, fails, folder_with_store, mancala, succeeds, unchecked};
use super::program::Program;
use super::support::sandbox::text;
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// What it prints for programs, and whether it found nothing.
fn verified(path: &Path) -> (Value, bool) {
    let output = mancala(&["verify", "--json", "--store", text(path)]);
    let found = serde_json::from_slice(&output.stdout).expect("JSON");
    (found, output.status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_store_is_sound_also_while_a_server_runs() {
    let (folder, path) = folder_with_store(50).await;
    // More than is read at a time.
    add_long(&path, "long", 4_500).await;
    let before = std::fs::read(&path).expect("the file");
    let (found, sound) = verified(&path);
    assert!(sound, "{found}");
    assert_eq!(found["sessions"], 54);
    assert_eq!(found["requests"], 3);
    assert!(found["events"].as_u64().expect("a number") > 5_000, "{found}");
    assert_eq!((found["fault_count"].as_u64(), found["faults"].as_array().map(Vec::len)), (Some(0), Some(0)));
    assert_eq!(std::fs::read(&path).expect("the file"), before, "it has changed nothing");

    let server = Program::serve(&path);
    let said = succeeds(&["verify", "--store", text(&path)]);
    assert!(said.starts_with("ok: 54 sessions, "), "{said}");
    server.stop();
    drop(folder);
}

/// Changes that are made behind the back of a store, the session that they concern, and a part of what is said.
const PLANTED: &[(&str, &str, &str)] = &[
    ("UPDATE events SET body = body || ' ' WHERE S AND seq = 2", "made", "event 2: its hash"),
    ("UPDATE events SET time = time + 1 WHERE S AND seq = 2", "made", "event 2: its hash"),
    ("UPDATE events SET hash = zeroblob(32) WHERE S AND seq = 2", "made", "event 2: its hash"),
    ("UPDATE events SET hash = NULL WHERE S AND seq = 2", "made", "event 2: its hash"),
    ("UPDATE events SET request_id = 'other' WHERE S AND seq = 3", "made", "event 3: its hash"),
    ("UPDATE events SET request_id = 'make', first = 0 WHERE S AND seq = 3", "made", "event 3: request make was another"),
    ("UPDATE events SET digest = NULL WHERE S AND seq = 3", "made", "Null"),
    ("UPDATE events SET body = CAST(x'ff41' AS TEXT) WHERE S AND seq = 2", "made", "utf-8"),
    ("DELETE FROM events WHERE S AND seq = 1", "made", "event 2 follows on event 0"),
    ("DELETE FROM events WHERE S AND seq = 2", "made", "event 3 follows on event 1"),
    ("DELETE FROM events WHERE S AND seq = 3", "made", "its version in lists"),
    ("DELETE FROM events WHERE S", "made", "it has no events"),
    ("UPDATE sessions SET version = 2 WHERE S", "made", "its version in lists"),
    ("UPDATE sessions SET version = -1 WHERE S", "made", "-1"),
    ("UPDATE sessions SET game = 'gore' WHERE S", "made", "its game in lists"),
    ("UPDATE sessions SET labels = '{}' WHERE S", "made", "its labels in lists"),
    ("UPDATE sessions SET labels = '{' WHERE S", "made", "EOF"),
    ("UPDATE sessions SET created = 1 WHERE S", "made", "its time of creation"),
    ("UPDATE sessions SET updated = 1 WHERE S", "made", "its time of the last change"),
    ("UPDATE sessions SET state = 1 WHERE S", "made", "its state in lists"),
    ("UPDATE sessions SET state = 9 WHERE S", "made", "9"),
    ("UPDATE sessions SET south_player = 'ana' WHERE S", "made", "its players in lists"),
    ("UPDATE sessions SET expires = 1 WHERE S", "made", "its time of deletion"),
    ("UPDATE sessions SET deadline = 1 WHERE S", "made", "its deadline in lists"),
    ("UPDATE sessions SET summary = replace(summary, '\"ply\":2', '\"ply\":1') WHERE S", "made", "its summary in lists"),
    ("UPDATE sessions SET summary = '' WHERE S", "made", "its summary in lists can't be read"),
    ("DELETE FROM sessions WHERE S", "made", "request make has made it, and it is neither there nor deleted"),
    ("DELETE FROM tombstones", "deleted", "request make-deleted has made it, and it is neither there nor deleted"),
    ("DELETE FROM creations WHERE request_id = 'make'", "made", "the store has forgotten"),
    ("UPDATE creations SET digest = zeroblob(32) WHERE request_id = 'make'", "made", "the store has forgotten"),
    ("UPDATE creations SET session_id = 'batch-a' WHERE request_id = 'make'", "made", "the store has forgotten"),
    ("DELETE FROM batches", "batch-a", "the store has forgotten"),
    ("DELETE FROM labels", "", "its table labels"),
    ("DELETE FROM players", "", "its table players"),
];

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_changed_is_found() {
    let (folder, sound) = folder_with_store(5).await;
    for (n, (sql, session_id, part)) in PLANTED.iter().enumerate() {
        let path = folder.path().join(format!("{n}.db"));
        std::fs::copy(&sound, &path).expect("a copy");
        let table = sql.split(' ').nth(if sql.starts_with("UPDATE") { 1 } else { 2 }).expect("a table");
        let place = if table == "events" {
            "session = (SELECT key FROM sessions WHERE session_id = 'made')"
        } else {
            "session_id = 'made'"
        };
        let hand = Connection::open(&path).expect("the file");
        let changed = hand.execute(&unchecked(sql).replace("WHERE S", &format!("WHERE {place}")), []).expect("a change");
        assert!(changed > 0, "{sql}: nothing is changed");
        hand.close().expect("closed");
        let (found, sound) = verified(&path);
        assert!(!sound, "{sql}: not found");
        let faults = found["faults"].as_array().expect("a list");
        assert_eq!(found["fault_count"], faults.len(), "{sql}: {found}");
        // What is wrong with a session may show in what leads to it, too.
        let of = |session: bool| faults.iter().filter(move |fault| session == (fault["session_id"] != ""));
        assert_eq!(of(true).count(), usize::from(!session_id.is_empty()), "{sql}: {found}");
        assert!(of(false).count() <= 1, "{sql}: {found}");
        let fault = of(!session_id.is_empty()).next().unwrap_or_else(|| panic!("{sql}: {found}"));
        assert_eq!(fault["session_id"], *session_id, "{sql}: {found}");
        let what = fault["what"].as_str().expect("text");
        assert!(what.contains(part), "{sql}: {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_long_sessions_are_told_once() {
    let (folder, path) = folder_with_store(0).await;
    add_long(&path, "long", 6_500).await;
    for seq in [100, 2_500, 6_000] {
        let changed = folder.path().join("changed.db");
        std::fs::copy(&path, &changed).expect("a copy");
        let hand = Connection::open(&changed).expect("the file");
        let sql = "UPDATE events SET checksum = NULL, hash = zeroblob(32) WHERE seq = ?1";
        assert_eq!(hand.execute(sql, [seq]), Ok(1));
        hand.close().expect("closed");
        let (found, _) = verified(&changed);
        assert_eq!(found["fault_count"], 1, "{found}");
        assert!(found["faults"][0]["what"].as_str().expect("text").starts_with(&format!("event {seq}: ")), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_faults_are_counted_and_the_first_told() {
    let (folder, path) = folder_with_store(150).await;
    let hand = Connection::open(&path).expect("the file");
    hand.execute("UPDATE sessions SET checksum = NULL, game = 'chess' WHERE session_id LIKE 'played-%'", []).expect("a change");
    hand.close().expect("closed");
    let output = mancala(&["verify", "--store", text(&path)]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 102, "{said}");
    assert!(lines[..100].iter().all(|line| line.starts_with("played-") && line.ends_with("events make")), "{said}");
    assert_eq!(lines[100], "and 50 more");
    assert!(lines[101].starts_with("150 faults: 153 sessions, "), "{said}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("150 faults in 153 sessions"));
    drop(folder);
}

#[test]
fn the_store_of_the_configuration_is_meant_unless_one_is_named() {
    let said = fails(&["verify", "--store", "/nowhere/store.db"], 1);
    assert!(said.contains("there is no file /nowhere/store.db"), "{said}");
    let output = command(&["verify"]).env("MANCALA_STORE__PATH", "/nowhere/other.db").output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no file /nowhere/other.db"));
}
