//! The disk fills up, becomes read-only, or is no longer ours to write, while players play. They are told, reads go on, and once
//! it is writable again so is everything else, by itself.

use super::form::by_form;
use super::players::{Table, make_tables, play, until};
use super::power_cut::block_on;
use super::program::Program;
use super::support::sandbox::{build_preload, mount_small_disk, text, with_own_mounts};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;
use tonic_health::pb::health_check_response::ServingStatus;

/// What happens to the disk.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Full,
    /// Writes fail with this error: EROFS or EACCES.
    Refuses(i32),
}

const FAULTS: [Fault; 3] = [Fault::Full, Fault::Refuses(30), Fault::Refuses(13)];

/// Far longer than a call takes, so that none is refused since it took too long.
const UNHURRIED: (&str, &str) = ("MANCALA_SERVER__REQUEST_TIMEOUT", "30s");

/// Takes all the room that is left.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).expect("a file");
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

#[test]
fn writes_resume_by_themselves_and_nothing_is_lost() {
    with_own_mounts("unwritable::writes_resume_by_themselves_and_nothing_is_lost", || {
        let folder = TempDir::new().expect("a folder");
        let disk = folder.path().join("disk");
        fs::create_dir(&disk).expect("a folder");
        // The log of a store has some 50 MiB before it is moved into the file, and must not fill the disk by itself: then nothing resumes.
        let _mounted = mount_small_disk(&disk, 128 << 10);
        let library = build_preload("failing_write", folder.path());
        let (store, flag) = (disk.join("store.db"), folder.path().join("flag"));
        let failing = [("LD_PRELOAD", text(&library)), ("FAIL_WRITE_WHILE", text(&flag)), ("FAIL_WRITE_IN", text(&disk))];
        let variables = [&failing[..], &[UNHURRIED]].concat();
        block_on(async {
            let mut program = Program::serve_with(&store, &variables);
            let mut tables = make_tables(&program, 4, None).await;
            for round in 0..by_form(1, 50) {
                for fault in FAULTS {
                    tables = suffer(&program, tables, fault, &disk.join("ballast"), &flag).await;
                }
                // It is killed, or told to stop, and starts again.
                if round % 2 == 0 {
                    drop(program);
                } else {
                    program.stop();
                }
                program = Program::serve_with(&store, &variables);
                for table in &tables {
                    table.audit(&program).await;
                }
            }
            program.stop();
        });
    });
}

/// Plays through a fault and beyond it.
async fn suffer(program: &Program, tables: Vec<Table>, fault: Fault, ballast: &Path, flag: &Path) -> Vec<Table> {
    let before: usize = tables.iter().map(|table| table.acknowledged.len()).sum();
    let (stop, stopped) = watch::channel(false);
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        match fault {
            Fault::Full => fill(ballast),
            Fault::Refuses(error) => fs::write(flag, error.to_string()).expect("a flag"),
        }
        until(program, ServingStatus::NotServing).await;
        match fault {
            Fault::Full => fs::remove_file(ballast),
            Fault::Refuses(_) => fs::remove_file(flag),
        }
        .expect("it is there");
        until(program, ServingStatus::Serving).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send_replace(true);
    };
    let (played, ()) = tokio::join!(play(program, tables, stopped), meanwhile);
    let (tables, met) = played;
    let after: usize = tables.iter().map(|table| table.acknowledged.len()).sum();
    report!("{fault:?}: {} moves acknowledged, refusals {:?}", after - before, met.refusals);
    // A full disk has certainly not taken it. Another that fails may have.
    let told = match fault {
        Fault::Full => &["STORE_FULL"][..],
        Fault::Refuses(_) => &["OUTCOME_UNKNOWN", "STORE_UNWRITABLE"],
    };
    assert!(!met.refusals.is_empty() && met.refusals.keys().all(|reason| told.contains(&reason.as_str())), "{met:?}");
    for table in &tables {
        table.audit(program).await;
    }
    tables
}
