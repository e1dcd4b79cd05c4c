//! Records: a whole session as one document, as text or as JSON, which anyone can check.
#![doc = include_str!("../../../docs/record.md")]

mod header;
mod json;
mod phrase;
mod reader;
mod replay;
mod time;
mod writer;

pub use replay::{Aspect, Difference, Replay, verify};

use reader::Text;

use super::{Event, EventHash, Micros, Session};
use std::borrow::Cow;
use thiserror::Error;

/// The largest record, in bytes: with what else a request says it is within a mebibyte.
pub const MAX_RECORD: usize = (1 << 20) - (1 << 10);
/// The longest line of a text record, in bytes.
pub const MAX_LINE: usize = 1_024;
/// The most events of a record. None with more fits into [`MAX_RECORD`].
pub const MAX_EVENTS: usize = MAX_RECORD / 24;
/// The version of both forms.
const FORMAT: u32 = 1;

/// A session as its events tell it. Its first event makes the session, and no other does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The session's id. The chain does not cover it.
    pub session_id: String,
    /// At least one.
    pub events: Vec<RecordedEvent>,
    /// The last event's hash; none in a record that was made without hashes.
    pub head_hash: Option<EventHash>,
}

/// An event of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvent {
    /// The session's version with it.
    pub version: u32,
    /// When it was taken in.
    pub time: Micros,
    /// The caller's id of the request that caused it.
    pub request_id: Option<String>,
    /// What happened.
    pub event: Event,
    /// The first digits of its hash.
    pub short_hash: Option<String>,
}

/// The forms that a record has. Each is made from the other without loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A record that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}")]
pub struct RecordFault {
    /// Where it went wrong, from 1.
    pub line: usize,
    /// What should have stood there.
    pub expected: Cow<'static, str>,
}

impl RecordFault {
    fn new(line: usize, expected: impl Into<Cow<'static, str>>) -> RecordFault {
        RecordFault { line, expected: expected.into() }
    }
}

/// Reads a record in either form.
///
/// # Errors
/// Where it went wrong, and what should have stood there.
pub fn read(document: &str) -> Result<Record, RecordFault> {
    match open(document)? {
        Opened::Json(record) => Ok(record),
        Opened::Text(Text { record, first_line: _, fault, wrong_result }) => fault.or(wrong_result).map_or(Ok(record), Err),
    }
}

enum Opened {
    Json(Record),
    Text(Text),
}

fn open(document: &str) -> Result<Opened, RecordFault> {
    if document.len() > MAX_RECORD {
        return Err(RecordFault::new(1, format!("a record of at most {MAX_RECORD} bytes")));
    }
    if document.trim_start().starts_with('{') {
        json::read(document).map(Opened::Json)
    } else {
        reader::read(document).map(Opened::Text)
    }
}

/// A record that is what it says.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The record.
    pub record: Record,
    /// The session that it makes.
    pub session: Session,
    /// The hashes of its events.
    pub hashes: Vec<EventHash>,
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Wrong {
    /// It can't be read.
    #[error(transparent)]
    Unreadable(#[from] RecordFault),
    /// It is not what follows from it.
    #[error("{}{difference}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Differs {
        /// Where and how.
        difference: Difference,
        /// The event's line, if the record is a text. That of an event which is missing at the end is the line after the last.
        line: Option<usize>,
    },
}

/// Reads a record and replays it, as a session of another id if one is given. `stop` is asked now and then, and ends it early.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check(document: &str, new_id: Option<&str>, stop: impl Fn() -> bool) -> Result<Checked, Wrong> {
    let (record, first_line, fault, wrong_result) = match open(document)? {
        Opened::Json(record) => (record, None, None, None),
        Opened::Text(Text { record, first_line, fault, wrong_result }) => (record, Some(first_line), fault, wrong_result),
    };
    let session_id = new_id.unwrap_or(&record.session_id);
    let line_of = |event: u32| first_line.map(|line| line + (event as usize).saturating_sub(1));
    let differs = |difference: Difference| Wrong::Differs { line: line_of(difference.event), difference };
    if let Some(fault) = fault {
        return Err(match replay::follow(&record, session_id, stop) {
            Err(difference) if line_of(difference.event) < Some(fault.line) => differs(difference),
            Ok(_) | Err(_) => fault.into(),
        });
    }
    let (session, hashes) = verify(&record, session_id, stop).map_err(differs)?;
    match wrong_result {
        Some(fault) => Err(fault.into()),
        None => Ok(Checked { record, session, hashes }),
    }
}

impl Record {
    /// The whole record in one of its forms.
    #[must_use]
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Text => writer::write(self),
            Format::Json => json::write(self),
        }
    }
}
