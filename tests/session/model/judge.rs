//! Sends a scenario's requests to the service and to the reference, and compares.

use super::reference::{Outcome, Reference, Sent};
use super::scenario::{Expected, Scenario, Step, Time, Wish};
use mancala::game::{Rules, Seat};
use mancala::random::SeededDice;
use mancala::service::{Clock, NewSession, ServiceError, Sessions, Target, record_of};
use mancala::session::record::{self, Format};
use mancala::session::{
    ClockSetting, ClockView, Command, Credential, Event, EventHash, Micros, Proposal, ProposalKind, Rejection, Remaining,
    Session, State, View,
};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Store, StoredEvent};
use proptest::prelude::prop;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tokio::runtime::Runtime;

struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Micros {
        self.0.load(Ordering::SeqCst)
    }
}

/// One store for all scenarios.
pub struct Judge {
    pub runtime: Runtime,
    store: Arc<dyn Store>,
    clock: Arc<SetClock>,
    _folder: TempDir,
}

/// What clocks show at first: 2020-09-13 12:26:40 UTC.
const START: Micros = 1_600_000_000_000_000;

impl Judge {
    pub fn new() -> Judge {
        // What is durable is not in question here: in memory, where there is such a folder, it goes faster.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder");
        let store = SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Judge { runtime, store: Arc::new(store), clock: Arc::new(SetClock(AtomicI64::new(START))), _folder: folder }
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(self.store.clone(), self.clock.clone(), 4)
    }

    fn time(&self) -> Micros {
        self.clock.now()
    }

    pub async fn judge(&self, scenario: &Scenario) -> BTreeSet<String> {
        self.clock.0.store(START, Ordering::SeqCst);
        let mut sessions = self.sessions();
        let Scenario { guards, rounds, clock, .. } = *scenario;
        let (rules, start) = (scenario.rules(), scenario.start());
        let new = NewSession {
            session_id: None,
            rules,
            guards,
            start,
            labels: Default::default(),
            rounds,
            clock,
            previous_session_id: None,
            seats: Vec::new(),
            spectators: Default::default(),
            creator: None,
            request_id: None,
        };
        let made = sessions.create(new).await.expect("a session").session;
        let id = made.id().to_owned();
        let mut reference = Reference::new(rules, guards, rounds, clock, start, self.time(), made.rematch_id());
        let mut seen = BTreeSet::from(["created".to_owned()]);
        let mut sent_before: Vec<Sent> = Vec::new();
        self.compare(&id, &reference, scenario).await;
        for (number, step) in scenario.steps.iter().enumerate() {
            self.let_time_pass(step.time, &reference);
            let place = || format!("step {number} {step:?}");
            match step.wish {
                Wish::Look => {
                    note_events(&mut seen, &reference.look(self.time()));
                    let view = sessions.look(&id, View::of).await.expect("a session");
                    let stored = self.store.read(&id, 0, 10_000).await.expect("a store").expect("a session");
                    assert_eq!(view, view_of(&reference, scenario, head_hash(&stored)), "{}", place());
                }
                Wish::Restart => sessions = self.sessions(),
                _ => {
                    let sent = match step.wish {
                        Wish::Again(index) if !sent_before.is_empty() => index.get(&sent_before).clone(),
                        _ => request(step, &reference),
                    };
                    sent_before.push(sent.clone());
                    let version = reference.version();
                    let expected = reference.request(&sent, self.time());
                    let outcome = send(&sessions, &id, sent).await;
                    assert_eq!(outcome, expected, "{}", place());
                    assert!(reference.version() >= version);
                    note(&mut seen, &outcome);
                    let mut thoughts = reference.now().thoughts.iter().flatten();
                    if thoughts.any(|thought| thought.used > 0 && !thought.moved) {
                        seen.insert("time used by a decision that was taken back".to_owned());
                    }
                }
            }
            self.compare(&id, &reference, scenario).await;
        }
        // Whatever has happened is a record that is right.
        let stored = self.store.read(&id, 0, 10_000).await.expect("a store").expect("a session");
        let record = record_of(&id, &stored, None).expect("a record").write(Format::Text);
        let checked = record::check(&record, None, || false).unwrap_or_else(|wrong| panic!("{wrong}\n{record}"));
        assert_eq!(checked.session.head_hash(), head_hash(&stored));
        seen
    }

    fn let_time_pass(&self, time: Time, reference: &Reference) {
        let now = match (time, reference.deadline()) {
            (Time::Passes(by), _) => self.time() + by,
            (Time::ToDeadline(off), Some(deadline)) => deadline + off,
            (Time::ToDeadline(_), None) => self.time(),
        };
        self.clock.0.store(now, Ordering::SeqCst);
    }

    /// What is stored, replayed from the first event, is what the reference has; and the laws of every list of events.
    async fn compare(&self, id: &str, reference: &Reference, scenario: &Scenario) {
        let stored = self.store.read(id, 0, 10_000).await.expect("a store").expect("a session");
        let head = self.store.head(id).await.expect("a store").expect("a session");
        assert!(stored.iter().map(|event| event.seq).eq(1..=reference.version()), "versions are dense");
        let read = |body: &str| Event::from_json(body).expect("an event");
        let Event::Created(created) = read(&stored[0].body) else { panic!("{}", stored[0].body) };
        let mut session = Session::new(id.to_owned(), &created, stored[0].time).expect("a session");
        for (event, before) in stored[1..].iter().zip(&stored) {
            assert!(event.time >= before.time, "time never goes back");
            let body = read(&event.body);
            assert_eq!(body.to_json(), event.body);
            let was = session.clone();
            session.evolve(&body, event.time, &mut ()).expect("what is stored follows");
            laws(&was, &body, &session);
        }
        session.seal(head_hash(&stored));
        let view = View::of(&session);
        assert_eq!(view, view_of(reference, scenario, session.head_hash()));
        assert_eq!(view.to_json(), head.summary, "the summary is the session's");
        assert_eq!(View::from_json(&head.summary), Ok(view));
        assert_eq!((head.version, head.state), (session.version(), session.state()));
        assert_eq!((head.created, head.updated), (stored[0].time, reference.now().time));
        let result = reference.now().result.map(|result| result.cause.name());
        let state = match result {
            None => State::Active,
            Some("abort") => State::Aborted,
            Some(_) => State::Finished,
        };
        assert_eq!(head.state, state);
    }
}

/// What an event may do to a session.
fn laws(before: &Session, event: &Event, after: &Session) {
    assert_eq!(after.version(), before.version() + 1, "every event adds one");
    if before.result().is_some() {
        let rematch = matches!(event, Event::RematchMade { .. })
            || matches!(event, Event::Proposed { kind, .. } | Event::Answered { kind, .. } | Event::Withdrawn { kind, .. }
                if *kind == ProposalKind::Rematch);
        assert!(rematch, "after the end there are only rematches: {event:?}");
        assert_eq!(before.result(), after.result());
    }
    let moved_on =
        matches!(event, Event::MovePlayed { .. } | Event::RoundStarted { .. } | Event::TakenBack { .. } | Event::Ended { .. });
    assert!(!moved_on || after.proposals().open().is_empty(), "a proposal is void once the game moves on");
    if let Event::Proposed { seat, kind, .. } = event {
        assert!(!before.proposals().was_made(*seat, *kind), "each seat proposes each kind once");
    }
    let (Some(old), Some(new)) = (before.clock(), after.clock()) else { return };
    if matches!(event, Event::RoundStarted { .. }) {
        return;
    }
    let increment = match (event, old.setting()) {
        (Event::MovePlayed { .. }, ClockSetting::Total { increment, .. }) => *increment,
        _ => 0,
    };
    for seat in Seat::BOTH {
        let (old, new) = (old.remaining(seat), new.remaining(seat));
        assert!(new.main <= old.main + increment && new.periods <= old.periods, "time is never given: {event:?}");
        assert!(new.main >= 0, "and never less than none: {event:?}");
    }
}

fn request(step: &Step, reference: &Reference) -> Sent {
    let (seat, current, copy) = (step.seat, reference.version(), reference.now());
    let one_of = |index: &prop::sample::Index| index.get(&copy.open).kind;
    let command = match &step.wish {
        Wish::Move(seed) => drawn(&reference.rules, copy, *seed).map(|mv| Command::Play { seat, mv }),
        Wish::Text(text) => Some(Command::Play { seat, mv: text.parse().expect("a move") }),
        Wish::Resign(whole_match) => Some(Command::Resign { seat, whole_match: *whole_match }),
        Wish::Propose(kind, to) => {
            let to_version = to.map(|index| index.index(current as usize + 2) as u32);
            Some(Command::Propose { seat, kind: *kind, to_version })
        }
        Wish::TakeBack(index) => {
            let moves = copy.played.iter().map(|played| played.version);
            let versions: Vec<_> = std::iter::once(copy.round_version).chain(moves).collect();
            Some(Command::Propose { seat, kind: ProposalKind::Takeback, to_version: Some(*index.get(&versions)) })
        }
        Wish::AnswerOpen(index, accept) if !copy.open.is_empty() => {
            Some(Command::Answer { seat, kind: one_of(index), accept: *accept })
        }
        Wish::WithdrawOpen(index) if !copy.open.is_empty() => Some(Command::Withdraw { seat, kind: one_of(index) }),
        Wish::Answer(kind, accept) => Some(Command::Answer { seat, kind: *kind, accept: *accept }),
        Wish::Withdraw(kind) => Some(Command::Withdraw { seat, kind: *kind }),
        Wish::Claim => Some(Command::ClaimTimeout),
        Wish::AnswerOpen(..) | Wish::WithdrawOpen(_) | Wish::Again(_) | Wish::Look | Wish::Restart => None,
    };
    Sent {
        id: step.id.map(|id| format!("request-{id}")),
        expected_version: match step.expected {
            Expected::Any => None,
            Expected::Current => Some(current),
            Expected::Off(by) => Some(current.saturating_add_signed(by.into())),
        },
        command: command.unwrap_or(Command::ClaimTimeout),
    }
}

fn drawn(rules: &Rules, copy: &super::reference::Copy, seed: u64) -> Option<mancala::game::Move> {
    rules.sample(&copy.position, &mut SeededDice::new(seed))
}

async fn send(sessions: &Sessions, id: &str, sent: Sent) -> Outcome {
    let target = Target {
        session_id: id.to_owned(),
        expected_version: sent.expected_version,
        request_id: sent.id,
        credential: Credential::Trusted,
    };
    match sessions.apply(target, sent.command, false, Session::version).await {
        Ok(done) => Outcome::Done { events: done.events, version: done.after, replayed: done.replayed },
        Err(ServiceError::Rejected(Rejection::ProposalImpossible { kind, why })) => {
            assert!(!why.is_empty());
            Outcome::Refused(Rejection::ProposalImpossible { kind, why: "" })
        }
        Err(ServiceError::Rejected(rejection)) => Outcome::Refused(rejection),
        Err(ServiceError::StaleVersion { expected, current }) => Outcome::Stale { expected, current },
        Err(ServiceError::RequestIdReused { .. }) => Outcome::Reused,
        Err(other) => panic!("{other}"),
    }
}

/// What everybody may see of a session, by the reference.
fn view_of(reference: &Reference, scenario: &Scenario, head_hash: EventHash) -> View {
    let copy = reference.now();
    let remaining = |seat| {
        let (main, periods) = reference.left(seat);
        Remaining { main, periods }
    };
    View {
        options: reference.rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        guards: scenario.guards.into(),
        position: copy.position.to_string(),
        ply: copy.played.len() as u32,
        round: copy.round,
        rounds: reference.rounds,
        points: copy.points,
        round_results: copy.round_results.clone(),
        result: copy.result,
        clock: scenario.clock.map(|setting| ClockView {
            setting,
            south: remaining(Seat::South),
            north: remaining(Seat::North),
            deadline: reference.deadline(),
        }),
        proposals: copy.open.iter().map(|open| Proposal { ..*open }).collect(),
        previous_session_id: None,
        next_session_id: copy.next_session_id.clone(),
        seats: Vec::new(),
        spectators: Default::default(),
        head_hash: head_hash.to_string(),
    }
}

/// The hash of the last of these events, each of which is stored with its own.
fn head_hash(stored: &[StoredEvent]) -> EventHash {
    stored.iter().fold(EventHash::START, |head, event| {
        let request_id = event.request.as_ref().map(|request| request.id.as_str());
        let hash = head.then(event.seq, event.time, request_id, &event.body);
        assert_eq!(event.hash, Some(hash));
        hash
    })
}

fn note(seen: &mut BTreeSet<String>, outcome: &Outcome) {
    let refusal = match outcome {
        Outcome::Done { events, replayed, .. } => {
            note_events(seen, events);
            if !replayed {
                return;
            }
            "replayed"
        }
        Outcome::Stale { .. } => "stale",
        Outcome::Reused => "reused",
        Outcome::Refused(rejection) => match rejection {
            Rejection::SessionOver { .. } => "session_over",
            Rejection::NotYourTurn { .. } => "not_your_turn",
            Rejection::Illegal(_) => "illegal",
            Rejection::TimeNotOut { .. } => "time_not_out",
            Rejection::ProposalOpen { .. } => "proposal_open",
            Rejection::ProposalTooSoon { .. } => "proposal_too_soon",
            Rejection::ProposalImpossible { .. } => "proposal_impossible",
            Rejection::ProposalNotFound { .. } => "proposal_not_found",
            Rejection::ProposalOfOther { .. } => "proposal_of_other",
            Rejection::SeatTaken { .. }
            | Rejection::SeatUnclaimed { .. }
            | Rejection::NothingToRevoke { .. }
            | Rejection::JoinCodeUnknown => panic!("nobody changes seats here"),
        },
    };
    seen.insert(refusal.to_owned());
}

fn note_events(seen: &mut BTreeSet<String>, events: &[Event]) {
    for event in events {
        let json: serde_json::Value = serde_json::from_str(&event.to_json()).expect("JSON");
        seen.insert(json["type"].as_str().expect("a type").to_owned());
        match event {
            Event::RoundEnded { result, .. } => seen.insert(format!("round by {}", result.cause.name())),
            Event::Ended { result } => seen.insert(format!("end by {}", result.cause.name())),
            _ => false,
        };
    }
}
