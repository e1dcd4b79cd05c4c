//! `mancala copy`: cut anywhere and done again it is a copy, and what is not one is told.

use super::filled::{add_long, ask_everything, command, fails, folder_with_store, open, succeeds, unchecked};
use super::form::by_form;
use super::support::sandbox::text;
use mancala::store::{Cursor, Store};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_alike_after_a_copy() {
    let (folder, path) = folder_with_store(60).await;
    let first = open(&path);
    let before = ask_everything(&first.sessions).await;
    let cursor = first.store.latest_change().await.expect("a cursor");
    first.store.close().await;
    let to = folder.path().join("copy.db");
    let said = succeeds(&["copy", "--from", text(&path), "--to", text(&to)]);
    assert!(said.contains(" copied to ") && said.contains("63 sessions, "), "{said}");
    assert!(succeeds(&["verify", "--store", text(&to)]).starts_with("ok: 63 sessions, "));

    let second = open(&to);
    assert!(before.iter().all(|(_, replayed)| *replayed), "all were asked before");
    assert_eq!(ask_everything(&second.sessions).await, before);
    assert_eq!(second.store.changes(cursor, 10).await, Ok(None), "the order of changes is another");
    assert_ne!(second.store.changes(Cursor::start(), 10).await, Ok(None));
    second.store.close().await;

    // It has come to its end; done again it compares.
    let again = succeeds(&["copy", "--from", text(&path), "--to", text(&to)]);
    assert_eq!(again, said);
    let moved_back = folder.path().join("back.db");
    succeeds(&["copy", "--from", text(&to), "--to", text(&moved_back)]);
}

/// Events that have arrived in a target, as far as it can be read.
fn arrived(path: &Path) -> i64 {
    let count = || {
        let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        reader.query_row("SELECT count(*) FROM events", [], |row| row.get(0))
    };
    count().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_it_goes_on() {
    let most = by_form(4, 40);
    let (folder, path) = folder_with_store(most * 80).await;
    add_long(&path, "long", 5_000).await;
    let to = folder.path().join("copy.db");
    let arguments = ["copy", "--from", text(&path), "--to", text(&to)];
    let (mut kills, mut goal) = (0, 1);
    loop {
        let mut child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let begun = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().expect("a process") {
                break Some(status);
            }
            if kills < most && arrived(&to) >= goal {
                break None;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it hangs");
            std::thread::sleep(Duration::from_millis(1));
        };
        let Some(status) = ended else {
            child.kill().expect("killed");
            child.wait().expect("an end");
            kills += 1;
            let said = fails(&["serve", "--listen", "127.0.0.1:0", "--store", text(&to)], 1);
            assert!(said.contains("is half copied from"), "{said}");
            // Each time a portion further at least.
            goal = arrived(&to) + 1;
            continue;
        };
        assert!(status.success(), "after {kills} kills: {status}");
        break;
    }
    assert!(kills >= most / 2, "it was killed {kills} times");
    let said = succeeds(&arguments);
    assert!(said.contains(" copied to "), "{said}");
    assert!(succeeds(&["verify", "--store", text(&to)]).starts_with(&format!("ok: {} sessions, ", most * 80 + 4)));
}

/// Changes of a target that is half copied or whole, and a part of what is said of them.
const PLANTED: &[(&str, &str)] = &[
    ("UPDATE events SET body = body || ' ' WHERE seq = 2 AND S", "session made: event 2 is another"),
    ("UPDATE events SET hash = zeroblob(32) WHERE seq = 3 AND S", "session made: event 3 is another"),
    ("UPDATE events SET digest = zeroblob(32) WHERE seq = 3 AND S", "session made: event 3 is another"),
    ("UPDATE sessions SET summary = '{}' WHERE session_id = 'made'", "session made"),
    ("UPDATE sessions SET deadline = 7 WHERE session_id = 'made'", "session made"),
    ("INSERT INTO tombstones VALUES ('extra', 1, NULL, NULL, NULL)", "session extra was deleted in one of them only"),
    ("UPDATE tombstones SET deleted = 1", "session deleted"),
    (
        "INSERT INTO creations VALUES ('extra', zeroblob(32), 'made', NULL)",
        "request extra has made something in one of them only",
    ),
    ("UPDATE creations SET digest = zeroblob(32) WHERE request_id = 'make'", "request make"),
    ("DELETE FROM batches", "request make-batch"),
];

/// What is missing is copied by the next run while the copy is half, and told once it is whole.
const MISSING: &[(&str, &str)] =
    &[("DELETE FROM creations WHERE request_id = 'make'", "request make"), ("DELETE FROM tombstones", "session deleted")];

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_differs_is_told() {
    let (folder, path) = folder_with_store(5).await;
    let whole = folder.path().join("whole.db");
    succeeds(&["copy", "--from", text(&path), "--to", text(&whole)]);
    let half = folder.path().join("half.db");
    std::fs::copy(&whole, &half).expect("a copy");
    let mark = "UPDATE events SET checksum = NULL, body = replace(body, 'true', 'false') WHERE session = -1";
    assert_eq!(Connection::open(&half).expect("a file").execute(mark, []), Ok(1));

    let changed = folder.path().join("changed.db");
    let planted = PLANTED.iter().map(|it| (it, true)).chain(MISSING.iter().map(|it| (it, false)));
    for ((sql, part), also_half) in planted {
        for (base, is_half) in [(&whole, false), (&half, true)] {
            std::fs::copy(base, &changed).expect("a copy");
            let hand = Connection::open(&changed).expect("the file");
            let sql = unchecked(sql).replace("AND S", "AND session = (SELECT key FROM sessions WHERE session_id = 'made')");
            assert_eq!(hand.execute(&sql, []), Ok(1), "{sql}");
            hand.close().expect("closed");
            let arguments = ["copy", "--from", text(&path), "--to", text(&changed)];
            if is_half && !also_half {
                succeeds(&arguments);
                continue;
            }
            let output = super::filled::mancala(&arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{sql}: {said}");
            assert!(said.contains(part), "{sql}, half: {is_half}: {said}");
            if is_half {
                let said = fails(&["verify", "--store", text(&changed)], 1);
                assert!(said.contains("is half copied"), "{sql}: {said}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_makes_no_sense_is_not_copied() {
    let (folder, path) = folder_with_store(5).await;
    let hand = Connection::open(&path).expect("the file");
    hand.execute("UPDATE sessions SET checksum = NULL, state = 9 WHERE session_id = 'made'", []).expect("a change");
    hand.close().expect("closed");
    let said = fails(&["copy", "--from", text(&path), "--to", text(&folder.path().join("copy.db"))], 1);
    assert!(said.contains("session made of the source can't be read"), "{said}");
}
