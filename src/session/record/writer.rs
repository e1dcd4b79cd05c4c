//! Records as text.

use super::time::{write_date, write_offset};
use super::{FORMAT, Record, RecordedEvent, header, phrase};
use crate::session::{Event, Micros};
use std::fmt::Write;

/// The whole text.
pub(super) fn write(record: &Record) -> String {
    let mut text = format!("Mancala record {FORMAT}\nSession: {}\n", record.session_id);
    let result = result(record);
    let origin = record.events.first().map_or(0, |first| first.time);
    if let Some(RecordedEvent { event: Event::Created(created), .. }) = record.events.first() {
        text.push_str(&header::write(created));
    }
    writeln!(text, "Created: {}\nResult: {result}\n", write_date(origin)).expect(FITS);
    for event in &record.events {
        writeln!(text, "{}", event_line(event, origin)).expect(FITS);
    }
    let head = record.head_hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
    writeln!(text, "\nResult: {result}\nHash: {head}").expect(FITS);
    text
}

const FITS: &str = "a string takes all";

/// One event; times are told from `origin` on.
pub(super) fn event_line(recorded: &RecordedEvent, origin: Micros) -> String {
    let RecordedEvent { version, time, request_id, event, short_hash } = recorded;
    let offset = write_offset(origin, *time);
    let request = request_id.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
    let hash = short_hash.as_ref().map(|hash| format!(" #{hash}")).unwrap_or_default();
    format!("{version} {offset}{request} {}{hash}", phrase::write(event, origin))
}

/// How the match ended; `*` while it is played.
pub(super) fn result(record: &Record) -> String {
    let ends = record.events.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Ended { result } => Some(phrase::write_result(result)),
        _ => None,
    });
    ends.unwrap_or_else(|| "*".to_owned())
}
