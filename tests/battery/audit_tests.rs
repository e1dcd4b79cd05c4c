//! An auditor that can't object proves nothing: each objection is provoked by a history that is wrong in that way.

use crate::audit::{Logs, WatchLog, audit};
use crate::call::{Outcome, Seen, What};
use crate::ledger::Entry;
use crate::story::{SESSION, Story};
use mancala::session::EventHash;

const NO_HASH: EventHash = EventHash::START;

/// The checks that object to a story, in alphabetical order.
fn checks(story: &Story, logs: &Logs, watched: &[WatchLog]) -> Vec<&'static str> {
    let mut checks: Vec<_> = audit(&story.entries, logs, watched).iter().map(|(_, objection)| objection.check()).collect();
    checks.sort_unstable();
    checks.dedup();
    checks
}

/// What is objected to once a story is changed so.
fn objections(change: impl FnOnce(&mut Story)) -> Vec<&'static str> {
    let mut story = Story::of_a_game();
    change(&mut story);
    checks(&story, &story.logs(), &[])
}

/// The same for what a watcher has seen.
fn to_watch(change: impl FnOnce(&mut WatchLog)) -> Vec<&'static str> {
    let story = Story::of_a_game();
    let mut watch = story.watched();
    change(&mut watch);
    checks(&story, &story.logs(), &[watch])
}

fn entry<'a>(story: &'a mut Story, request: &str) -> &'a mut Entry {
    story.entries.iter_mut().find(|entry| entry.call.request == request).expect("it is told of")
}

fn seen_by(entry: &mut Entry) -> &mut Seen {
    match &mut entry.ended {
        Some((_, Outcome::Done(seen))) => seen,
        other => panic!("{other:?} shows nothing"),
    }
}

/// The first read that shows events, or that shows the session.
fn read(story: &mut Story, events: bool) -> &mut Entry {
    let is_it = |entry: &&mut Entry| matches!(entry.call.what, What::Events { .. }) == events && entry.call.what.is_read();
    story.entries.iter_mut().find(is_it).expect("there is one")
}

fn set_outcome(story: &mut Story, request: &str, outcome: Outcome) {
    entry(story, request).ended.as_mut().expect("it has ended").1 = outcome;
}

#[test]
fn what_is_right_is_not_objected_to() {
    let story = Story::of_a_game();
    assert_eq!(audit(&story.entries, &story.logs(), &[story.watched()]), []);
    let late = WatchLog { after: 3, events: story.watched().events.split_off(3), ..story.watched() };
    assert_eq!(audit(&story.entries, &story.logs(), &[late]), []);
    // Of what nobody has heard anything may be so, and nothing is what a refusal has changed.
    assert_eq!(objections(|story| set_outcome(story, "b", Outcome::Unknown)), [""; 0]);
    assert_eq!(objections(|story| entry(story, "b").ended = None), [""; 0]);
    assert_eq!(objections(|story| set_outcome(story, "f", Outcome::Unknown)), [""; 0]);
    assert_eq!(objections(|story| set_outcome(story, "f", Outcome::Failed)), [""; 0]);
}

#[test]
fn what_is_lost_or_stored_otherwise_is_objected_to() {
    let lost = objections(|story| {
        let f = story.call("f", story.next_move());
        story.tell(f, Outcome::Done(story.seen()));
    });
    assert_eq!(lost, ["lost"]);
    // A read has shown it, too, and of what "d" has brought about a part is gone.
    let end_lost = objections(|story| story.log.truncate(5));
    assert_eq!(end_lost, ["lost", "misread", "replay", "stored otherwise"]);
    let otherwise = |change: fn(&mut Seen)| objections(|story| change(seen_by(entry(story, "e"))));
    assert_eq!(otherwise(|seen| seen.version = seen.version.map(|version| version + 1)), ["read went back", "stored otherwise"]);
    assert_eq!(otherwise(|seen| seen.hash = Some(NO_HASH)), ["stored otherwise"]);
    assert_eq!(otherwise(|seen| seen.position = Some("elsewhere".to_owned())), ["stored otherwise"]);
}

#[test]
fn gaps_repetitions_and_inventions_are_objected_to() {
    let gap = objections(|story| {
        story.log.remove(3);
    });
    assert!(gap.contains(&"gap") && gap.contains(&"lost") && gap.contains(&"replay"), "{gap:?}");
    // The log itself makes sense: the rules allow the move again, and the chain is right.
    let twice = objections(|story| {
        let call = story.call("a_2", story.next_move());
        entry(story, "a").call.what = call.what.clone();
        story.carry_out(&call);
    });
    assert!(twice.contains(&"twice"), "{twice:?}");
    let unasked = objections(|story| {
        let call = story.call("nobody", story.next_move());
        story.carry_out(&call);
    });
    assert_eq!(unasked, ["invented"]);
    let without_request = objections(|story| {
        let call = story.call("", story.next_move());
        story.carry_out(&call);
    });
    assert_eq!(without_request, ["invented"]);
    let other = objections(|story| entry(story, "a").call.what = What::Resign);
    assert_eq!(other, ["invented"]);
    let refused = objections(|story| set_outcome(story, "b", Outcome::refused("PIT_EMPTY")));
    assert_eq!(refused, ["refused but stored"]);
    let failed = objections(|story| set_outcome(story, "b", Outcome::Failed));
    assert_eq!(failed, ["refused but stored"]);
}

#[test]
fn a_log_that_the_rules_or_the_chain_do_not_bear_out_is_objected_to() {
    let hash = objections(|story| story.log[3].hash = Some(NO_HASH));
    assert_eq!(hash, ["misread", "replay", "stored otherwise"]);
    let body = objections(|story| story.log[3].body = story.log[2].body.clone());
    assert!(body.contains(&"replay"), "{body:?}");
    let unreadable = objections(|story| story.log[3].body = "{}".to_owned());
    assert!(unreadable.contains(&"replay"), "{unreadable:?}");
    let time = objections(|story| story.log[3].time = 0);
    assert_eq!(time, ["clock", "replay"]);
    // Half of what happens when a round is lost.
    let torn = objections(|story| {
        let call = story.call("g", What::Resign);
        let seen = story.carry_out(&call);
        story.tell(call, Outcome::Done(seen));
        story.log.pop();
    });
    assert_eq!(torn, ["replay", "stored otherwise"]);
}

#[test]
fn an_order_that_time_forbids_is_objected_to() {
    // "e" was sent after "c" was acknowledged.
    let order = objections(|story| {
        let sent = entry(story, "c").invoked;
        let last = story.now;
        entry(story, "e").invoked = sent - 1;
        entry(story, "e").ended = None;
        entry(story, "a").invoked = last + 1;
        entry(story, "a").ended = None;
    });
    assert_eq!(order, ["order"]);
    let back = objections(|story| {
        let first = seen_by(read(story, false)).clone();
        story.tell(read(&mut story.clone(), false).call.clone(), Outcome::Done(first));
    });
    assert_eq!(back, ["read went back"]);
    let refusal = objections(|story| {
        let call = story.call("g", What::Resign);
        story.tell(call, Outcome::Refused { reason: "STALE_VERSION".to_owned(), current: Some(3) });
    });
    assert_eq!(refusal, ["read went back"]);
}

#[test]
fn clocks_that_were_not_kept_are_objected_to() {
    let under_time = |change: fn(&mut Story)| {
        let mut story = Story::under_time();
        change(&mut story);
        story.play("z");
        checks(&story, &story.logs(), &[story.watched()])
    };
    assert_eq!(under_time(|_| {}), [""; 0], "time is not out yet");
    assert_eq!(under_time(|story| story.time_out(1)), [""; 0]);
    assert_eq!(under_time(|story| [1, 1].into_iter().for_each(|late| story.time_out(late))), [""; 0], "and the next round, too");
    assert_eq!(under_time(|story| story.time_out(0)), ["clock", "replay"], "time is not out yet");
    assert_eq!(under_time(|story| story.now += 1_000_000), ["clock", "replay"], "a move in a round that is lost");
    assert_eq!(under_time(|story| story.log[2].time -= 1_000), ["clock", "replay"], "time went back");
}

#[test]
fn reads_of_what_is_not_stored_are_objected_to() {
    assert_eq!(objections(|story| seen_by(read(story, false)).hash = Some(NO_HASH)), ["misread"]);
    let events = |change: fn(&mut Vec<(u32, EventHash)>)| objections(|story| change(&mut seen_by(read(story, true)).events));
    assert_eq!(events(|events| _ = events.remove(1)), ["misread"]);
    assert_eq!(events(|events| events[1].1 = NO_HASH), ["misread"]);
    assert_eq!(events(|events| events.swap(0, 1)), ["misread"]);
    assert_eq!(events(|events| events.push((99, NO_HASH))), ["misread"]);
    assert_eq!(events(|events| _ = events.pop()), ["read went back"]);
    assert_eq!(events(Vec::clear), ["read went back"]);
    let ahead = objections(|story| seen_by(read(story, true)).version = Some(99));
    assert_eq!(ahead, ["misread"]);
}

#[test]
fn sessions_that_vanish_or_stay_are_objected_to() {
    let deleted = |outcome: Outcome| {
        let mut story = Story::of_a_game();
        let call = story.call("delete", What::Delete);
        story.tell(call, outcome);
        story
    };
    let gone = Logs::from([(SESSION.to_owned(), None)]);
    for outcome in [Outcome::Done(Seen::default()), Outcome::Unknown] {
        assert_eq!(checks(&deleted(outcome), &gone, &[]), [""; 0]);
    }
    assert_eq!(checks(&Story::of_a_game(), &gone, &[]), ["vanished"]);
    assert_eq!(checks(&deleted(Outcome::Failed), &gone, &[]), ["vanished"]);
    let there = deleted(Outcome::Done(Seen::default()));
    assert_eq!(checks(&there, &there.logs(), &[]), ["not gone"]);
}

#[test]
fn a_watcher_that_has_not_seen_exactly_what_is_stored_is_objected_to() {
    assert_eq!(to_watch(|_| {}), [""; 0]);
    assert_eq!(to_watch(|watch| _ = watch.events.remove(2)), ["watch order"]);
    assert_eq!(to_watch(|watch| watch.events.insert(2, watch.events[1])), ["watch order"]);
    assert_eq!(to_watch(|watch| watch.events.swap(2, 3)), ["watch order"]);
    assert_eq!(to_watch(|watch| watch.after = 1), ["watch order"]);
    assert_eq!(to_watch(|watch| watch.events[2].1 = NO_HASH), ["watch content"]);
    assert_eq!(to_watch(|watch| watch.events.push((watch.events.len() as u32 + 1, NO_HASH))), ["watch content"]);
    assert_eq!(to_watch(|watch| _ = watch.events.pop()), ["watch end"]);
    assert_eq!(to_watch(|watch| watch.to_the_end = false), ["watch end"]);
}
