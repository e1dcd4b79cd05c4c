//! Histories told by hand, for tests of the checks themselves: calls one after the other, and what a store that does everything right
//! has of them.

use crate::audit::{Logs, WatchLog};
use crate::call::{Call, Outcome, Seen, What, rules_of};
use crate::ledger::Entry;
use crate::machine::first_event;
use mancala::session::{Event, EventHash, Micros, Session};
use mancala::store::{Request, StoredEvent};

/// A session of Ayoayo.
pub const SESSION: &str = "story-1";
/// The same with a clock.
pub const TIMED: &str = "story-c0-1";

/// See the module.
#[derive(Clone)]
pub struct Story {
    name: &'static str,
    session: Option<Session>,
    pub log: Vec<StoredEvent>,
    pub entries: Vec<Entry>,
    pub now: u64,
}

impl Story {
    /// Only the session is made, by request "make".
    pub fn new() -> Story {
        Story::of(SESSION)
    }

    fn of(name: &'static str) -> Story {
        let mut story = Story { name, session: None, log: Vec::new(), entries: Vec::new(), now: 0 };
        let call = story.call("make", What::Create);
        let seen = story.carry_out(&call);
        story.tell(call, Outcome::Done(seen));
        story
    }

    /// A few moves, a resignation, and reads; all is well.
    pub fn of_a_game() -> Story {
        let mut story = Story::new();
        for request in ["a", "b", "c"] {
            story.play(request);
            story.get();
        }
        let resign = story.call("d", What::Resign);
        let seen = story.carry_out(&resign);
        story.tell(resign, Outcome::Done(seen));
        story.play("e");
        story.refused("f", What::Play { seat: None, mv: "99".to_owned() }, "PIT_OFF_BOARD");
        story.events();
        story
    }

    /// One with a clock, which nobody's has run yet.
    pub fn with_clock() -> Story {
        Story::of(TIMED)
    }

    /// One in which both seats have moved, so that the clock of the seat to act runs.
    pub fn under_time() -> Story {
        let mut story = Story::with_clock();
        story.play("a");
        story.play("b");
        story
    }

    /// The round is lost by time, so long after it is out, in microseconds.
    pub fn time_out(&mut self, late: Micros) {
        let session = self.session.as_ref().expect("it is made");
        let deadline = session.deadline().expect("a clock runs");
        let events = session.timed_out(Micros::MAX).expect("a clock runs");
        self.store(&events, None, deadline + late);
    }

    pub fn call(&self, request: &str, what: What) -> Call {
        Call { request: request.to_owned(), ..Call::read(self.name, what) }
    }

    /// The first legal move.
    pub fn next_move(&self) -> What {
        let session = self.session.as_ref().expect("it is made");
        What::Play { seat: None, mv: rules_of(self.name).legal_moves(session.position())[0].to_string() }
    }

    /// Stores what a call brings about, and gives the answer to it.
    pub fn carry_out(&mut self, call: &Call) -> Seen {
        let events = match (&self.session, call.what.command()) {
            (None, _) => vec![Event::Created(first_event(self.name))],
            (Some(session), Some(command)) => session.decide(&command, 0, &mut ()).expect("a story has legal moves"),
            (Some(_), None) => Vec::new(),
        };
        let request = (!call.request.is_empty()).then(|| Request { id: call.request.clone(), digest: [0; 32] });
        let time = 1_000 + self.now as Micros;
        self.store(&events, request.as_ref(), self.log.last().map_or(time, |last| time.max(last.time)));
        self.seen()
    }

    fn store(&mut self, events: &[Event], request: Option<&Request>, time: Micros) {
        for event in events {
            match (&mut self.session, event) {
                (None, Event::Created(created)) => {
                    self.session = Some(Session::new(self.name.to_owned(), created, time).expect("it can be played"));
                }
                (Some(session), event) => session.evolve(event, time, &mut ()).expect("it follows"),
                (None, _) => panic!("a session is made first"),
            }
            let (seq, body) = (self.log.len() as u32 + 1, event.to_json());
            let head = self.log.last().and_then(|last| last.hash).unwrap_or(EventHash::START);
            let hash = head.then(seq, time, request.map(|request| request.id.as_str()), &body);
            self.log.push(StoredEvent { seq, time, request: request.cloned(), body, hash: Some(hash) });
        }
    }

    /// What a reply shows at present.
    pub fn seen(&self) -> Seen {
        let session = self.session.as_ref().expect("it is made");
        Seen {
            version: Some(session.version()),
            position: Some(session.position().to_string()),
            hash: self.log.last().and_then(|last| last.hash),
            ..Seen::default()
        }
    }

    /// A call that is sent and answered before anything else happens.
    pub fn tell(&mut self, call: Call, outcome: Outcome) {
        let invoked = self.tick();
        let ended = Some((self.tick(), outcome));
        self.entries.push(Entry { call, client: 0, invoked, ended });
    }

    pub fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    pub fn play(&mut self, request: &str) {
        let call = self.call(request, self.next_move());
        let seen = self.carry_out(&call);
        self.tell(call, Outcome::Done(seen));
    }

    pub fn get(&mut self) {
        let seen = self.seen();
        self.tell(self.call("", What::Get), Outcome::Done(seen));
    }

    fn events(&mut self) {
        let events = self.log.iter().skip(1).map(|event| (event.seq, event.hash.expect("it has one"))).collect();
        let seen = Seen { events, position: None, hash: None, ..self.seen() };
        self.tell(self.call("", What::Events { after: 1 }), Outcome::Done(seen));
    }

    pub fn refused(&mut self, request: &str, what: What, reason: &str) {
        let call = self.call(request, what);
        self.tell(call, Outcome::refused(reason));
    }

    pub fn logs(&self) -> Logs {
        Logs::from([(self.name.to_owned(), Some(self.log.clone()))])
    }

    /// A watcher that has seen all of it.
    pub fn watched(&self) -> WatchLog {
        let events = self.log.iter().map(|event| (event.seq, event.hash.expect("it has one"))).collect();
        WatchLog { session: self.name.to_owned(), after: 0, events, to_the_end: true }
    }
}
