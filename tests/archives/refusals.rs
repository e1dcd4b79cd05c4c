//! What backup, verify and copy refuse, by its reason.

use super::filled::{fails, folder_with_store, mancala, open, succeeds};
use super::program::Program;
use super::support::sandbox::text;
use mancala::store::Store;
use mancala::store::archive::Intake;
use mancala::store::sqlite::{OpenError, Options, SqliteIntake, SqliteStore};
use rusqlite::Connection;
use std::path::Path;
use tempfile::TempDir;

fn backup(from: &Path, to: &Path) -> String {
    fails(&["backup", "--store", text(from), "--to", text(to)], 1)
}

fn copy(from: &Path, to: &Path) -> String {
    fails(&["copy", "--from", text(from), "--to", text(to)], 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_put_over_nothing_unless_that_is_said() {
    let (folder, path) = folder_with_store(0).await;
    let to = folder.path().join("backup.db");
    std::fs::write(&to, "precious").expect("a file");
    let said = backup(&path, &to);
    assert!(said.contains("backup.db is there already: choose another file, or say"), "{said}");
    assert_eq!(std::fs::read_to_string(&to).expect("the file"), "precious");
    succeeds(&["backup", "--store", text(&path), "--to", text(&to), "--overwrite"]);
    succeeds(&["verify", "--store", text(&to)]);

    let said = fails(&["backup", "--store", text(&path), "--to", text(&path), "--overwrite"], 1);
    assert!(said.contains("is the store itself"), "{said}");
    let server = Program::serve(&to);
    let said = fails(&["backup", "--store", text(&path), "--to", text(&to), "--overwrite"], 1);
    assert!(said.contains("is in use by a server"), "{said}");
    server.stop();
    std::fs::write(folder.path().join("new.db-wal"), "left over").expect("a file");
    let said = backup(&path, &folder.path().join("new.db"));
    assert!(said.contains("new.db-wal lies beside the place of the backup"), "{said}");
    let said = backup(&path, &folder.path().join("no folder/new.db"));
    assert!(said.contains("can't be written: No such file or directory"), "{said}");
    let said = fails(&["backup", "--store", "postgres://host/games", "--to", text(&to)], 2);
    assert!(said.contains("use pg_basebackup") && said.contains("`mancala copy`"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_store_is_not_read() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text"), "no database, but longer than the header of one".repeat(9)).expect("a file");
    Connection::open(at("foreign")).expect("a file").execute_batch("CREATE TABLE t (n)").expect("a table");
    std::fs::write(at("empty"), "").expect("a file");
    let older = Connection::open(at("older")).expect("a file");
    older.execute_batch(include_str!("../vectors/store_version_1.sql")).expect("its tables");
    older.close().expect("closed");
    for (name, part) in [
        ("missing", "there is no file"),
        ("text", "is not a database"),
        ("foreign", "belongs to another application"),
        ("empty", "is not a database"),
        ("older", "has schema 1, this program reads 5: start a server on it once"),
    ] {
        for said in
            [fails(&["verify", "--store", text(&at(name))], 1), backup(&at(name), &at("backup")), copy(&at(name), &at("copy"))]
        {
            assert!(said.contains(part), "{name}: {said}");
        }
        assert!(!at("backup").exists() && !at("copy").exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_copies_what_a_server_uses() {
    let (folder, path) = folder_with_store(1).await;
    let to = folder.path().join("copy.db");
    let server = Program::serve(&path);
    let said = copy(&path, &to);
    assert!(said.contains(&format!("store.db is in use by another server (process {})", server.pid())), "{said}");
    assert!(!to.exists());
    server.stop();
    let server = Program::serve(&to);
    let said = copy(&path, &to);
    assert!(said.contains(&format!("copy.db is in use by another server (process {})", server.pid())), "{said}");
    server.stop();

    let again = fails(&["copy", "--from", text(&path), "--to", &format!("sqlite:{}", text(&path))], 2);
    assert!(again.contains("is both the source and the target"), "{again}");
    let output = mancala(&["copy", "--from", text(&path), "--to", "mysql://host/games"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected sqlite:PATH or postgres://"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_must_be_empty_or_a_copy_of_the_same() {
    let (folder, path) = folder_with_store(2).await;
    let at = |name: &str| folder.path().join(name);
    for name in ["full.db", "other.db"] {
        let opened = open(&at(name));
        if name == "full.db" {
            super::filled::ask_everything(&opened.sessions).await;
        }
        opened.store.close().await;
    }
    let said = copy(&path, &at("full.db"));
    assert!(said.contains("full.db holds sessions that no copy has put there: choose an empty target"), "{said}");
    // A store without sessions is as good as none.
    succeeds(&["copy", "--from", text(&path), "--to", text(&at("other.db"))]);
    let said = copy(&at("full.db"), &at("other.db"));
    assert!(said.contains("store.db, or a part of one: choose another target"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_half_copied_is_not_used() {
    let (folder, path) = folder_with_store(1).await;
    let half = folder.path().join("half.db");
    let target = SqliteIntake::open(&half).expect("it opens");
    target.begin("sqlite:/elsewhere.db", 1).await.expect("begin");
    target.close().await;
    let refused = SqliteStore::open(&half, Options::default());
    assert!(matches!(refused, Err(OpenError::HalfCopied { from, .. }) if from == "sqlite:/elsewhere.db"));
    let part = "half.db is half copied from sqlite:/elsewhere.db: run `mancala copy` again, which goes on where it was cut";
    for said in [
        fails(&["serve", "--listen", "127.0.0.1:0", "--store", text(&half)], 1),
        fails(&["verify", "--store", text(&half)], 1),
        backup(&half, &folder.path().join("backup.db")),
        copy(&half, &folder.path().join("copy.db")),
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = copy(&path, &half);
    assert!(said.contains("is a copy of sqlite:/elsewhere.db, or a part of one"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let (folder, path) = folder_with_store(3).await;
    let to = folder.path().join("copy.db");
    let arguments = ["copy", "--dry-run", "--from", text(&path), "--to", text(&to)];
    let said = succeeds(&arguments);
    let totals = said.split_once("which is empty: ").unwrap_or_else(|| panic!("{said}")).1.to_owned();
    assert!(said.starts_with(&format!("would copy sqlite:{} to sqlite:{}", path.display(), to.display())), "{said}");
    assert!(totals.starts_with("6 sessions, ") && totals.ends_with(" 1 deleted sessions, 3 requests\n"), "{totals}");
    assert!(!to.exists());
    let target = SqliteIntake::open(&to).expect("it opens");
    target.begin(&format!("sqlite:{}", path.display()), 1).await.expect("begin");
    target.close().await;
    assert!(succeeds(&arguments).starts_with("would go on copying"));
    succeeds(&["copy", "--from", text(&path), "--to", text(&to)]);
    assert!(succeeds(&arguments).contains("is a copy of sqlite:"));
    open(&folder.path().join("full.db")).sessions.create(super::filled::new("s", None)).await.expect("a session");
    let full = folder.path().join("full.db");
    let said = fails(&["copy", "--dry-run", "--from", text(&path), "--to", text(&full)], 1);
    assert!(said.contains("holds sessions that no copy has put there"), "{said}");
}
