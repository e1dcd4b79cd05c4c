//! Files that must not be opened, and what is said of them.

use super::support::sandbox::{
    Companion, SAYS, companions_store, inside, mount_read_only, mount_small_disk, with_own_mounts, without_privileges,
};
use super::support::store_conformance as suite;
use super::{block_on, folder, open, options, refusal};
use mancala::store::sqlite::{OpenError, Options, SqliteStore};
use mancala::store::{Create, Created, Health, Store, StoreError};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

/// A closed store with this many sessions of 20 events.
fn make_store(path: &Path, sessions: u32) {
    block_on(async {
        let store = open(path).expect("a new store");
        for n in 0..sessions {
            let head = mancala::store::Head { version: 20, ..suite::create(&format!("s{n}")).head };
            let events = (0..20).map(|n| format!("{n}{}", "x".repeat(200))).collect();
            assert_eq!(store.create(Create { head, events, request: None }).await, Ok(Created::Done));
        }
        store.close().await;
    });
}

/// A file is refused, and not a byte of its folder has changed.
fn assert_refused_untouched(path: &Path) -> OpenError {
    let contents = || {
        let mut files: Vec<_> = fs::read_dir(path.parent().expect("a folder"))
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (fs::read(&path).expect("a file"), path))
            .collect();
        files.sort_by(|a, b| a.1.cmp(&b.1));
        files
    };
    let before = contents();
    let error = refusal(path);
    assert!(contents() == before, "files were changed by a refusal");
    error
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    for content in ["x", "These are my notes, not a database.\n", &"SQLite format 3".repeat(100), "SQLite format 3\0"] {
        fs::write(&path, content).expect("a file");
        let error = assert_refused_untouched(&path);
        assert!(matches!(error, OpenError::NotADatabase { .. }), "{error}");
        assert!(error.to_string().contains("notes.txt"), "{error}");
    }
}

#[test]
fn another_applications_database_is_refused_and_left_alone() {
    for (application_id, journal) in [(0, "delete"), (0x1234, "delete"), (0, "wal"), (-2, "wal")] {
        let folder = folder();
        let path = folder.path().join("other.db");
        let other = Connection::open(&path).expect("a database");
        other.pragma_update(None, "application_id", application_id).expect("an id");
        other.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(())).expect("a journal mode");
        other.execute_batch("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')").expect("a table");
        // With the log of a program that runs, or was killed, beside it.
        let error = assert_refused_untouched(&path);
        assert!(matches!(error, OpenError::Foreign { application_id: found, .. } if found == application_id), "{error}");
        drop(other);
        assert!(matches!(assert_refused_untouched(&path), OpenError::Foreign { .. }));
    }
}

#[test]
fn a_folder_is_refused() {
    let folder = folder();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::NotAFile { .. }), "{error}");
}

#[test]
fn what_is_left_of_a_store_that_was_not_finished_is_in_nobodys_way() {
    let folder = folder();
    let path = folder.path().join("store.db");
    for left in ["store.db.new", "store.db.new-journal"] {
        std::fs::write(folder.path().join(left), "half a page").expect("a file");
    }
    make_store(&path, 1);
    let names = std::fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("a file").file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains(".new")), "nothing of it stays");
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("store.db");
    make_store(&path, 1);
    let newer = Connection::open(&path).expect("the store");
    newer.pragma_update(None, "user_version", 99).expect("a version");
    drop(newer);
    // The lock's file, which holds a process id, is there before and after.
    let error = assert_refused_untouched(&path);
    let OpenError::NewerSchema { found: 99, known, .. } = error else { panic!("{error}") };
    assert!(error.to_string().contains(&format!("schema 99, this program knows {known}")), "{error}");
}

#[test]
fn a_second_open_is_refused_also_by_another_name() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let first = open(&path).expect("a new store");
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    for name in [path.clone(), link, folder.path().join("./store.db")] {
        let error = refusal(&name);
        assert!(matches!(error, OpenError::Locked { holder: Some(pid), .. } if pid == std::process::id()), "{error}");
    }
    drop(first);
    open(&path).expect("the lock is free");
}

#[test]
fn a_second_process_is_told_who_holds_the_file() {
    let test = "files::a_second_process_is_told_who_holds_the_file";
    if inside(test) {
        let _store = open(&companions_store()).expect("a new store");
        println!("{SAYS}open");
        // Until it is killed.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let folder = folder();
    let path = folder.path().join("store.db");
    let mut other = Companion::start(test, &path);
    assert_eq!(other.hear().as_deref(), Some("open"));
    let error = refusal(&path);
    assert!(matches!(error, OpenError::Locked { holder: Some(pid), .. } if pid == other.pid()), "{error}");
    assert!(error.to_string().contains(&format!("(process {})", other.pid())), "{error}");

    other.kill();
    open(&path).expect("a killed process holds nothing");
}

#[test]
fn another_program_that_writes_is_named_as_the_cause() {
    let folder = folder();
    let path = folder.path().join("store.db");
    make_store(&path, 1);
    let shell = Connection::open(&path).expect("the store");
    shell.execute_batch("BEGIN IMMEDIATE").expect("its lock");
    let error = refusal(&path);
    assert!(matches!(error, OpenError::Busy { .. }), "{error}");
    drop(shell);
    open(&path).expect("the lock is free");
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("store.db");
    make_store(&path, 100);
    let whole = fs::read(&path).expect("the store");
    for keep in [whole.len() / 2, whole.len() - 4096, whole.len() - 1, 4096, 100, 99, 1] {
        fs::write(&path, &whole[..keep]).expect("a part of it");
        // Even without a look through the whole file.
        let error = match SqliteStore::open(&path, Options { check_up_to: 0, ..options() }) {
            Ok(_) => panic!("{keep} of {} bytes were opened", whole.len()),
            Err(error) => error,
        };
        assert!(matches!(error, OpenError::Damaged { .. } | OpenError::NotADatabase { .. }), "{keep} bytes: {error}");
        assert_eq!(fs::read(&path).expect("the part"), whole[..keep], "it was changed");
    }
    fs::write(&path, &whole).expect("all of it");
    open(&path).expect("the whole is whole");
}

#[test]
fn a_lost_file_beside_its_log_is_refused() {
    let folder = folder();
    let path = folder.path().join("store.db");
    fs::write(folder.path().join("store.db-wal"), "acknowledged writes").expect("a log");
    let error = assert_refused_untouched(&path);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    fs::write(&path, "").expect("an empty file");
    assert!(matches!(assert_refused_untouched(&path), OpenError::Damaged { .. }));
}

/// Overwrites pages in the middle.
fn damage(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("the store");
    let pages = file.metadata().expect("its size").len() / 4096;
    for page in pages / 3..pages {
        file.write_at(&[0xA5; 4096], page * 4096).expect("a write");
    }
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("store.db");
    make_store(&path, 100);
    damage(&path);
    let error = refusal(&path);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("restore a backup"), "{error}");
}

#[test]
fn damage_that_is_met_later_breaks_the_store() {
    let folder = folder();
    let path = folder.path().join("store.db");
    make_store(&path, 100);
    damage(&path);
    block_on(async {
        let unchecked = Options { check_up_to: 0, ..options() };
        let store = SqliteStore::open(&path, unchecked).expect("damage that is not looked for");
        let mut damaged = 0;
        for n in 0..100 {
            match store.read(&format!("s{n}"), 0, 100).await {
                Err(StoreError::Damaged(_)) => damaged += 1,
                Ok(Some(events)) => assert_eq!(events.len(), 20),
                other => panic!("{other:?}"),
            }
        }
        assert!(damaged > 0, "nothing that was read is damaged");
        assert_eq!(*store.health().borrow(), Health::Broken);
        assert!(matches!(store.create(suite::create("t")).await, Err(StoreError::Damaged(_))), "a broken store is not written");
        store.close().await;
    });
}

#[test]
fn a_read_only_folder_or_file_is_refused() {
    with_own_mounts("files::a_read_only_folder_or_file_is_refused", || {
        let folder = folder();
        let path = folder.path().join("a/store.db");
        make_store(&path, 1);
        let _file = mount_read_only(&path);
        let error = refusal(&path);
        assert!(matches!(error, OpenError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("is read-only: make the file, its folder and its disk writable"), "{error}");

        let path = folder.path().join("b/store.db");
        make_store(&path, 1);
        let _folder = mount_read_only(path.parent().expect("a folder"));
        for path in [path.clone(), path.with_file_name("new.db"), path.with_file_name("new").join("new.db")] {
            let error = refusal(&path);
            assert!(matches!(error, OpenError::ReadOnly { .. }), "{error}");
        }
    });
}

#[test]
fn a_file_or_folder_without_permission_is_refused() {
    without_privileges("files::a_file_or_folder_without_permission_is_refused", || {
        let folder = folder();
        let path = folder.path().join("a/store.db");
        make_store(&path, 1);
        for mode in [0o000, 0o400, 0o200] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("our file");
            let error = refusal(&path);
            assert!(matches!(error, OpenError::Permission { .. }), "{mode:o}: {error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("our file");
        open(&path).expect("with permission");

        let parent = path.parent().expect("a folder");
        fs::set_permissions(parent, fs::Permissions::from_mode(0o500)).expect("our folder");
        let error = refusal(&path.with_file_name("new.db"));
        assert!(matches!(error, OpenError::Permission { .. }), "{error}");
        fs::set_permissions(parent, fs::Permissions::from_mode(0o700)).expect("our folder");
    });
}

#[test]
fn a_full_disk_is_refused_at_start() {
    with_own_mounts("files::a_full_disk_is_refused_at_start", || {
        let folder = folder();
        let _mounted = mount_small_disk(folder.path(), 1024);
        let path = folder.path().join("store.db");
        make_store(&path, 1);
        let ballast = folder.path().join("ballast");
        fs::write(&ballast, vec![1; 4 << 20]).expect_err("more than there is room for");
        for path in [path.clone(), folder.path().join("new.db")] {
            let error = refusal(&path);
            assert!(matches!(error, OpenError::Full { .. }), "{error}");
        }
        fs::remove_file(ballast).expect("it is there");
        let store = open(&path).expect("with room");
        block_on(async { assert_eq!(store.read("s0", 0, 100).await.expect("a read").expect("the session").len(), 20) });
    });
}

#[test]
fn a_table_that_lacks_or_has_a_row_too_much_is_refused() {
    let changes = [
        ("labels", "DELETE FROM labels"),
        ("labels", "UPDATE labels SET value = 'x'"),
        ("labels", "INSERT INTO labels SELECT 'x', 'y', created, session_id, key FROM sessions"),
        ("labels", "INSERT INTO labels VALUES ('x', 'y', 1, 'z', 99)"),
        ("players", "DELETE FROM players"),
        ("players", "UPDATE players SET created = created + 1"),
        ("players", "INSERT INTO players SELECT 'x', created, session_id, key FROM sessions"),
        ("creations", "UPDATE creations SET session_id = 't'"),
        ("batches", "UPDATE batches SET place = 2"),
        ("tombstones", "UPDATE tombstones SET session_id = 'x'"),
    ];
    for (table, change) in changes {
        let folder = folder();
        let path = folder.path().join("store.db");
        block_on(async {
            let store = open(&path).expect("a new store");
            let labels = [("a".to_owned(), "b".to_owned())].into();
            let players = [Some("p".to_owned()), Some("p".to_owned())];
            let head = mancala::store::Head { labels, players, ..suite::create("s").head };
            let create = Create { head, request: Some(suite::request("r")), ..suite::create("s") };
            assert_eq!(store.create(create).await, Ok(Created::Done));
            let batch = suite::create_all([suite::create("t"), suite::create("u")]);
            let batch = mancala::store::CreateAll { request: Some(suite::request("q")), ..batch };
            store.create_all(batch).await.expect("a batch");
            store.delete(suite::delete("u")).await.expect("a deletion");
            store.close().await;
        });
        open(&path).expect("it is sound");
        let hand = Connection::open(&path).expect("the store");
        assert!(hand.execute(change, []).expect("a change") > 0);
        drop(hand);
        let error = refusal(&path);
        assert!(matches!(&error, OpenError::Damaged { .. }) && error.to_string().contains(table), "{change}: {error}");
    }
}
