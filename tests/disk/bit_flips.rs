//! Bits flip in the store's files. It is refused, or what is read is called damaged, or it is exactly what was written: never
//! anything else.

use super::census::{Census, Finding};
use super::chance::{below, percent, pick};
use super::form::{by_form, first_seed};
use super::power_cut::{block_on, folder};
use super::story::Group;
use super::support::store_conformance as suite;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Appended, Store};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Sessions' groups: some hundreds of events.
const GROUPS: u64 = 14;

/// The files of a store, by the ends of their names.
type Files = BTreeMap<&'static str, Vec<u8>>;

const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

fn files_of(path: &Path) -> Files {
    let of = |suffix| fs::read(format!("{}{suffix}", path.display())).ok().map(|content| (suffix, content));
    SUFFIXES.into_iter().filter_map(of).collect()
}

/// A store that was closed, one whose process was killed before its log was ever moved into the file, and one killed after it was
/// in part.
fn make_files() -> [(&'static str, Files); 3] {
    let folder = folder();
    let path = folder.path().join("store.db");
    block_on(async {
        let store = SqliteStore::open(&path, Options::default()).expect("a new store");
        for number in 0..GROUPS / 2 {
            Group::of(number).write(&store).await;
        }
        store.close().await;
        let store = SqliteStore::open(&path, Options::default()).expect("it opens again");
        // What was there is in the file, and all of the rest in the log.
        for number in GROUPS / 2..GROUPS {
            Group::of(number).write(&store).await;
        }
        let logged = files_of(&path);
        let shell = Connection::open(&path).expect("the store");
        shell.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).expect("a checkpoint");
        let moved = files_of(&path);
        drop(shell);
        store.close().await;
        [("closed", files_of(&path)), ("killed", logged), ("killed after a checkpoint", moved)]
    })
}

/// Flips bits: one, several in a sector, or several anywhere in one file.
fn flip(files: &mut Files, suffix: &str, dice: &mut SeededDice) -> String {
    let content = files.get_mut(suffix).expect("there is such a file");
    let at = below(dice, content.len());
    let mut places = vec![at];
    if percent(dice, 40) {
        let near = percent(dice, 50);
        for _ in 0..1 + below(dice, 7) {
            let other = if near { at / 512 * 512 + below(dice, 512) } else { below(dice, content.len()) };
            places.push(other.min(content.len() - 1));
        }
    }
    for &place in &places {
        content[place] ^= 1 << dice.below(8);
    }
    format!("store.db{suffix} at {places:?}")
}

#[test]
fn no_flipped_bit_makes_a_silently_wrong_state() {
    let seed = first_seed();
    let dice = &mut SeededDice::new(seed);
    let sources = make_files();
    let census = Census::of(0..GROUPS);
    let mut tally: BTreeMap<(String, Finding), usize> = BTreeMap::new();
    let mut silent = Vec::new();
    for n in 0..by_form(200, 5_000) {
        let (kind, files) = if n % 2 == 0 { &sources[0] } else { pick(dice, &sources[1..]) };
        let mut files = files.clone();
        let suffix = if n % 2 == 0 { "" } else { *pick(dice, &["", "-wal", "-wal", "-wal", "-shm"]) };
        let flipped = flip(&mut files, suffix, dice);
        let finding = find(&files, &census);
        if let Finding::Wrong(what) = &finding {
            silent.push(format!("{kind}, {flipped}: {what}"));
        }
        *tally.entry((format!("{kind}: store.db{suffix}"), finding.kind())).or_default() += 1;
    }
    for ((place, finding), times) in &tally {
        report!("{place:45} {finding:?}: {times}");
    }
    silent.iter().take(40).for_each(|what| report!("{what}"));
    assert_eq!(silent.len(), 0, "silently wrong; MANCALA_TEST_SEED={seed}");
}

fn find(files: &Files, census: &Census) -> Finding {
    let folder = folder();
    let path = folder.path().join("store.db");
    for (suffix, content) in files {
        fs::write(format!("{}{suffix}", path.display()), content).expect("a file");
    }
    block_on(async {
        match SqliteStore::open(&path, Options { readers: 1, ..Options::default() }) {
            Err(error) => Finding::Refused(error.to_string()),
            Ok(store) => {
                let finding = census.take(&store).await;
                store.close().await;
                finding
            }
        }
    })
}

/// After a power cut nothing tells a last transaction that was damaged from one that was never finished. All before it are safe.
#[test]
fn without_shared_memory_only_the_last_transaction_can_be_lost() {
    let dice = &mut SeededDice::new(first_seed());
    let folder = folder();
    let path = folder.path().join("store.db");
    let (files, ends) = block_on(async {
        let store = SqliteStore::open(&path, Options::default()).expect("a new store");
        let mut ends = Vec::new();
        for version in 0..10 {
            match version {
                0 => drop(store.create(suite::create("s")).await.expect("create")),
                _ => assert_eq!(store.append(suite::append("s", version)).await, Ok(Appended::Done)),
            }
            ends.push(files_of(&path)["-wal"].len());
        }
        (files_of(&path), ends)
    });
    let last = ends[8];
    for n in 0..by_form(60, 2_000) {
        let mut files = files.clone();
        files.remove("-shm");
        let log = files.get_mut("-wal").expect("a log");
        // In the header, in any of the transactions, and in the last.
        let at = match n % 3 {
            0 => below(dice, 32),
            1 => below(dice, last),
            _ => last + below(dice, log.len() - last),
        };
        log[at] ^= 1 << dice.below(8);
        for (suffix, content) in &files {
            fs::write(folder.path().join(format!("copy.db{suffix}")), content).expect("a file");
        }
        let opened = SqliteStore::open(&folder.path().join("copy.db"), Options::default());
        match opened {
            Err(error) => {
                assert!(at < last && error.to_string().contains("its log is not as it was written"), "byte {at}: {error}")
            }
            Ok(store) => block_on(async {
                let events = store.read("s", 0, 100).await.expect("a read").expect("the session").len();
                assert!(at >= last && events == 9, "byte {at} of {last} was flipped, and {events} events are left");
                store.close().await;
            }),
        }
        for suffix in SUFFIXES {
            // Closing removes the log, if it was opened.
            let _ = fs::remove_file(folder.path().join(format!("copy.db{suffix}")));
        }
    }
}
