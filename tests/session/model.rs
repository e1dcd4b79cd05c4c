//! The session model, with the service around it, against a plain reference: any commands, in any order, by any seat, at any
//! version, repeated or not, while the clock goes forwards, stands, or jumps. After every request the outcome and all that is
//! stored are compared, and what must hold of every list of events.

mod judge;
mod pages;
mod reference;
mod scenario;

use super::game;
use judge::Judge;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use scenario::{Scenario, scenario};
use std::collections::BTreeSet;

/// Plays a scenario to its end; gives the kinds of events, refusals and other outcomes that it came to.
fn run(judge: &Judge, scenario: &Scenario) -> BTreeSet<String> {
    judge.runtime.block_on(judge.judge(scenario))
}

#[test]
fn sessions_do_what_the_reference_does() {
    let judge = Judge::new();
    let config = Config { cases: game::cases(200, 2_000), failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&scenario(), |scenario| {
            run(&judge, &scenario);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// What the test above is worth: such scenarios come to everything that can happen.
#[test]
fn the_scenarios_come_to_every_event_and_every_refusal() {
    let all = [
        "answered",
        "created",
        "ended",
        "move_played",
        "proposed",
        "rematch_made",
        "resigned",
        "round_ended",
        "round_started",
        "taken_back",
        "timed_out",
        "withdrawn",
        "illegal",
        "not_your_turn",
        "proposal_impossible",
        "proposal_not_found",
        "proposal_of_other",
        "proposal_open",
        "proposal_too_soon",
        "session_over",
        "time_not_out",
        "replayed",
        "reused",
        "stale",
        "time used by a decision that was taken back",
        "end by abort",
        "end by agreement",
        "end by cannot_fill",
        "end by resignation",
        "end by rounds_played",
        "end by timeout",
        "round by max_plies",
        "round by quiet",
        "round by repetition",
        "round by final_four",
        "round by no_move",
    ];
    let judge = Judge::new();
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    let missing = |seen: &BTreeSet<String>| all.into_iter().filter(|&kind| !seen.contains(kind)).collect::<Vec<_>>();
    for _ in 0..2_000 {
        if missing(&seen).is_empty() {
            return;
        }
        let scenario = scenario().new_tree(&mut runner).expect("a scenario").current();
        seen.extend(run(&judge, &scenario));
    }
    panic!("never came: {:?}; came: {seen:?}", missing(&seen));
}
