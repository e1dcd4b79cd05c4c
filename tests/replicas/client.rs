//! A client that follows the published retry policy: UNAVAILABLE only, 4 attempts, 100 ms to 2 s between them, the same request id, the
//! next replica each time. It plays, proposes, resigns and reads at random, and writes every attempt down.

use crate::answer::may_repeat;
use crate::call::{Call, Outcome, Seen, What, rules_of};
use crate::fleet::Fleet;
use crate::ledger::Ledger;
use crate::remote::outcome;
use mancala::game::{Dice, Position, SetUp};
use mancala::random::SeededDice;
use mancala::session::ProposalKind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What a client does wrong, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    Honest,
    /// It gives every attempt a request id of its own.
    NewRequestId,
    /// It takes "unknown" for "has not happened".
    UnknownIsFailure,
}

/// How long calls may take.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// All attempts together; told to the server.
    Deadline(Duration),
    /// The server's own limit on a call, which nobody tells it.
    OfServer,
}

/// How calls have ended.
#[derive(Default)]
pub struct Stats {
    pub calls: usize,
    /// Why calls have failed after all their attempts.
    pub failed: Vec<String>,
    /// When changes were acknowledged, and where.
    pub acknowledged: Vec<(Instant, usize)>,
    /// Attempts at a change after which nobody could say whether it has happened.
    pub unknown: usize,
    /// The longest that an attempt has taken.
    pub longest_attempt: Duration,
}

/// What clients have in common.
pub struct Common {
    pub fleet: Arc<Fleet>,
    pub ledger: Arc<Ledger>,
    pub sessions: Vec<String>,
    pub stats: Mutex<Stats>,
    pub limit: Limit,
    /// The longest pause between two calls.
    pub pause: Duration,
    pub habit: Habit,
}

/// See the module.
pub struct Client {
    number: u32,
    common: Arc<Common>,
    dice: SeededDice,
    /// Where the next attempt goes.
    place: usize,
    seen: HashMap<String, Seen>,
    sent: Vec<Call>,
}

impl Client {
    pub fn new(number: u32, common: Arc<Common>, seed: u64) -> Client {
        let dice = SeededDice::for_game(seed, 100 + u64::from(number));
        Client { number, common, dice, place: number as usize, seen: HashMap::new(), sent: Vec::new() }
    }

    /// Makes all sessions.
    pub async fn make_sessions(&mut self) {
        for session in self.common.sessions.clone() {
            let create = self.changing(&session, None, What::Create);
            loop {
                match self.ask(&create).await {
                    Outcome::Done(_) => break,
                    Outcome::Failed | Outcome::Unknown => {}
                    refused @ Outcome::Refused { .. } => panic!("{session}: {refused:?}"),
                }
            }
        }
    }

    /// Plays until `goes_on` says no.
    pub async fn play(mut self, goes_on: impl Fn() -> bool) {
        while goes_on() {
            let session = self.common.sessions[self.dice.below(self.common.sessions.len() as u64) as usize].clone();
            let call = self.next_call(&session).await;
            let outcome = self.ask(&call).await;
            self.note(&session, &outcome);
            let pause = self.common.pause.mul_f64(self.dice.below(1_000) as f64 / 1_000.0);
            tokio::time::sleep(pause).await;
        }
    }

    fn changing(&mut self, session: &str, expected_version: Option<u32>, what: What) -> Call {
        let request = format!("c{}-{}", self.number, self.sent.len());
        let call = Call { session: session.to_owned(), request, expected_version, what };
        self.sent.push(call.clone());
        call
    }

    /// Something to ask, which may well be refused.
    async fn next_call(&mut self, session: &str) -> Call {
        match self.dice.below(100) {
            0..=9 => return Call::read(session, What::Get),
            // Once more, long after.
            10..=12 if !self.sent.is_empty() => {
                let place = self.dice.below(self.sent.len() as u64) as usize;
                return self.sent[place].clone();
            }
            _ => {}
        }
        // Mostly on what it has just read; sometimes on what it knows from before.
        if !self.seen.contains_key(session) || self.dice.below(3) > 0 {
            let outcome = self.ask(&Call::read(session, What::Get)).await;
            self.note(session, &outcome);
        }
        let known = self.seen.get(session).and_then(|seen| seen.version).unwrap_or(1);
        let expected = (self.dice.below(2) == 0).then_some(known);
        match self.what(session, known) {
            Some(what) => self.changing(session, expected, what),
            None => Call::read(session, What::Get),
        }
    }

    fn what(&mut self, session: &str, known: u32) -> Option<What> {
        let kind = [ProposalKind::Draw, ProposalKind::Takeback][self.dice.below(2) as usize];
        Some(match self.dice.below(100) {
            0..=2 => What::Resign,
            3..=5 => {
                let back = known.saturating_sub(self.dice.below(3) as u32).max(1);
                What::Propose { kind, to_version: (kind == ProposalKind::Takeback).then_some(back) }
            }
            6..=8 => What::Answer { kind, accept: self.dice.below(3) > 0 },
            _ => {
                let position = self.seen.get(session)?.position.clone()?;
                let rules = rules_of(session);
                let position: Position = position.parse::<SetUp>().ok()?.position(&rules).ok()?;
                let mv = rules.sample(&position, &mut self.dice)?;
                What::Play { seat: (self.dice.below(3) > 0).then_some(position.to_act()), mv: mv.to_string() }
            }
        })
    }

    fn note(&mut self, session: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Done(seen) if seen.position.is_some() => {
                self.seen.insert(session.to_owned(), seen.clone());
            }
            Outcome::Done(_) | Outcome::Refused { .. } => {
                self.seen.remove(session);
            }
            Outcome::Failed | Outcome::Unknown => {}
        }
    }

    /// Asks, by the policy, until there is an answer or no attempt is left. What is not known to have happened or not is
    /// [`Outcome::Unknown`].
    pub async fn ask(&mut self, call: &Call) -> Outcome {
        let begun = Instant::now();
        let (mut pause, mut in_doubt) = (FIRST_PAUSE, false);
        let mut attempt = 1;
        loop {
            let left = self.time_left(begun);
            let answer = self.attempt(call, attempt, left).await;
            in_doubt |= answer.outcome == Outcome::Unknown;
            if matches!(answer.outcome, Outcome::Done(_) | Outcome::Refused { .. }) {
                self.ended(None);
                return answer.outcome;
            }
            if !answer.may_repeat || attempt == ATTEMPTS || self.time_left(begun).is_some_and(|left| left.is_zero()) {
                self.ended(Some(format!("{call:?}, attempt {attempt}: {}", answer.why)));
                return if in_doubt { Outcome::Unknown } else { Outcome::Failed };
            }
            attempt += 1;
            tokio::time::sleep(pause.mul_f64(self.dice.below(1_000) as f64 / 1_000.0)).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    fn time_left(&self, begun: Instant) -> Option<Duration> {
        match self.common.limit {
            Limit::Deadline(limit) => Some(limit.saturating_sub(begun.elapsed())),
            Limit::OfServer => None,
        }
    }

    async fn attempt(&mut self, call: &Call, attempt: u32, time: Option<Duration>) -> Answer {
        let common = self.common.clone();
        let place = self.place % common.fleet.len();
        self.place += 1;
        let mut sent = call.clone();
        if common.habit == Habit::NewRequestId && attempt > 1 && !call.what.is_read() && call.what != What::Create {
            // The auditor takes no notice of what follows the mark.
            sent.request = format!("{}_{attempt}", call.request);
        }
        let invoked = common.ledger.invoked(self.number, call);
        let begun = Instant::now();
        let answer = common.fleet.door(place).send(&sent, time).await;
        let took = begun.elapsed();
        let mut answer = match answer {
            Ok(seen) => Answer { outcome: Outcome::Done(seen), may_repeat: false, why: String::new() },
            Err(status) => Answer {
                outcome: outcome(&status),
                may_repeat: may_repeat(&status),
                why: format!("{:?} {}", status.code(), status.message()),
            },
        };
        let unknown = answer.outcome == Outcome::Unknown;
        if common.habit == Habit::UnknownIsFailure && unknown {
            answer = Answer { outcome: Outcome::Failed, may_repeat: false, ..answer };
        }
        common.ledger.ended(invoked, &answer.outcome);
        let mut stats = common.stats.lock().expect("no panic");
        stats.unknown += usize::from(unknown && !call.what.is_read());
        stats.longest_attempt = stats.longest_attempt.max(took);
        if matches!(answer.outcome, Outcome::Done(_)) && !call.what.is_read() {
            stats.acknowledged.push((Instant::now(), place));
        }
        answer
    }

    fn ended(&self, failed: Option<String>) {
        let mut stats = self.common.stats.lock().expect("no panic");
        stats.calls += 1;
        stats.failed.extend(failed);
    }
}

/// What came of an attempt.
struct Answer {
    outcome: Outcome,
    /// By the policy.
    may_repeat: bool,
    why: String,
}
