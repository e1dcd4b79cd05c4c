//! The auditor: holds what is stored, and what watchers have seen, against the ledger. Pure: lists in, objections out.
//!
//! - Every acknowledged request is stored, with the version, position and hash that it was acknowledged with.
//! - Versions are dense; a request is stored once and at once, whether or not its outcome is known; nothing is stored that nobody
//!   asked for, and nothing that was refused.
//! - What was acknowledged before another request was first sent has the lower version, and no read goes back or leaves out the end.
//! - The log, replayed by the rules, gives the stored positions and hashes.
//! - A watcher has seen exactly what is stored, across all its watches.
//! - Rounds are lost by time when time is out and not before, and nothing happens to them after it (`audit/clocks.rs`).

#[path = "audit/clocks.rs"]
mod clocks;

use crate::call::{Call, Outcome, PAGE, What};
use crate::ledger::Entry;
use mancala::service::record_of;
use mancala::session::record::verify;
use mancala::session::{Event, EventHash, Session};
use mancala::store::StoredEvent;
use std::collections::{BTreeMap, HashMap};

/// What is stored of each session; none: it is not there.
pub type Logs = BTreeMap<String, Option<Vec<StoredEvent>>>;

/// What a watcher has seen, across all its watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchLog {
    pub session: String,
    /// It wanted the events after this version.
    pub after: u32,
    pub events: Vec<(u32, EventHash)>,
    /// It watched until nothing more happened, and was told that it has everything.
    pub to_the_end: bool,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    #[error("request {request} was acknowledged, and is not stored")]
    Lost { request: String },
    #[error("request {request} was acknowledged as {acknowledged}, and is stored as {stored}")]
    Otherwise { request: String, acknowledged: String, stored: String },
    #[error("event {found} is stored where {due} is due")]
    Gap { due: u32, found: u32 },
    #[error("request {request} is stored a second time, as event {seq}")]
    Twice { request: String, seq: u32 },
    #[error("event {seq} is what nobody has asked for: {what}")]
    Invented { seq: u32, what: String },
    #[error("request {request} was refused, and is stored as event {seq}")]
    RefusedButStored { request: String, seq: u32 },
    #[error("request {then} is event {seq}, though event {before} was acknowledged before it was sent")]
    Order { then: String, seq: u32, before: u32 },
    #[error("a call that was sent after version {before} was shown was answered with version {seen}")]
    WentBack { before: u32, seen: u32 },
    #[error("a read showed version {version} as it is not stored")]
    Misread { version: u32 },
    #[error("the log can't be replayed: {0}")]
    Replay(String),
    #[error("event {seq} {what}")]
    Clock { seq: u32, what: &'static str },
    #[error("the session was deleted, and is there")]
    NotGone,
    #[error("nobody has deleted the session, and it is not there")]
    Vanished,
    #[error("a watcher was told of event {found} where {due} was due")]
    WatchOrder { due: u32, found: u32 },
    #[error("a watcher was told of an event {0} that is not the stored one")]
    WatchContent(u32),
    #[error("a watcher has come to {seen} of {stored} events")]
    WatchEnd { seen: u32, stored: u32 },
}

impl Objection {
    /// The check that made it.
    pub fn check(&self) -> &'static str {
        match self {
            Objection::Lost { .. } => "lost",
            Objection::Otherwise { .. } => "stored otherwise",
            Objection::Gap { .. } => "gap",
            Objection::Twice { .. } => "twice",
            Objection::Invented { .. } => "invented",
            Objection::RefusedButStored { .. } => "refused but stored",
            Objection::Order { .. } => "order",
            Objection::WentBack { .. } => "read went back",
            Objection::Misread { .. } => "misread",
            Objection::Replay(_) => "replay",
            Objection::Clock { .. } => "clock",
            Objection::NotGone => "not gone",
            Objection::Vanished => "vanished",
            Objection::WatchOrder { .. } => "watch order",
            Objection::WatchContent(_) => "watch content",
            Objection::WatchEnd { .. } => "watch end",
        }
    }
}

/// All objections, each with its session.
pub fn audit(entries: &[Entry], logs: &Logs, watched: &[WatchLog]) -> Vec<(String, Objection)> {
    let mut by_session: BTreeMap<&str, Vec<&Entry>> = logs.keys().map(|session| (session.as_str(), Vec::new())).collect();
    for entry in entries {
        by_session.entry(&entry.call.session).or_default().push(entry);
    }
    let mut objections = Vec::new();
    for (session, entries) in by_session {
        let log = logs.get(session).and_then(Option::as_deref);
        let mut found = audit_session(session, &entries, log);
        for watch in watched.iter().filter(|watch| watch.session == session) {
            found.extend(audit_watch(watch, log));
        }
        objections.extend(found.into_iter().map(|objection| (session.to_owned(), objection)));
    }
    objections
}

fn audit_session(session: &str, entries: &[&Entry], log: Option<&[StoredEvent]>) -> Vec<Objection> {
    let mut objections = no_way_back(entries);
    let done = |entry: &&&Entry| matches!(entry.outcome(), Outcome::Done(_));
    let may_be = |entry: &&&Entry| matches!(entry.outcome(), Outcome::Done(_) | Outcome::Unknown);
    let deletions = || entries.iter().filter(|entry| entry.call.what == What::Delete);
    let Some(log) = log else {
        let made = entries.iter().filter(|entry| entry.call.what == What::Create).filter(done).count() > 0;
        if made && deletions().filter(may_be).count() == 0 {
            objections.push(Objection::Vanished);
        }
        return objections;
    };
    if deletions().filter(done).count() > 0 {
        objections.push(Objection::NotGone);
    }
    let gap = (1..).zip(log).find(|(due, event)| event.seq != *due);
    objections.extend(gap.map(|(due, event)| Objection::Gap { due, found: event.seq }));
    objections.extend(replay(session, log).err().map(Objection::Replay));
    let (positions, wrong_times) = replayed(session, log);
    objections.extend(wrong_times);
    let mut asked: HashMap<&str, Vec<&Entry>> = HashMap::new();
    for entry in entries.iter().filter(|entry| !entry.call.what.is_read()) {
        asked.entry(&entry.call.request).or_default().push(entry);
    }
    let stored = stored_requests(log, &asked, &mut objections);
    for (request, attempts) in &asked {
        let span = stored.get(request).copied();
        objections.extend(attempts.iter().filter_map(|attempt| outcome(attempt, span, log, &positions)));
        if let Some((seq, _)) = span
            && !attempts.iter().any(|attempt| matches!(attempt.outcome(), Outcome::Done(_) | Outcome::Unknown))
        {
            objections.push(Objection::RefusedButStored { request: (*request).to_owned(), seq });
        }
    }
    objections.extend(order(&asked, &stored));
    objections.extend(entries.iter().filter_map(|entry| misread(entry, log)));
    objections
}

/// Whether the rules and the chain bring about exactly this log, and nothing that is missing at its end.
fn replay(session: &str, log: &[StoredEvent]) -> Result<(), String> {
    let record = record_of(session, log, None).map_err(|error| error.to_string())?;
    verify(&record, session, || false).map(drop).map_err(|difference| difference.to_string())
}

/// The position after each event, and the events whose time is wrong, as far as the log can be replayed.
fn replayed(session: &str, log: &[StoredEvent]) -> (Vec<String>, Vec<Objection>) {
    let mut replayed: Option<Session> = None;
    let (mut positions, mut wrong_times) = (Vec::new(), Vec::new());
    for stored in log {
        let Ok(event) = Event::from_json(&stored.body) else { break };
        wrong_times.extend(replayed.as_ref().and_then(|before| clocks::wrong_time(before, stored)));
        let next = match (replayed.take(), &event) {
            (None, Event::Created(created)) => Session::new(session.to_owned(), created, stored.time).ok(),
            (None, _) => None,
            (Some(mut at), _) => at.evolve(&event, stored.time, &mut ()).ok().map(|()| at),
        };
        let Some(next) = next else { break };
        positions.push(next.position().to_string());
        replayed = Some(next);
    }
    (positions, wrong_times)
}

/// The request of an event as the client named it. What is planted in a test adds its own mark to ids, which clients here don't.
fn request_of(event: &StoredEvent) -> &str {
    let id = event.request.as_ref().map_or("", |request| request.id.as_str());
    id.split('_').next().unwrap_or_default()
}

/// The first and the last event of each request that is stored.
fn stored_requests<'a>(
    log: &'a [StoredEvent],
    asked: &HashMap<&str, Vec<&Entry>>,
    objections: &mut Vec<Objection>,
) -> HashMap<&'a str, (u32, u32)> {
    let mut stored = HashMap::new();
    for events in log.chunk_by(|one, next| one.request == next.request && follows(next)) {
        // Nobody asks for that.
        if events[0].request.is_none() && is_time_out(&events[0]) {
            continue;
        }
        let (request, seq, last) = (request_of(&events[0]), events[0].seq, events[events.len() - 1].seq);
        let Some(attempts) = asked.get(request) else {
            objections.push(Objection::Invented { seq, what: format!("{:?}: {}", events[0].request, events[0].body) });
            continue;
        };
        if stored.contains_key(request) {
            objections.push(Objection::Twice { request: request.to_owned(), seq });
            continue;
        }
        stored.insert(request, (seq, last));
        if !attempts.iter().any(|attempt| is_of(&events[0], &attempt.call)) {
            objections.push(Objection::Invented { seq, what: format!("{request}: {}", events[0].body) });
        }
    }
    stored
}

/// Whether an event is not a request's own, but follows from it.
fn follows(event: &StoredEvent) -> bool {
    let event = Event::from_json(&event.body);
    matches!(event, Ok(Event::RoundEnded { .. } | Event::RoundStarted { .. } | Event::Ended { .. } | Event::TakenBack { .. }))
}

/// Whether an event is a round that is lost by time.
pub fn is_time_out(event: &StoredEvent) -> bool {
    matches!(Event::from_json(&event.body), Ok(Event::TimedOut { .. }))
}

/// Whether an event is what this call brings about at first.
fn is_of(event: &StoredEvent, call: &Call) -> bool {
    let Ok(event) = Event::from_json(&event.body) else { return false };
    match (&event, &call.what) {
        (Event::Created(_), What::Create) | (Event::Resigned { .. }, What::Resign) => true,
        (Event::MovePlayed { mv, .. }, What::Play { mv: asked, .. }) => mv.to_string() == *asked,
        (Event::Proposed { kind, to_version, .. }, What::Propose { kind: asked, to_version: to }) => {
            kind == asked && to_version == to
        }
        (Event::Answered { kind, accept, .. }, What::Answer { kind: asked, accept: answer }) => kind == asked && accept == answer,
        _ => false,
    }
}

/// Whether a request is stored as it was acknowledged.
fn outcome(entry: &Entry, span: Option<(u32, u32)>, log: &[StoredEvent], positions: &[String]) -> Option<Objection> {
    let Outcome::Done(seen) = entry.outcome() else { return None };
    let request = entry.call.request.clone();
    let Some((_, last)) = span else {
        return (entry.call.what != What::Delete).then_some(Objection::Lost { request });
    };
    let place = last as usize - 1;
    let (hash, position) = (log.get(place).and_then(|event| event.hash), positions.get(place));
    let same = seen.version == Some(last)
        && (seen.hash.is_none() || seen.hash == hash)
        && (seen.position.is_none() || position.is_none() || seen.position.as_ref() == position);
    (!same).then(|| Objection::Otherwise {
        request,
        acknowledged: format!("{:?} {:?} {:?}", seen.version, seen.position, seen.hash),
        stored: format!("{last} {position:?} {hash:?}"),
    })
}

/// What was acknowledged before a request was first sent has a lower version.
fn order(asked: &HashMap<&str, Vec<&Entry>>, stored: &HashMap<&str, (u32, u32)>) -> Vec<Objection> {
    let mut moments = Vec::new();
    for (request, attempts) in asked {
        let Some(&(first, last)) = stored.get(request) else { continue };
        moments.extend(attempts.iter().map(|attempt| attempt.invoked).min().map(|sent| (sent, *request, first, false)));
        let acknowledged = attempts.iter().filter(|attempt| matches!(attempt.outcome(), Outcome::Done(_)));
        moments.extend(acknowledged.filter_map(|attempt| attempt.ended.as_ref()).map(|(at, _)| (*at, *request, last, true)));
    }
    moments.sort_unstable();
    let mut before = 0;
    let mut objections = Vec::new();
    for (_, request, seq, acknowledged) in moments {
        if acknowledged {
            before = seq.max(before);
        } else if seq <= before {
            objections.push(Objection::Order { then: request.to_owned(), seq, before });
        }
    }
    objections
}

/// Whoever asks for the present is shown nothing older than what anybody was shown before.
fn no_way_back(entries: &[&Entry]) -> Vec<Objection> {
    let mut moments = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let Some((at, outcome)) = &entry.ended else { continue };
        let Some(version) = outcome.version() else { continue };
        // The answer to a repeated request shows what was then.
        let of_the_present = !matches!(outcome, Outcome::Done(seen) if seen.replayed);
        moments.push((entry.invoked, number, version, of_the_present, false));
        moments.push((*at, number, version, of_the_present, true));
    }
    moments.sort_unstable();
    let (mut shown, mut when_sent) = (0, HashMap::new());
    let mut objections = Vec::new();
    for (_, number, version, of_the_present, ended) in moments {
        if !ended {
            when_sent.insert(number, shown);
            continue;
        }
        let before = when_sent.get(&number).copied().unwrap_or_default();
        let reached = reached(entries[number], version);
        if of_the_present && reached < before {
            objections.push(Objection::WentBack { before, seen: reached });
        }
        shown = version.max(shown);
    }
    objections
}

/// The version that an answer has come to. Events may have come in between those of a list and the version beside them.
fn reached(entry: &Entry, version: u32) -> u32 {
    match (&entry.call.what, entry.outcome()) {
        (What::Events { after }, Outcome::Done(seen)) if seen.events.len() < PAGE => {
            seen.events.last().map_or(*after, |(last, _)| *last).min(version)
        }
        _ => version,
    }
}

/// Whether a read showed what is stored.
fn misread(entry: &Entry, log: &[StoredEvent]) -> Option<Objection> {
    let Outcome::Done(seen) = entry.outcome() else { return None };
    if !entry.call.what.is_read() {
        return None;
    }
    let is_stored = |version: u32, hash: EventHash| log.get(version as usize - 1).is_some_and(|event| event.hash == Some(hash));
    let version = seen.version.unwrap_or_default();
    let beyond = version as usize > log.len();
    let other = seen.hash.is_some_and(|hash| !is_stored(version, hash));
    let after = if let What::Events { after } = entry.call.what { after } else { 0 };
    let torn = (after + 1..).zip(&seen.events).find(|(due, (found, hash))| due != found || !is_stored(*found, *hash));
    let wrong = if beyond || other { Some(version) } else { torn.map(|(due, _)| due) };
    wrong.map(|version| Objection::Misread { version })
}

/// Whether a watcher has seen exactly what is stored. Of a session that is gone nothing is known but that its versions were dense.
fn audit_watch(watch: &WatchLog, log: Option<&[StoredEvent]>) -> Vec<Objection> {
    let mut at = watch.after;
    for &(found, hash) in &watch.events {
        if found != at + 1 {
            return vec![Objection::WatchOrder { due: at + 1, found }];
        }
        at = found;
        if log.is_some_and(|log| log.get(at as usize - 1).is_none_or(|event| event.hash != Some(hash))) {
            return vec![Objection::WatchContent(at)];
        }
    }
    let stored = log.map_or(at, |log| log.len() as u32);
    let short = log.is_some() && (!watch.to_the_end || at != stored);
    short.then_some(Objection::WatchEnd { seen: at, stored }).into_iter().collect()
}
