//! What a process did to the files of a folder, in order, as `tests/support/recorded_disk.c` records it.

use super::writer::LEDGER;

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    Created,
    /// As a folder. What is in it is not followed.
    MadeFolder,
    Wrote {
        at: usize,
        data: Vec<u8>,
    },
    Resized(usize),
    Synced,
    Unlinked,
    /// To this name.
    Renamed(String),
    /// No change of a file: what SQLite's shared memory began with at this time.
    Shared(Vec<u8>),
    /// No change of a file: a line of the ledger.
    Noted(Note),
}

/// What was done to which file.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub did: Did,
}

/// A line of the ledger: of which session, by its group and its place in it, which step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    pub answered: bool,
    pub session: (u64, usize),
    pub step: usize,
}

/// Reads a trace. A record that was cut off by the end of its process is left out.
pub fn read(mut bytes: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(16) {
        let name_length = usize::from(head[1]);
        let length = u32::from_le_bytes(head[4..8].try_into().expect("4 bytes")) as usize;
        let at = u64::from_le_bytes(head[8..].try_into().expect("8 bytes")) as usize;
        let Some((name, rest)) = rest.split_at_checked(name_length) else { break };
        let Some((data, rest)) = rest.split_at_checked(length) else { break };
        bytes = rest;
        let name = String::from_utf8(name.to_vec()).expect("names of ours");
        let did = match head[0] {
            b'W' if name == LEDGER => Did::Noted(note(data)),
            _ if name == LEDGER => continue,
            b'C' => Did::Created,
            b'D' => Did::MadeFolder,
            b'W' => Did::Wrote { at, data: data.to_vec() },
            b'T' => Did::Resized(at),
            b'S' => Did::Synced,
            b'U' => Did::Unlinked,
            b'R' => Did::Renamed(String::from_utf8(data.to_vec()).expect("names of ours")),
            b'M' => Did::Shared(data.to_vec()),
            other => panic!("a record of kind {other}"),
        };
        steps.push(Step { name, did });
    }
    steps
}

fn note(line: &[u8]) -> Note {
    let line = std::str::from_utf8(line).expect("text").trim();
    let words: Vec<_> = line.split(' ').collect();
    let [mark, group, place, step] = words[..] else { panic!("{line:?} is no note") };
    let number = |word: &str| word.parse::<usize>().expect("a number");
    Note { answered: mark == "<", session: (number(group) as u64, number(place)), step: number(step) }
}
