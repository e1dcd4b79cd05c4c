//! Records as JSON: one document, an event a line.

use super::time::{read_date, write_date};
use super::{FORMAT, MAX_LINE, Record, RecordFault, RecordedEvent, header, phrase, reader, writer};
use crate::session::{Event, EventHash, Micros};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

const NAME: &str = "mancala-record";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(deserialize_with = "name")]
    format: (),
    #[serde(deserialize_with = "format_version")]
    version: (),
    #[serde(deserialize_with = "one_line")]
    session_id: String,
    events: Vec<Entry>,
    #[serde(default, deserialize_with = "head_hash")]
    head_hash: Option<EventHash>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: u32,
    time: Micros,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_id")]
    request_id: Option<String>,
    #[serde(deserialize_with = "event")]
    event: Event,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "short_hash")]
    hash: Option<String>,
}

/// The whole document.
pub(super) fn write(record: &Record) -> String {
    let string = |text: &str| serde_json::to_string(text).expect("a string is JSON");
    let events = record.events.iter().map(|recorded| {
        let RecordedEvent { version, time, request_id, event, short_hash } = recorded.clone();
        let entry = Entry { version, time, request_id, event, hash: short_hash };
        serde_json::to_string(&entry).expect("events are plain data")
    });
    let events: Vec<_> = events.collect();
    let head = record.head_hash.map(|hash| format!(",\n\"head_hash\":\"{hash}\"")).unwrap_or_default();
    format!(
        "{{\"format\":\"{NAME}\",\"version\":{FORMAT},\"session_id\":{},\"events\":[\n{}\n]{head}}}\n",
        string(&record.session_id),
        events.join(",\n")
    )
}

/// Reads a document, with any white space and its fields in any order.
pub(super) fn read(document: &str) -> Result<Record, RecordFault> {
    let document: Document = serde_json::from_str(document).map_err(|error| fault(&error))?;
    let Document { format: (), version: (), session_id, events, head_hash } = document;
    let events: Vec<_> = events.into_iter().map(RecordedEvent::from).collect();
    let [RecordedEvent { event: Event::Created(_), time, .. }, rest @ ..] = &events[..] else {
        return Err(RecordFault::new(1, "events that begin with one of the type \"created\""));
    };
    if rest.iter().any(|recorded| matches!(recorded.event, Event::Created(_))) {
        return Err(RecordFault::new(1, "no second event of the type \"created\""));
    }
    if read_date(&write_date(*time)).is_none() {
        return Err(RecordFault::new(1, "a creation between the years 1970 and 9999"));
    }
    if let Some(place) = events.iter().position(|recorded| writer::event_line(recorded, *time).len() > MAX_LINE) {
        return Err(RecordFault::new(1, format!("event {} to be at most {MAX_LINE} bytes long as a line of text", place + 1)));
    }
    Ok(Record { session_id, events, head_hash })
}

/// serde's words are of what it met; they say what was expected too.
fn fault(error: &serde_json::Error) -> RecordFault {
    const MOST: usize = 300;
    let mut text = format!("a record in JSON: {error}");
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
    }
    RecordFault::new(error.line().max(1), text)
}

impl From<Entry> for RecordedEvent {
    fn from(Entry { version, time, request_id, event, hash }: Entry) -> RecordedEvent {
        RecordedEvent { version, time, request_id, event, short_hash: hash }
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let name = String::deserialize(deserializer)?;
    if name == NAME { Ok(()) } else { Err(D::Error::custom("expected the format \"mancala-record\"")) }
}

fn format_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version == FORMAT { Ok(()) } else { Err(D::Error::custom("expected version 1 of the format")) }
}

fn one_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let fits = text.len() <= reader::MAX_ID && !text.contains('\n');
    if fits { Ok(text) } else { Err(D::Error::custom("expected an id, at most 64 bytes")) }
}

fn request_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let id = one_line(deserializer)?;
    if id.contains("] ") { Err(D::Error::custom("expected a request id")) } else { Ok(Some(id)) }
}

fn short_hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let digits = String::deserialize(deserializer)?;
    if reader::is_short(&digits) {
        Ok(Some(digits))
    } else {
        Err(D::Error::custom("expected the first 16 digits of the event's hash"))
    }
}

fn head_hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EventHash>, D::Error> {
    let digits = String::deserialize(deserializer)?;
    EventHash::from_hex(&digits).map(Some).ok_or_else(|| D::Error::custom("expected the 64 digits of a hash"))
}

/// An event that the text form can say too.
fn event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
    let event = Event::deserialize(deserializer)?;
    let said = match &event {
        Event::Created(created) => {
            let lines = header::write(created);
            let mut rest = lines.split('\n').peekable();
            let again = header::read(|start| rest.next_if(|line| line.starts_with(start)).map(|line| &line[start.len()..]));
            again.as_ref() == Ok(created) && rest.eq([""]) && lines.split('\n').all(|line| line.len() <= MAX_LINE)
        }
        _ => {
            let phrase = phrase::write(&event, 0);
            let fits = !phrase.contains('\n') && reader::split_hash(&phrase).1.is_none();
            fits && phrase::read(&phrase, 0).as_ref() == Ok(&event)
        }
    };
    if said { Ok(event) } else { Err(D::Error::custom("expected an event whose texts are what they stand for")) }
}
