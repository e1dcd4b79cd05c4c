//! The power is cut at any time while the store is written. What was acknowledged is there when it is back.

use super::chance::below;
use super::drive::{Drive, Remains, Syncs};
use super::form::{by_form, first_seed};
use super::judge::Ledger;
use super::support::sandbox::{again, assert_passed, build_preload, companions_store, inside};
use super::trace::{self, Did, Step};
use super::writer::{End, write};
use mancala::random::SeededDice;
use mancala::store::Store;
use mancala::store::sqlite::{Options, SqliteStore};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// How the runs of the writer end.
const RUNS: [End; 6] = [End::Killed, End::Closed, End::Killed, End::Killed, End::Closed, End::Closed];

/// Set in the writer's process to the number of its run.
const RUN: &str = "MANCALA_TEST_RUN";

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime").block_on(future)
}

/// A folder where syncing costs nothing, if there is one.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder")
}

/// What some writers, as they are, did to a folder. Their store is at this path in it.
fn record(test: &str, store: &str, runs: &[End]) -> Vec<Step> {
    let folder = folder();
    let (trace, disk) = (folder.path().join("trace"), folder.path().join("disk"));
    fs::create_dir(&disk).expect("a folder");
    let library = build_preload("recorded_disk", folder.path());
    for (number, end) in runs.iter().enumerate() {
        let mut command = again(test, &["env"]);
        command.env("LD_PRELOAD", &library).env("RECORD_FOLDER", &disk).env("RECORD_TRACE", &trace);
        let output =
            command.env("MANCALA_TEST_STORE", disk.join(store)).env(RUN, number.to_string()).output().expect("this test");
        match end {
            End::Closed => assert_passed(test, &output),
            End::Killed => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    trace::read(&fs::read(&trace).expect("the trace"))
}

/// How cuts ended.
#[derive(Debug, Default)]
struct Tally {
    cuts: usize,
    /// Those at which something was not yet synced.
    unsynced: usize,
    /// What was wrong, and where.
    wrong: Vec<String>,
}

/// Cuts the power at as many random places of a trace, on a disk that takes these syncs for done, and judges what is left;
/// goes on after so many that are wrong.
fn cut(steps: &[Step], syncs: Syncs, cuts: usize, most_wrong: usize, seed: u64) -> Tally {
    let dice = &mut SeededDice::new(seed);
    let counts = syncs.that_count(steps);
    let mut places: Vec<_> = (0..cuts).map(|_| below(dice, steps.len() + 1)).collect();
    places.sort_unstable();
    let (mut drive, mut ledger, mut at, mut tally) = (Drive::default(), Ledger::default(), 0, Tally::default());
    for place in places {
        for (step, counts) in steps[at..place].iter().zip(&counts[at..place]) {
            match step.did {
                Did::Noted(note) => ledger.take(note),
                _ => drive.take(step, *counts),
            }
        }
        at = place;
        let Remains { files, unsynced } = drive.cut(dice);
        let folder = folder();
        for (name, content) in &files {
            fs::write(folder.path().join(name), content).expect("a file");
        }
        tally.cuts += 1;
        tally.unsynced += usize::from(unsynced);
        if let Err(what) = block_on(judge(&folder.path().join("store.db"), &ledger, dice)) {
            let sizes: Vec<_> = files.iter().map(|(name, content)| format!("{name} {}", content.len())).collect();
            tally.wrong.push(format!("cut after step {place} of {}, {sizes:?}: {what}", steps.len()));
            if tally.wrong.len() == most_wrong {
                break;
            }
        }
    }
    tally
}

async fn judge(path: &Path, ledger: &Ledger, dice: &mut SeededDice) -> Result<(), String> {
    let store = SqliteStore::open(path, Options { readers: 1, ..Options::default() })
        .map_err(|error| format!("it does not open: {error}"))?;
    let end = ledger.judge(&store, dice).await;
    store.close().await;
    end
}

#[test]
fn what_was_acknowledged_survives_a_power_cut() {
    let test = "power_cut::what_was_acknowledged_survives_a_power_cut";
    if inside(test) {
        let run: usize = std::env::var(RUN).expect("set by the outer process").parse().expect("a number");
        return block_on(write(&companions_store(), run as u64, RUNS[run]));
    }
    let seed = first_seed();
    let steps = record(test, "store.db", &RUNS);
    let syncs = steps.iter().filter(|step| step.did == Did::Synced).count();
    let notes = steps.iter().filter(|step| matches!(step.did, Did::Noted(note) if note.answered)).count();
    let checkpoints = steps.windows(2).filter(|pair| pair[0].name.ends_with("-wal") && pair[1].name.ends_with(".db")).count();
    report!("{} steps, {syncs} syncs, {notes} acknowledged requests, {checkpoints} checkpoints", steps.len());

    let tally = cut(&steps, Syncs::All, by_form(200, 20_000), 10, seed);
    report!("power cuts: {}, with unsynced data {}, wrong {}", tally.cuts, tally.unsynced, tally.wrong.len());
    assert_eq!(tally.wrong, [""; 0], "MANCALA_TEST_SEED={seed}");
    assert!(checkpoints >= RUNS.len() && tally.unsynced * 2 > tally.cuts, "cuts at which little could be lost: {tally:?}");

    // What this test is worth: stores that are less careful are found out.
    for syncs in [Syncs::NoneOfFiles, Syncs::LogBeforeCheckpoint, Syncs::NoneOfFolder] {
        let tally = cut(&steps, syncs, by_form(200, 2_000), 1, seed);
        report!("planted {syncs:?}: caught at cut {}: {}", tally.cuts, tally.wrong.first().map_or("not at all", |wrong| wrong));
        assert_eq!(tally.wrong.len(), 1, "{syncs:?} was not caught, MANCALA_TEST_SEED={seed}");
    }
}

#[test]
fn a_new_folder_survives_a_power_cut() {
    let test = "power_cut::a_new_folder_survives_a_power_cut";
    if inside(test) {
        let store = SqliteStore::open(&companions_store(), Options::default()).expect("a new store");
        return block_on(store.close());
    }
    let steps = record(test, "new/store.db", &[End::Closed]);
    let of_folder: Vec<_> = steps.iter().map(|step| (step.name.as_str(), &step.did)).collect();
    assert_eq!(of_folder[..2], [("new", &Did::MadeFolder), (".", &Did::Synced)], "it is synced into the folder that it is in");
}
