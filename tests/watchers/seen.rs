//! What a watcher has seen, and whether that is what it should have.

use mancala::wire::proto::{Event, WatchSessionResponse};
use std::collections::BTreeSet;

/// A session as it is stored, and where its changes end.
pub struct Stored<'a> {
    /// All events, from the first.
    pub events: &'a [Event],
    /// Versions with which changes ended.
    pub ends: &'a BTreeSet<u32>,
}

/// What is wrong with what a watcher has seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    #[error("version {found} came where {expected} was due")]
    Order { expected: u32, found: u32 },
    #[error("version {0} is not as it is stored")]
    Content(u32),
    #[error("a message ends with version {0}, which is amid a change")]
    Torn(u32),
    #[error("a message says that everything up to {said} is there, but {is} is the last")]
    Bookmark { said: u32, is: u32 },
    #[error("a message says that the session is at {current}, below its own {version}")]
    Current { current: u32, version: u32 },
    #[error("it ends at {seen} of {stored}")]
    Unfinished { seen: u32, stored: u32 },
}

/// Holds the messages of a watcher, across all its streams, against what is stored: exactly the events after `start`, each once, in
/// order, changes whole, every message with the right version.
pub fn check(start: u32, messages: &[WatchSessionResponse], stored: &Stored) -> Result<(), Objection> {
    let mut at = start;
    for message in messages {
        for event in &message.events {
            if event.version != at + 1 {
                return Err(Objection::Order { expected: at + 1, found: event.version });
            }
            at = event.version;
            if stored.events.get(at as usize - 1) != Some(event) {
                return Err(Objection::Content(at));
            }
        }
        if message.version != at {
            return Err(Objection::Bookmark { said: message.version, is: at });
        }
        if message.current_version < at {
            return Err(Objection::Current { current: message.current_version, version: at });
        }
        if !message.events.is_empty() && !stored.ends.contains(&at) {
            return Err(Objection::Torn(at));
        }
    }
    let last = stored.events.len() as u32;
    if at == last { Ok(()) } else { Err(Objection::Unfinished { seen: at, stored: last }) }
}

/// What is wrong with these messages once they are damaged in each way that matters; none of the damages may pass. Needs two messages
/// with events, and one with a change of several.
pub fn objections_to_damage(start: u32, messages: &[WatchSessionResponse], stored: &Stored) -> Vec<(&'static str, Objection)> {
    assert_eq!(check(start, messages, stored), Ok(()), "undamaged");
    let bearing = |at_least: usize| messages.iter().position(|message| message.events.len() >= at_least);
    let (one, many) = (bearing(1).expect("events"), bearing(2).expect("a message with several"));
    let mut objections = Vec::new();
    let mut damage = |name, with: &dyn Fn(&mut Vec<WatchSessionResponse>)| {
        let mut damaged = messages.to_vec();
        with(&mut damaged);
        let objection = check(start, &damaged, stored).expect_err(name);
        objections.push((name, objection));
    };
    damage("a gap", &|all| {
        all[many].events.remove(0);
    });
    damage("a message lost", &|all| {
        all.remove(one);
    });
    damage("a message twice", &|all| all.insert(one, all[one].clone()));
    damage("an event twice", &|all| {
        let event = all[many].events[0].clone();
        all[many].events.insert(0, event);
    });
    damage("two swapped", &|all| all[many].events.swap(0, 1));
    damage("another event in its place", &|all| all[many].events[0].hash = "0".repeat(64));
    damage("a wrong bookmark", &|all| all[one].version += 1);
    damage("a session that is behind", &|all| all[one].current_version = all[one].version - 1);
    damage("the end lost", &|all| {
        let last = all.iter().rposition(|message| !message.events.is_empty()).expect("events");
        all.truncate(last);
    });
    damage("a torn change", &|all| {
        let amid = |all: &[WatchSessionResponse]| {
            let torn = |event: &Event| !stored.ends.contains(&event.version);
            let tears = all.iter().enumerate().map(|(number, message)| (number, message.events.iter().position(torn)));
            tears.filter_map(|(number, at)| Some((number, at? + 1))).next().expect("a change of several events")
        };
        let (number, at) = amid(all);
        let rest = all[number].events.split_off(at);
        let whole = all[number].clone();
        all[number].version = all[number].events.last().expect("not empty").version;
        all.insert(number + 1, WatchSessionResponse { events: rest, ..whole });
    });
    objections
}

/// A checker that can't fail proves nothing.
#[test]
fn each_damage_is_objected_to_as_what_it_is() {
    let event = |version| Event { version, hash: format!("{version:064}"), ..Default::default() };
    let events: Vec<_> = (1..=9).map(event).collect();
    let ends = BTreeSet::from([1, 2, 3, 6, 7, 9]);
    let stored = Stored { events: &events, ends: &ends };
    let message = |after: u32, version: u32| WatchSessionResponse {
        events: events[after as usize..version as usize].to_vec(),
        version,
        current_version: version,
        ..Default::default()
    };
    let messages = [message(2, 2), message(2, 3), message(3, 7), message(7, 7), message(7, 9)];
    let found = objections_to_damage(2, &messages, &stored);
    assert_eq!(
        found,
        [
            ("a gap", Objection::Order { expected: 4, found: 5 }),
            ("a message lost", Objection::Order { expected: 3, found: 4 }),
            ("a message twice", Objection::Order { expected: 4, found: 3 }),
            ("an event twice", Objection::Order { expected: 5, found: 4 }),
            ("two swapped", Objection::Order { expected: 4, found: 5 }),
            ("another event in its place", Objection::Content(4)),
            ("a wrong bookmark", Objection::Bookmark { said: 4, is: 3 }),
            ("a session that is behind", Objection::Current { current: 2, version: 3 }),
            ("the end lost", Objection::Unfinished { seen: 7, stored: 9 }),
            ("a torn change", Objection::Torn(4)),
        ]
    );
}
