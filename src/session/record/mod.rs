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

use super::{Event, EventHash, Micros};
use std::borrow::Cow;
use thiserror::Error;

/// The largest record, in bytes.
pub const MAX_RECORD: usize = 1 << 20;
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

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The record.
    pub record: Record,
    /// The form that it was in.
    pub format: Format,
    /// The line of the first event of a text; the others follow line by line.
    first_line: Option<usize>,
}

impl Read {
    /// The line of an event, by its place from 1, if the record is a text. The event after the last is the line after it.
    #[must_use]
    pub fn line(&self, event: u32) -> Option<usize> {
        self.first_line.map(|line| line + (event as usize).saturating_sub(1))
    }
}

/// Reads a record in either form.
///
/// # Errors
/// Where it went wrong, and what should have stood there.
pub fn read(document: &str) -> Result<Read, RecordFault> {
    if document.len() > MAX_RECORD {
        return Err(RecordFault::new(1, format!("a record of at most {MAX_RECORD} bytes")));
    }
    if document.trim_start().starts_with('{') {
        Ok(Read { record: json::read(document)?, format: Format::Json, first_line: None })
    } else {
        let (record, first_line) = reader::read(document)?;
        Ok(Read { record, format: Format::Text, first_line: Some(first_line) })
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
