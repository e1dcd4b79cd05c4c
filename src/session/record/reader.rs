//! Reading text records. What is read is written again and must be the same text: there is one way to say a thing.

use super::phrase::number;
use super::time::{read_date, read_offset};
use super::{FORMAT, MAX_LINE, Record, RecordFault, RecordedEvent, header, phrase, writer};
use crate::session::chain::{SHORT_DIGITS, is_lower_hex};
use crate::session::{Created, Event, EventHash, Micros};
use std::borrow::Cow;

/// A text that was read, at least in part.
pub(super) struct Text {
    /// What could be read of it.
    pub record: Record,
    /// The line of its first event.
    pub first_line: usize,
    /// Why the rest could not be read. What was read before may differ from what it should be, and then comes first.
    pub fault: Option<RecordFault>,
    /// A result that is not that of the events.
    pub wrong_result: Option<RecordFault>,
}

/// Reads a text.
///
/// # Errors
/// When not even its header can be read.
pub(super) fn read(text: &str) -> Result<Text, RecordFault> {
    let mut lines = Lines::new(text)?;
    let title = format!("Mancala record {FORMAT}");
    lines.expect(|line| line == title, "the title \"Mancala record 1\": is this a record, and of this version?")?;
    let session_id = lines.after("Session: ", SESSION)?.to_owned();
    if session_id.len() > MAX_ID {
        return Err(lines.fault(SESSION));
    }
    let created = header::read(|start| lines.take(start)).map_err(|expected| lines.fault(expected))?;
    let date = lines.after("Created: ", CREATED)?;
    let origin = read_date(date).ok_or_else(|| lines.fault(CREATED))?;
    lines.after("Result: ", "Result: and how the match ended, or *")?;
    lines.expect(str::is_empty, "an empty line before the events")?;
    let first_line = lines.number() + 1;
    let mut record = Record { session_id, events: Vec::new(), head_hash: None };
    let rest = read_rest(text, &mut lines, created, origin, &mut record);
    if record.events.is_empty() {
        return Err(rest.err().unwrap_or_else(|| RecordFault::new(first_line, FIRST)));
    }
    let (fault, wrong_result) = match rest {
        Ok(wrong_result) => (None, wrong_result),
        Err(fault) => (Some(fault), None),
    };
    Ok(Text { record, first_line, fault, wrong_result })
}

/// Reads the events and what comes after them into the record; gives what is wrong with the result alone.
fn read_rest(
    text: &str,
    lines: &mut Lines<'_>,
    created: Created,
    origin: Micros,
    record: &mut Record,
) -> Result<Option<RecordFault>, RecordFault> {
    let mut created = Some(created);
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        record.events.push(read_event(line, origin, &mut created).map_err(|expected| lines.fault(expected))?);
    }
    if created.is_some() {
        return Err(lines.fault(FIRST));
    }
    lines.after("Result: ", "Result: and how the match ended, or *")?;
    record.head_hash = match lines.after("Hash: ", HASH)? {
        "none" => None,
        digits => Some(EventHash::from_hex(digits).ok_or_else(|| lines.fault(HASH))?),
    };
    check_canonical(text, record)
}

/// The longest id that either form has room for, in bytes. Whether it is well formed is for the replay to say.
pub(super) const MAX_ID: usize = 64;

const SESSION: &str = "Session: and the session's id, at most 64 bytes";
const REQUEST: &str = "a request id in brackets, at most 64 bytes";
const FIRST: &str = "the first event, created, at +0.000000";
const CREATED: &str = "Created: and a time as 2026-01-31T23:59:59.000001Z";
const HASH: &str = "Hash: and the 64 digits of the last event's hash, or none";

fn read_event(line: &str, origin: Micros, created: &mut Option<Created>) -> Result<RecordedEvent, &'static str> {
    let (version, rest) = line.split_once(' ').ok_or("an event: its version, its time and what happened")?;
    let version = number(version)?;
    let (offset, rest) = rest.split_once(' ').ok_or(TIME)?;
    let time = read_offset(origin, offset).ok_or(TIME)?;
    let (request_id, rest) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (id, rest) = rest.split_once("] ").filter(|(id, _)| id.len() <= MAX_ID).ok_or(REQUEST)?;
            (Some(id.to_owned()), rest)
        }
        None => (None, rest),
    };
    let (what, short_hash) = split_hash(rest);
    if split_hash(what).1.is_some() {
        return Err("one hash only");
    }
    let event = match created.take() {
        Some(created) if what == "created" && time == origin => Event::Created(created),
        Some(_) => return Err(FIRST),
        None => phrase::read(what, origin)?,
    };
    Ok(RecordedEvent { version, time, request_id, event, short_hash: short_hash.map(str::to_owned) })
}

/// What happened, and the digits of the hash after it, if it ends with some.
pub(super) fn split_hash(text: &str) -> (&str, Option<&str>) {
    let split = text.rsplit_once(" #").filter(|(_, digits)| is_short(digits));
    split.map_or((text, None), |(what, digits)| (what, Some(digits)))
}

const TIME: &str = "a time in seconds since the creation, as +3.000000";

/// Whether these can be the first digits of an event's hash.
pub(super) fn is_short(digits: &str) -> bool {
    digits.len() == SHORT_DIGITS && is_lower_hex(digits)
}

/// Finds the first line that would be written otherwise. A result is no more than a repetition of the events, so that it is no reason
/// to refuse the record before they are checked: what is wrong with it is given by itself.
fn check_canonical(text: &str, record: &Record) -> Result<Option<RecordFault>, RecordFault> {
    let canonical = writer::write(record);
    let mut wrong_result = None;
    let mut ours = canonical.split('\n');
    for (number, line) in (1..).zip(text.split('\n')) {
        let expected = ours.next();
        if expected == Some(line) {
            continue;
        }
        let fault = RecordFault::new(number, expected.map_or(Cow::Borrowed("the end of the record"), shown));
        if line.starts_with("Result: ") && expected.is_some_and(|expected| expected.starts_with("Result: ")) {
            wrong_result.get_or_insert(fault);
        } else {
            return Err(fault);
        }
    }
    match ours.next() {
        Some(_) => Err(RecordFault::new(text.split('\n').count(), "more of the record")),
        None => Ok(wrong_result),
    }
}

/// A line as it should be, in quotes.
fn shown(line: &str) -> Cow<'static, str> {
    Cow::Owned(if line.is_empty() { "an empty line".to_owned() } else { format!("\"{line}\"") })
}

/// The lines of a text, with the place where reading has come to.
struct Lines<'a> {
    lines: std::str::Split<'a, char>,
    peeked: Option<&'a str>,
    number: usize,
    /// There are no more. What is missing then is missing in the line after the last, however often it is looked for.
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Result<Lines<'a>, RecordFault> {
        if let Some(place) = text.split('\n').position(|line| line.len() > MAX_LINE) {
            return Err(RecordFault::new(place + 1, format!("a line of at most {MAX_LINE} bytes")));
        }
        Ok(Lines { lines: text.split('\n'), peeked: None, number: 0, ended: false })
    }

    /// The line that was last asked for, from 1.
    const fn number(&self) -> usize {
        self.number
    }

    fn fault(&self, expected: &'static str) -> RecordFault {
        RecordFault::new(self.number.max(1), expected)
    }

    fn peek(&mut self) -> Option<&'a str> {
        if self.peeked.is_none() && !self.ended {
            self.peeked = self.lines.next();
            self.number += 1;
            self.ended = self.peeked.is_none();
        }
        self.peeked
    }

    fn next(&mut self) -> Option<&'a str> {
        self.peek();
        self.peeked.take()
    }

    /// What follows `start` in the next line, if it begins so.
    fn take(&mut self, start: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(start)?;
        self.peeked = None;
        Some(rest)
    }

    fn after(&mut self, start: &str, expected: &'static str) -> Result<&'a str, RecordFault> {
        self.take(start).ok_or_else(|| self.fault(expected))
    }

    fn expect(&mut self, fits: impl FnOnce(&str) -> bool, expected: &'static str) -> Result<(), RecordFault> {
        match self.next() {
            Some(line) if fits(line) => Ok(()),
            _ => Err(self.fault(expected)),
        }
    }
}
