//! The ledger: what clients have asked for and been told, in one order of time, kept outside of what is tested.
//!
//! "Invoked" is written before a call is sent, its outcome after it has come. Each line is in the file before the client goes on; the
//! file is removed when all is well, and stays for people when it is not.

use crate::call::{Call, Outcome};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A call that was sent, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub call: Call,
    pub client: u32,
    /// Place in the order of all that is written.
    pub invoked: u64,
    /// The place of its outcome, and the outcome; none: it has not come.
    pub ended: Option<(u64, Outcome)>,
}

impl Entry {
    pub fn outcome(&self) -> &Outcome {
        self.ended.as_ref().map_or(&Outcome::Unknown, |(_, outcome)| outcome)
    }
}

pub struct Ledger {
    kept: Mutex<Kept>,
    path: PathBuf,
}

struct Kept {
    file: File,
    entries: Vec<Entry>,
    now: u64,
    acknowledged: u64,
}

/// Returned by [`Ledger::invoked`], to say the outcome with.
#[derive(Debug, Clone, Copy)]
pub struct Invoked(usize);

impl Ledger {
    /// A ledger in the folder of cargo's for such files. Others of its name may be written at the same time.
    pub fn new(name: &str) -> Ledger {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ledger-{name}-{}-{number}.jsonl", std::process::id()));
        let file = File::create(&path).expect("a file");
        Ledger { kept: Mutex::new(Kept { file, entries: Vec::new(), now: 0, acknowledged: 0 }), path }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic")
    }

    /// To be written before a call is sent.
    pub fn invoked(&self, client: u32, call: &Call) -> Invoked {
        let mut kept = self.kept();
        let number = kept.entries.len();
        let invoked = kept.tick();
        let line = serde_json::json!({
            "at": invoked, "call": number, "client": client, "session": call.session, "request": call.request,
            "expected_version": call.expected_version, "what": format!("{:?}", call.what),
        });
        kept.write(&line);
        kept.entries.push(Entry { call: call.clone(), client, invoked, ended: None });
        Invoked(number)
    }

    /// To be written when a call has ended, before its client does anything else.
    pub fn ended(&self, Invoked(number): Invoked, outcome: &Outcome) {
        let mut kept = self.kept();
        let at = kept.tick();
        kept.write(&serde_json::json!({ "at": at, "call": number, "outcome": format!("{outcome:?}") }));
        kept.acknowledged += u64::from(matches!(outcome, Outcome::Done(_)));
        kept.entries[number].ended = Some((at, outcome.clone()));
    }

    /// Writes down a fault that was injected.
    pub fn note(&self, what: &str) {
        let mut kept = self.kept();
        let at = kept.tick();
        kept.write(&serde_json::json!({ "at": at, "fault": what }));
    }

    /// Onto the disk.
    pub fn sync(&self) {
        self.kept().file.sync_data().expect("a disk");
    }

    pub fn acknowledged(&self) -> u64 {
        self.kept().acknowledged
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.kept().entries.clone()
    }

    /// All is well: nobody needs the file.
    pub fn discard(self) {
        std::fs::remove_file(&self.path).expect("its file");
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Kept {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn write(&mut self, line: &serde_json::Value) {
        self.file.write_all(format!("{line}\n").as_bytes()).expect("a line");
    }
}
