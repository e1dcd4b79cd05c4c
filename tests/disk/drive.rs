//! A disk that keeps what it must and, when the power is cut, any part of the rest.
//!
//! What it must keep is what POSIX promises, no more: a file's content and length up to its last fsync, and the names in a folder
//! up to the folder's. Of what came after any sectors may have been written, in any order, and any length of a file set; each
//! name is there or not by itself. A sector is written whole or not at all.

use super::chance::{below, percent, pick};
use super::trace::{Did, Step};
use mancala::random::SeededDice;
use std::collections::BTreeMap;

const SECTOR: usize = 512;
const PAGE: usize = 4096;
const FOLDER: &str = ".";

/// The end of the name of a file that need not survive, and is never synced.
const NEVER_SYNCED: &str = ".lock";

/// Which syncs are taken for done: all, or those of a store that is less careful than ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    All,
    /// None of a file: `synchronous=OFF`.
    NoneOfFiles,
    /// Of the log only those before it is moved into the file: `synchronous=NORMAL`.
    LogBeforeCheckpoint,
    /// None of the folder.
    NoneOfFolder,
}

/// A file: what is on the disk for sure, and what was done since.
#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Did>,
}

/// All files ever made, by a number each, and the folder.
#[derive(Debug, Default)]
pub struct Drive {
    files: Vec<File>,
    /// As the process sees it.
    names: BTreeMap<String, usize>,
    /// As it is on the disk for sure.
    durable_names: BTreeMap<String, usize>,
    /// What SQLite's shared memory began with, last and before that.
    shared: Vec<(String, Vec<u8>)>,
}

/// What is found after the power came back.
pub struct Remains {
    pub files: BTreeMap<String, Vec<u8>>,
    /// Whether anything was not yet synced.
    pub unsynced: bool,
}

impl Drive {
    /// Takes in a step. `counts`: if it is a sync, it is done.
    pub fn take(&mut self, step: &Step, counts: bool) {
        let Step { name, did } = step;
        if name == FOLDER {
            if counts && *did == Did::Synced {
                self.durable_names.clone_from(&self.names);
            }
            return;
        }
        match did {
            Did::Created => {
                self.files.push(File::default());
                self.names.insert(name.clone(), self.files.len() - 1);
            }
            Did::Unlinked => {
                self.names.remove(name);
            }
            Did::Renamed(to) => {
                let file = self.names.remove(name).expect("a file of this name");
                self.names.insert(to.clone(), file);
            }
            Did::Wrote { .. } | Did::Resized(_) => self.files[self.names[name]].pending.push(did.clone()),
            Did::Synced if counts => self.files[self.names[name]].sync(),
            Did::Synced | Did::Noted(_) | Did::MadeFolder => {}
            Did::Shared(memory) => self.shared.push((name.clone(), memory.clone())),
        }
    }

    /// Cuts the power.
    pub fn cut(&self, dice: &mut SeededDice) -> Remains {
        let mut unsynced = self.names != self.durable_names;
        let mut names = self.durable_names.clone();
        let changed = self.names.iter().map(|(name, file)| (name, Some(*file)));
        let gone = self.durable_names.keys().filter(|name| !self.names.contains_key(*name)).map(|name| (name, None));
        for (name, file) in changed.chain(gone) {
            if names.get(name).copied() != file && percent(dice, 50) {
                match file {
                    Some(file) => names.insert(name.clone(), file),
                    None => names.remove(name),
                };
            }
        }
        let keep = *pick(dice, &[0, 0, 10, 50, 90, 100, 100]);
        let grain = *pick(dice, &[SECTOR, PAGE, usize::MAX]);
        let mut files = BTreeMap::new();
        for (name, file) in names {
            let file = &self.files[file];
            unsynced |= !file.pending.is_empty() && !name.ends_with(NEVER_SYNCED);
            files.insert(name, file.remains(keep, grain, dice));
        }
        // Memory is lost. But its file may have reached the disk at some time, or be full of anything.
        if let Some((name, memory)) = self.shared.get(self.shared.len().saturating_sub(1 + below(dice, 30))) {
            match below(dice, 3) {
                0 => {}
                1 => drop(files.insert(name.clone(), [&memory[..], &[0; PAGE * 8 - 136]].concat())),
                _ => drop(files.insert(name.clone(), (0..PAGE * 8).map(|_| below(dice, 256) as u8).collect())),
            }
        }
        Remains { files, unsynced }
    }
}

impl File {
    fn sync(&mut self) {
        for did in std::mem::take(&mut self.pending) {
            match did {
                Did::Wrote { at, data } => write(&mut self.durable, at, &data),
                Did::Resized(size) => self.durable.resize(size, 0),
                other => unreachable!("{other:?} is no change of content"),
            }
        }
    }

    /// What may be left: of every hundred pieces that were written about `keep`, in pieces of `grain` bytes.
    fn remains(&self, keep: u64, grain: usize, dice: &mut SeededDice) -> Vec<u8> {
        let mut content = self.durable.clone();
        let (mut size, mut sizes) = (content.len(), vec![content.len()]);
        for did in &self.pending {
            match did {
                Did::Wrote { at, data } => {
                    size = size.max(at + data.len());
                    let mut from = 0;
                    while from < data.len() {
                        // Pieces end where those of the disk do.
                        let to = (from + grain.saturating_sub((at + from) % grain)).min(data.len());
                        if percent(dice, keep) {
                            write(&mut content, at + from, &data[from..to]);
                        }
                        from = to;
                    }
                }
                Did::Resized(new) => {
                    size = *new;
                    if percent(dice, keep) && *new < content.len() {
                        content[*new..].fill(0);
                    }
                }
                other => unreachable!("{other:?} is no change of content"),
            }
            sizes.push(size);
        }
        // All or nothing is the state at one time, size and all.
        let size = match keep {
            0 => sizes[0],
            100 => size,
            _ => *pick(dice, &sizes),
        };
        content.resize(size, 0);
        content
    }
}

fn write(content: &mut Vec<u8>, at: usize, data: &[u8]) {
    if content.len() < at + data.len() {
        content.resize(at + data.len(), 0);
    }
    content[at..at + data.len()].copy_from_slice(data);
}

impl Syncs {
    /// Which steps of a trace are syncs that count.
    pub fn that_count(self, steps: &[Step]) -> Vec<bool> {
        // Of the log, whether the file is written next.
        let mut checkpoint_follows = false;
        let mut counts: Vec<_> = steps
            .iter()
            .rev()
            .map(|step| {
                let log = step.name.ends_with("-wal");
                match step.did {
                    Did::Wrote { .. } => checkpoint_follows = step.name.ends_with(".db"),
                    Did::Synced => {
                        return match self {
                            Syncs::All => true,
                            Syncs::NoneOfFiles => step.name == FOLDER,
                            Syncs::LogBeforeCheckpoint => !log || checkpoint_follows,
                            Syncs::NoneOfFolder => step.name != FOLDER,
                        };
                    }
                    Did::Created
                    | Did::MadeFolder
                    | Did::Resized(_)
                    | Did::Unlinked
                    | Did::Renamed(_)
                    | Did::Shared(_)
                    | Did::Noted(_) => {}
                }
                false
            })
            .collect();
        counts.reverse();
        counts
    }
}
