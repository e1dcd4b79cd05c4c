//! A search that finds an order for everything proves nothing, and one that finds none where there is one accuses the innocent: it is
//! held against plain trying of all orders, and against histories that are known to be good or bad.

use crate::audit::is_time_out;
use crate::call::{Call, Outcome, Seen, What};
use crate::ledger::Entry;
use crate::linear::{Machine, Timed, Verdict, check};
use crate::machine::is_linear;
use crate::story::Story;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::StoredEvent;

/// A number that can be set, and read.
#[derive(Debug, Clone, Copy)]
struct Register(u64);

#[derive(Debug, Clone, Copy)]
enum Access {
    Set(u64),
    /// Shows this; without an answer it has no effect.
    Read(u64),
    /// Adds one, and shows what comes of it; none: that is not known.
    Add(Option<u64>),
}

impl Machine for Register {
    type Op = Access;

    fn after(&self, op: &Access) -> Option<Register> {
        match *op {
            Access::Set(number) => Some(Register(number)),
            Access::Read(shown) => (shown == self.0).then_some(*self),
            Access::Add(shown) => (shown.is_none_or(|shown| shown == self.0 + 1)).then_some(Register(self.0 + 1)),
        }
    }

    fn key(&self) -> u64 {
        self.0
    }
}

/// Tries all orders.
fn has_an_order(at: Register, left: &[Timed<Access>]) -> bool {
    if left.iter().all(|call| call.returned.is_none()) {
        return true;
    }
    (0..left.len()).any(|number| {
        let call = &left[number];
        let comes_after = |other: &Timed<Access>| other.returned.is_some_and(|returned| returned < call.invoked);
        if left.iter().any(comes_after) {
            return false;
        }
        let mut rest = left.to_vec();
        rest.remove(number);
        at.after(&call.op).is_some_and(|after| has_an_order(after, &rest))
    })
}

fn any_history(dice: &mut SeededDice) -> Vec<Timed<Access>> {
    let mut calls: Vec<_> = (0..1 + dice.below(6))
        .map(|_| {
            let answered = dice.below(4) > 0;
            // No two moments are one, as in a ledger.
            let invoked = 2 * dice.below(12);
            let returned = answered.then(|| invoked + 1 + 2 * dice.below(6));
            let number = dice.below(3);
            let op = match dice.below(3) {
                0 => Access::Set(number),
                1 if answered => Access::Read(number),
                _ => Access::Add(answered.then_some(number + 1)),
            };
            Timed { invoked, returned, op }
        })
        .collect();
    calls.sort_by_key(|call| call.invoked);
    calls
}

#[test]
fn the_search_finds_what_trying_all_orders_finds() {
    let mut dice = SeededDice::new(crate::form::first_seed());
    let mut found = [0, 0];
    for _ in 0..if crate::form::long_form() { 200_000 } else { 6_000 } {
        let calls = any_history(&mut dice);
        let has_one = has_an_order(Register(0), &calls);
        assert_eq!(check(Register(0), &calls) == Verdict::Linear, has_one, "{calls:?}");
        found[usize::from(has_one)] += 1;
    }
    assert!(found.iter().all(|times| *times > 500), "{found:?}");
}

/// A story whose calls are then told to have been made at other times.
struct Times(Story);

impl Times {
    fn entry(&mut self, request: &str) -> &mut Entry {
        self.0.entries.iter_mut().rev().find(|entry| entry.call.request == request).expect("it is told of")
    }

    fn never_answered(&mut self, request: &str) {
        self.entry(request).ended = None;
    }

    fn is_good(&self) -> bool {
        let time_outs = self.0.log.iter().filter(|event| is_time_out(event)).map(|event| event.seq);
        is_linear(self.0.entries.iter(), &time_outs.collect::<Vec<_>>()).is_ok()
    }
}

fn told(tell: impl FnOnce(&mut Story)) -> Times {
    let mut story = Story::new();
    tell(&mut story);
    Times(story)
}

/// A call that is stored, and whose outcome is the one given.
fn stored(story: &mut Story, request: &str, outcome: impl FnOnce(Seen) -> Outcome) -> Call {
    let call = story.call(request, story.next_move());
    let seen = story.carry_out(&call);
    story.tell(call.clone(), outcome(seen));
    call
}

#[test]
fn good_histories() {
    assert!(Times(Story::of_a_game()).is_good());
    let pending = told(|story| {
        stored(story, "a", |_| Outcome::Unknown);
        story.get();
        story.play("b");
    });
    assert!(pending.is_good(), "it has happened, as the read shows");
    let never = told(|story| {
        let call = story.call("a", story.next_move());
        story.tell(call, Outcome::Unknown);
        story.get();
        story.play("b");
    });
    assert!(never.is_good(), "it has not happened");
    let later = told(|story| {
        let call = story.call("a", story.next_move());
        story.tell(call.clone(), Outcome::Unknown);
        story.get();
        story.get();
        story.carry_out(&call);
        story.get();
    });
    assert!(later.is_good(), "it has happened long after it was sent");
    let repeated = told(|story| {
        let call = stored(story, "a", |_| Outcome::Unknown);
        let seen = Seen { replayed: true, ..story.seen() };
        story.tell(call.clone(), Outcome::Done(seen.clone()));
        story.play("b");
        story.tell(call, Outcome::Done(seen));
    });
    assert!(repeated.is_good(), "a repetition is answered as the first time");
    let mut at_once = told(|story| {
        story.get();
        story.play("a");
    });
    let read = at_once.0.entries.len() - 2;
    at_once.0.entries[read].ended.as_mut().expect("answered").0 = 100;
    at_once.0.entries.swap(read, read + 1);
    assert!(at_once.is_good(), "a read that took its time may show what was when it was sent");
    let refused = told(|story| {
        story.play("a");
        let call = Call { expected_version: Some(1), ..story.call("b", story.next_move()) };
        story.tell(call, Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: Some(2) });
        story.refused("c", What::Answer { kind: mancala::session::ProposalKind::Draw, accept: true }, "PROPOSAL_NOT_FOUND");
    });
    assert!(refused.is_good());
}

/// A story with clocks that run, and what is told of it after that.
fn under_time(tell: impl FnOnce(&mut Story)) -> Times {
    let mut story = Story::under_time();
    tell(&mut story);
    Times(story)
}

/// As the session is, a change by this request is refused as one that was meant for what was before.
fn stale(story: &mut Story, request: &str) {
    let call = story.call(request, story.next_move());
    story.tell(call, Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: story.seen().version });
}

#[test]
fn good_histories_with_clocks() {
    let found_by_a_read = under_time(|story| {
        story.time_out(1);
        story.get();
        story.play("c");
    });
    assert!(found_by_a_read.is_good());
    let found_by_a_move = under_time(|story| {
        story.time_out(1);
        stale(story, "c");
        stale(story, "d");
        story.play("e");
    });
    assert!(found_by_a_move.is_good(), "whoever meant the round that is lost is told");
    let and_the_next = under_time(|story| {
        story.time_out(1);
        stale(story, "c");
        story.time_out(1);
        story.get();
    });
    assert!(and_the_next.is_good(), "though the move is a legal one in a round that is lost, too");
    let twice = under_time(|story| {
        story.time_out(1);
        story.time_out(1);
        story.get();
        story.play("c");
        story.time_out(1);
        story.get();
    });
    assert!(twice.is_good(), "nobody need call in between");
}

#[test]
fn bad_histories_with_clocks() {
    let no_clock = told(|story| stale(story, "a"));
    assert!(!no_clock.is_good(), "what was read just now is not stale");
    let not_lost = under_time(|story| stale(story, "c"));
    assert!(!not_lost.is_good(), "nothing was lost by time");
    let long_ago = under_time(|story| {
        story.time_out(1);
        story.play("c");
        stale(story, "d");
    });
    assert!(!long_ago.is_good(), "that was meant for the round that is on");
    let stands_still = |moves: &[&str]| {
        let (mut story, mut other) = (Story::with_clock(), Story::under_time());
        moves.iter().for_each(|request| story.play(request));
        other.time_out(1);
        let shown = Seen { version: story.seen().version.map(|version| version + 3), ..other.seen() };
        story.tell(story.call("", What::Get), Outcome::Done(shown));
        let seq = story.log.len() as u32 + 1;
        story.log.push(StoredEvent { seq, ..other.log[3].clone() });
        Times(story).is_good()
    };
    assert!(!stands_still(&[]) && !stands_still(&["a"]), "the seat to act has not moved yet, so that its clock does not run");
    assert!(stands_still(&["a", "b"]));
    let played_on = under_time(|story| {
        let before = story.clone();
        story.time_out(1);
        story.get();
        let call = before.call("c", before.next_move());
        let seen = before.clone().carry_out(&call);
        story.tell(call, Outcome::Done(seen));
    });
    assert!(!played_on.is_good(), "a move in a round that is lost");
    let came_back = under_time(|story| {
        let before = story.seen();
        story.time_out(1);
        story.get();
        story.tell(story.call("", What::Get), Outcome::Done(before));
    });
    assert!(!came_back.is_good(), "a round that is lost stays so");
}

#[test]
fn bad_histories() {
    let lost_update = told(|story| {
        let before = story.clone();
        story.play("a");
        let call = before.call("b", before.next_move());
        let seen = before.clone().carry_out(&call);
        story.tell(call, Outcome::Done(seen));
    });
    assert!(!lost_update.is_good(), "two calls were acknowledged with one version");
    let stale_read = told(|story| {
        let before = story.seen();
        story.play("a");
        story.tell(Call::read(crate::story::SESSION, What::Get), Outcome::Done(before));
    });
    assert!(!stale_read.is_good());
    let applied_twice = told(|story| {
        let call = stored(story, "a", |_| Outcome::Unknown);
        let again = story.call("a", story.next_move());
        let seen = story.carry_out(&again);
        story.tell(call, Outcome::Done(seen));
    });
    assert!(!applied_twice.is_good());
    let went_back = told(|story| {
        let before = story.seen();
        stored(story, "a", |_| Outcome::Unknown);
        story.get();
        story.tell(Call::read(crate::story::SESSION, What::Get), Outcome::Done(before));
    });
    assert!(!went_back.is_good(), "what has happened once stays so, acknowledged or not");
    let mut reordered = told(|story| {
        story.play("a");
        story.play("b");
    });
    let (first, second) = (reordered.entry("a").clone(), reordered.entry("b").clone());
    (reordered.entry("a").invoked, reordered.entry("a").ended.as_mut().expect("answered").0) =
        (second.invoked, second.invoked + 1);
    (reordered.entry("b").invoked, reordered.entry("b").ended.as_mut().expect("answered").0) = (first.invoked, first.invoked + 1);
    assert!(!reordered.is_good(), "the second was acknowledged before the first was sent");
    let mut too_early = told(|story| {
        story.play("a");
        story.get();
    });
    too_early.entry("a").invoked = 100;
    too_early.never_answered("a");
    assert!(!too_early.is_good(), "what was not sent yet has no effect");
    let refused_for_nothing = told(|story| {
        story.play("a");
        let call = Call { expected_version: Some(2), ..story.call("b", story.next_move()) };
        story.tell(call, Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: Some(1) });
    });
    assert!(!refused_for_nothing.is_good());
    let other_reason = told(|story| story.refused("a", story.next_move(), "NOT_YOUR_TURN"));
    assert!(!other_reason.is_good());
    let not_as_the_first_time = told(|story| {
        let call = stored(story, "a", Outcome::Done);
        story.play("b");
        let now = Seen { replayed: true, ..story.seen() };
        story.tell(call, Outcome::Done(now));
    });
    assert!(!not_as_the_first_time.is_good());
    let refused_and_done = told(|story| {
        stored(story, "a", |_| Outcome::refused("PIT_EMPTY"));
        story.get();
    });
    assert!(!refused_and_done.is_good());
    let from_the_dead = told(|story| {
        let delete = story.call("d", What::Delete);
        story.tell(delete, Outcome::Done(Seen::default()));
        story.get();
    });
    assert!(!from_the_dead.is_good(), "a session that is deleted is not read");
}
