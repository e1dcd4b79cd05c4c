//! A session as calls see it when they come one after the other: what it answers in every state.
//!
//! Rules and decisions are the pure layers'; the order of checks and the repetition of requests are written here once more.
//!
//! What time does can't be known from answers: each server has its clock, which may be set forward or back at any moment. So the law of
//! clocks is the weakest that is true, whatever they show:
//!
//! - The round may be lost by time at any moment at which the clock of the seat to act runs, which is from that seat's first move on; and
//!   never while no clock runs. It is lost once: what follows is the next round, or the end of the match.
//! - From then on everybody finds that round lost. A change that was meant for it is refused: whoever finds the time out ends the round
//!   and is told STALE_VERSION, with the version that the session has come to by that.
//!
//! To the search time is one who makes calls that nobody has answered: they take effect at any moment, or never. Which versions they have
//! brought about it is told from the log, and nothing else may bring about those; otherwise it would try time at every turn. Whether time
//! was really out follows from the times that are stored with events, and is the auditor's to say.

use crate::call::{Call, Outcome, ROUNDS, Seen, What, clock_of, rules_of};
use crate::ledger::Entry;
use crate::linear::{Machine, Timed, Verdict, check};
use mancala::game::Guards;
use mancala::session::{Created, Event, Micros, Session, Spectators};
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
    /// The versions that rounds which are lost by time have brought about first.
    time_outs: Arc<[u32]>,
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
    /// The version that it had come to when a round was last lost by time.
    timed_out_at: u32,
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
        clock: clock_of(session),
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
    pub fn new(time_outs: &[u32]) -> SessionMachine {
        SessionMachine { state: Arc::new(State::NotMade), key: 0, time_outs: time_outs.into() }
    }

    /// The answer to a call, and the machine after it if that has changed.
    pub fn answer(&self, call: &Call) -> (Outcome, Option<SessionMachine>) {
        let (outcome, state) = match (&*self.state, &call.what) {
            (State::NotMade, What::Create) => {
                let session = Session::new(call.session.clone(), &first_event(&call.session), 0).expect("it can be played");
                let mut open = Open::new(session, call);
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
        let after = state.map(|state| self.with(state, &call.request));
        (outcome, after)
    }

    fn with(&self, state: State, key: &(impl Hash + ?Sized)) -> SessionMachine {
        SessionMachine { state: Arc::new(state), key: self.key_with(key), ..self.clone() }
    }

    /// The next version, if time is to bring it about.
    fn next_by_time(&self) -> Option<u32> {
        let State::Open(open) = &*self.state else { return None };
        let next = open.session.version() + 1;
        self.time_outs.contains(&next).then_some(next)
    }

    /// The session after its round was lost by time, if that brings about this version.
    fn after_time_out(&self, version: u32) -> Option<SessionMachine> {
        let State::Open(open) = &*self.state else { return None };
        // As if no seat had any time left.
        let events = open.session.timed_out(Micros::MAX).filter(|_| self.next_by_time() == Some(version))?;
        let mut next = open.clone();
        next.take_in(&events);
        next.timed_out_at = next.session.version();
        Some(self.with(State::Open(next), &version))
    }

    /// Whether a change may be refused since it was meant for a round that has just been lost by time.
    fn is_too_late(&self, call: &Call, outcome: &Outcome) -> bool {
        let State::Open(open) = &*self.state else { return false };
        let stale = Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: Some(open.timed_out_at) };
        let is_new = call.what.command().is_some() && !open.answered.contains_key(&call.request);
        is_new && open.timed_out_at == open.session.version() && *outcome == stale
    }

    fn key_with(&self, what: &(impl Hash + ?Sized)) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key, what).hash(&mut hasher);
        hasher.finish()
    }
}

impl Open {
    fn new(session: Session, call: &Call) -> Open {
        Open { session, made_by: call.request.clone(), answered: HashMap::new(), timed_out_at: 0 }
    }

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

/// What happens to a session.
#[derive(Debug, Clone)]
pub enum Step {
    /// A call, and what came of it.
    Called(Call, Outcome),
    /// A round is lost by time, which brings about this version.
    TimedOut(u32),
}

impl Machine for SessionMachine {
    type Op = Step;

    fn after(&self, step: &Step) -> Option<SessionMachine> {
        let (call, outcome) = match step {
            Step::TimedOut(version) => return self.after_time_out(*version),
            Step::Called(call, outcome) => (call, outcome),
        };
        let (due, after) = self.answer(call);
        let in_times_place = after.is_some() && self.next_by_time().is_some();
        match outcome {
            Outcome::Unknown => after.filter(|_| !in_times_place),
            outcome if is_like(outcome, &due) => Some(after.unwrap_or_else(|| self.clone())).filter(|_| !in_times_place),
            outcome => self.is_too_late(call, outcome).then(|| self.clone()),
        }
    }

    fn key(&self) -> u64 {
        self.key
    }
}

/// Whether the calls on one session, as the ledger has them, can have happened one after the other. Rounds that are lost by time have
/// brought about these versions.
pub fn is_linear<'a>(entries: impl Iterator<Item = &'a Entry>, time_outs: &[u32]) -> Result<usize, String> {
    // What has certainly not happened and says nothing of the session has no place in the order.
    let told = entries.filter(|entry| *entry.outcome() != Outcome::Failed);
    let mut calls: Vec<_> = told
        // A read that was not answered neither.
        .filter(|entry| *entry.outcome() != Outcome::Unknown || !entry.call.what.is_read())
        .map(|entry| {
            let known = entry.ended.as_ref().filter(|(_, outcome)| *outcome != Outcome::Unknown);
            let op = Step::Called(entry.call.clone(), entry.outcome().clone());
            Timed { invoked: entry.invoked, returned: known.map(|(at, _)| *at), op }
        })
        .collect();
    let answered = calls.len();
    calls.extend(time_outs.iter().map(|version| Timed { invoked: 0, returned: None, op: Step::TimedOut(*version) }));
    calls.sort_by_key(|call| call.invoked);
    match check(SessionMachine::new(time_outs), &calls) {
        Verdict::Linear => Ok(answered),
        Verdict::TooHard(states) => Err(format!("no order found among {states} states")),
        Verdict::Not { longest } => Err(explain(SessionMachine::new(time_outs), &calls, &longest)),
    }
}

/// Why the longest order can't go on: where it has come to, and the answers that don't fit there.
fn explain(mut machine: SessionMachine, calls: &[Timed<Step>], longest: &[usize]) -> String {
    for &number in longest {
        machine = machine.after(&calls[number].op).expect("it was found so");
    }
    let left = calls.iter().enumerate().filter(|(number, call)| !longest.contains(number) && call.returned.is_some());
    let mut left: Vec<_> = left.collect();
    left.sort_by_key(|(_, call)| call.returned);
    let misfits = left.iter().filter_map(|(_, timed)| match &timed.op {
        Step::TimedOut(_) => None,
        Step::Called(call, outcome) => {
            let (due, between) = (machine.answer(call).0, (timed.invoked, timed.returned));
            Some(format!("{call:?} {between:?} was answered {outcome:?} where {due:?} is due"))
        }
    });
    let misfits: Vec<_> = misfits.take(3).collect();
    format!("no order explains the answers; after {} calls of {}: {}", longest.len(), calls.len(), misfits.join("; or "))
}
