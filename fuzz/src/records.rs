//! Documents as records: what is read is written again as it was, what is right stays right in either form, and no change of a
//! record with hashes goes unnoticed.

use super::planted;
use mancala::service::record_of;
use mancala::session::EventHash;
use mancala::session::record::{self, Checked, Format, MAX_LINE, Record};
use mancala::store::{Request, StoredEvent};

/// A document, which is UTF-8 or nobody reads it.
pub fn check(input: &[u8]) {
    let Ok(document) = std::str::from_utf8(input) else { return };
    let checked = record::check(document, None, || false);
    let read = match record::read(document) {
        Err(fault) => {
            let lines = document.split('\n').count() + 1;
            assert!((1..=lines).contains(&fault.line) && !fault.expected.is_empty(), "{fault} in {document:?}");
            assert!(checked.is_err(), "what can't be read is right: {document:?}");
            return;
        }
        Ok(read) => read,
    };
    assert_both_forms_tell(&read, document);
    match checked {
        Ok(checked) => assert_stays_right(&checked, document),
        // Hardly any change leaves hashes right. Without them more of it can be seen, and then with the hashes that follow.
        Err(wrong) => {
            assert!(!wrong.to_string().is_empty());
            let bare = without_hashes(read);
            if let Ok(Checked { record, session: _, hashes }) = record::check(&bare.write(Format::Text), None, || false) {
                let sealed = with_hashes(record, &hashes);
                let text = sealed.write(Format::Text);
                let checked = record::check(&text, None, || false).expect("hashes that follow are right");
                assert_stays_right(&checked, &text);
            }
        }
    }
}

/// There is one way to write a record as text, and each form is made from the other without loss.
fn assert_both_forms_tell(read: &Record, document: &str) {
    let (text, json) = (read.write(Format::Text), read.write(Format::Json));
    if !document.trim_start().starts_with('{') {
        assert_eq!(text, document);
    }
    assert_eq!(record::read(&text).as_ref(), Ok(read), "{document:?} as text: {text:?}");
    assert_eq!(record::read(&json).as_ref(), Ok(read), "{document:?} as JSON: {json:?}");
    assert!(text.lines().all(|line| line.len() <= MAX_LINE), "{document:?}");
}

fn assert_stays_right(checked: &Checked, document: &str) {
    let Checked { record, session, hashes } = checked;
    planted::never("a record is of another session than those of the seeds", record.session_id != "played-1");
    assert_eq!(session.version() as usize, record.events.len());
    assert_eq!(hashes.last(), Some(&session.head_hash()));
    let renamed = record::check(document, Some("another-id"), || false).expect("no hash covers the id");
    assert_eq!(renamed.hashes, *hashes);
    for format in [Format::Text, Format::Json] {
        let again = record::check(&record.write(format), None, || false).expect("what is right is right in either form");
        assert_eq!((&again.record, &again.hashes), (record, hashes));
    }
    if record.head_hash.is_some() {
        assert_export_gives_it_back(checked);
        assert_changes_show(checked);
    }
}

/// Import and export: what is stored of a record gives the record.
fn assert_export_gives_it_back(checked: &Checked) {
    let Checked { record, session, hashes } = checked;
    let stored = record.events.iter().zip(hashes).map(|(recorded, &hash)| StoredEvent {
        seq: recorded.version,
        time: recorded.time,
        request: recorded.request_id.clone().map(|id| Request { id, digest: [0; 32] }),
        body: recorded.event.to_json(),
        hash: Some(hash),
    });
    let stored: Vec<_> = stored.collect();
    let exported = record_of(session.id(), &stored, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(exported, *record);
}

/// A byte changed here and there: refused, or another record by another hash, or the same record.
fn assert_changes_show(checked: &Checked) {
    let Checked { record, session, hashes: _ } = checked;
    for format in [Format::Text, Format::Json] {
        let document = record.write(format).into_bytes();
        let mut dice = u64::from_le_bytes(session.head_hash().bytes()[..8].try_into().expect("8 bytes"));
        for _ in 0..6 {
            dice = dice.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            let (place, flip) = ((dice >> 20) as usize % document.len(), 1 << (dice >> 60 & 7));
            let mut changed = document.clone();
            changed[place] ^= flip;
            let Ok(changed) = String::from_utf8(changed) else { continue };
            if let Ok(other) = record::check(&changed, None, || false) {
                let same = other.record.events == record.events;
                assert!(same || other.session.head_hash() != session.head_hash(), "byte {place} ^ {flip} of {changed:?}");
            }
        }
    }
}

fn without_hashes(record: Record) -> Record {
    let Record { session_id, mut events, head_hash: _ } = record;
    events.iter_mut().for_each(|recorded| recorded.short_hash = None);
    Record { session_id, events, head_hash: None }
}

fn with_hashes(mut record: Record, hashes: &[EventHash]) -> Record {
    for (recorded, hash) in record.events.iter_mut().zip(hashes) {
        recorded.short_hash = Some(hash.short());
    }
    record.head_hash = hashes.last().copied();
    record
}
