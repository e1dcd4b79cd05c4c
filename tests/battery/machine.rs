//! A session as calls see it when they come one after the other: what it answers in every state.
//!
//! Rules and decisions are the pure layers'; the order of checks and the repetition of requests are written here once more.

use crate::call::{Call, Outcome, ROUNDS, Seen, What, rules_of};
use crate::ledger::Entry;
use crate::linear::{Machine, Timed, Verdict, check};
use mancala::game::Guards;
use mancala::session::{Created, Event, Session, Spectators};
use mancala::wire::refuse::Refused;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub struct SessionMachine {
    state: Arc<State>,
    /// Follows from the changes and their order.
    key: u64,
}

enum State {
    NotMade,
    Open(Box<Open>),
    Deleted {
        by: Call,
        /// The request that had made it.
        made_by: String,
    },
}

#[derive(Clone)]
struct Open {
    session: Session,
    /// The request that made it.
    made_by: String,
    /// What was asked for by requests, and the answers.
    answered: HashMap<String, Arc<(Call, Seen)>>,
}

/// How a session of this name begins.
pub fn first_event(session: &str) -> Created {
    let rules = rules_of(session);
    Created {
        game: rules.game().id().to_owned(),
        options: rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        guards: Guards::of(rules.game()).into(),
        position: rules.start().to_string(),
        labels: Default::default(),
        rounds: ROUNDS,
        clock: None,
        previous_session_id: None,
        seats: Vec::new(),
        spectators: Spectators::default(),
    }
}

/// What a reply shows of a session.
fn seen(session: &Session) -> Seen {
    Seen { version: Some(session.version()), position: Some(session.position().to_string()), ..Seen::default() }
}

impl SessionMachine {
    pub fn new() -> SessionMachine {
        SessionMachine { state: Arc::new(State::NotMade), key: 0 }
    }

    /// The answer to a call, and the machine after it if that has changed.
    pub fn answer(&self, call: &Call) -> (Outcome, Option<SessionMachine>) {
        let (outcome, state) = match (&*self.state, &call.what) {
            (State::NotMade, What::Create) => {
                let session = Session::new(call.session.clone(), &first_event(&call.session), 0).expect("it can be played");
                let mut open = Open { session, made_by: call.request.clone(), answered: HashMap::new() };
                let reply = open.keep(call);
                (Outcome::Done(reply), Some(State::Open(Box::new(open))))
            }
            (State::Open(open), What::Create) => match open.answered.get(&call.request) {
                Some(before) => (repeated(before, call), None),
                None => (Outcome::refused("SESSION_ID_TAKEN"), None),
            },
            (State::Deleted { made_by, .. }, What::Create) => {
                let made_it = *made_by == call.request;
                (Outcome::refused(if made_it { "SESSION_NOT_FOUND" } else { "SESSION_ID_TAKEN" }), None)
            }
            (State::NotMade, _) => (Outcome::refused("SESSION_NOT_FOUND"), None),
            (State::Deleted { by, .. }, What::Delete) if by.request == call.request => {
                let same = by.expected_version == call.expected_version;
                (if same { Outcome::Done(Seen::default()) } else { Outcome::refused("REQUEST_ID_REUSED") }, None)
            }
            (State::Deleted { .. }, _) => (Outcome::refused("SESSION_NOT_FOUND"), None),
            (State::Open(open), _) => open.answer(call),
        };
        let after = state.map(|state| SessionMachine { state: Arc::new(state), key: self.key_with(&call.request) });
        (outcome, after)
    }

    fn key_with(&self, request: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key, request).hash(&mut hasher);
        hasher.finish()
    }
}

impl Open {
    fn answer(&self, call: &Call) -> (Outcome, Option<State>) {
        let version = self.session.version();
        match call.what {
            What::Get => return (Outcome::Done(seen(&self.session)), None),
            What::Events { after } if after > version => {
                return (Outcome::Refused { reason: "VERSION_AHEAD".to_owned(), current: Some(version) }, None);
            }
            What::Events { .. } => return (Outcome::Done(Seen { version: Some(version), ..Seen::default() }), None),
            _ => {}
        }
        if let Some(before) = self.answered.get(&call.request) {
            return (repeated(before, call), None);
        }
        if call.expected_version.is_some_and(|expected| expected != version) {
            return (Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: Some(version) }, None);
        }
        let Some(command) = call.what.command() else {
            let deleted = State::Deleted { by: call.clone(), made_by: self.made_by.clone() };
            return (Outcome::Done(Seen::default()), Some(deleted));
        };
        match self.session.decide(&command, 0, &mut ()) {
            Err(rejection) => (Outcome::refused(&Refused::from(&rejection).into_refusal().reason), None),
            Ok(events) => {
                let mut next = self.clone();
                next.take_in(&events);
                let reply = next.keep(call);
                (Outcome::Done(reply), Some(State::Open(Box::new(next))))
            }
        }
    }

    fn take_in(&mut self, events: &[Event]) {
        for event in events {
            self.session.evolve(event, 0, &mut ()).expect("what was decided follows");
        }
    }

    /// Keeps the answer to a request, which is how the session stands.
    fn keep(&mut self, call: &Call) -> Seen {
        let reply = seen(&self.session);
        self.answered.insert(call.request.clone(), Arc::new((call.clone(), reply.clone())));
        reply
    }
}

/// The answer to a request whose id is known.
fn repeated((before, reply): &(Call, Seen), call: &Call) -> Outcome {
    if before == call { Outcome::Done(Seen { replayed: true, ..reply.clone() }) } else { Outcome::refused("REQUEST_ID_REUSED") }
}

/// Whether an answer is the one that was due, as far as it tells.
fn is_like(answer: &Outcome, due: &Outcome) -> bool {
    match (answer, due) {
        (Outcome::Done(answer), Outcome::Done(due)) => {
            let same_position = answer.position.is_none() || due.position.is_none() || answer.position == due.position;
            answer.version == due.version && answer.replayed == due.replayed && same_position
        }
        (answer, due) => answer == due,
    }
}

impl Machine for SessionMachine {
    type Op = (Call, Outcome);

    fn after(&self, (call, outcome): &(Call, Outcome)) -> Option<SessionMachine> {
        let (due, after) = self.answer(call);
        match outcome {
            Outcome::Unknown => after,
            outcome => is_like(outcome, &due).then(|| after.unwrap_or_else(|| self.clone())),
        }
    }

    fn key(&self) -> u64 {
        self.key
    }
}

/// Whether the calls on one session, as the ledger has them, can have happened one after the other.
pub fn is_linear<'a>(entries: impl Iterator<Item = &'a Entry>) -> Result<usize, String> {
    // What has certainly not happened and says nothing of the session has no place in the order.
    let told = entries.filter(|entry| *entry.outcome() != Outcome::Failed);
    let mut calls: Vec<_> = told
        // A read that was not answered neither.
        .filter(|entry| *entry.outcome() != Outcome::Unknown || !entry.call.what.is_read())
        .map(|entry| {
            let known = entry.ended.as_ref().filter(|(_, outcome)| *outcome != Outcome::Unknown);
            let op = (entry.call.clone(), entry.outcome().clone());
            Timed { invoked: entry.invoked, returned: known.map(|(at, _)| *at), op }
        })
        .collect();
    calls.sort_by_key(|call| call.invoked);
    match check(SessionMachine::new(), &calls) {
        Verdict::Linear => Ok(calls.len()),
        Verdict::TooHard(states) => Err(format!("no order found among {states} states")),
        Verdict::Not { longest } => Err(explain(&calls, &longest)),
    }
}

/// Why the longest order can't go on: where it has come to, and the answers that don't fit there.
fn explain(calls: &[Timed<(Call, Outcome)>], longest: &[usize]) -> String {
    let mut machine = SessionMachine::new();
    for &number in longest {
        machine = machine.after(&calls[number].op).expect("it was found so");
    }
    let left = calls.iter().enumerate().filter(|(number, call)| !longest.contains(number) && call.returned.is_some());
    let mut left: Vec<_> = left.collect();
    left.sort_by_key(|(_, call)| call.returned);
    let misfits = left.iter().take(3).map(|(_, call)| {
        let due = machine.answer(&call.op.0).0;
        format!("{:?} ({} to {:?}) was answered {:?} where {due:?} is due", call.op.0, call.invoked, call.returned, call.op.1)
    });
    let misfits: Vec<_> = misfits.collect();
    format!("no order explains the answers; after {} calls of {}: {}", longest.len(), calls.len(), misfits.join("; or "))
}
