//! A client: it plays, proposes, resigns and reads at random, repeats what was not answered, and writes everything down.

use crate::call::{Call, Outcome, Seen, What, clock_of, rules_of};
use crate::door::Door;
use crate::ledger::Ledger;
use async_trait::async_trait;
use mancala::game::{Dice, Position, Seat, SetUp};
use mancala::random::SeededDice;
use mancala::session::ProposalKind;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Where clients find servers.
#[async_trait]
pub trait Servers: Send + Sync + 'static {
    /// One of them, drawn; waits while there is none.
    async fn any(&self, dice: &mut SeededDice) -> Arc<dyn Door>;
}

/// See the module.
pub struct Player {
    pub number: u32,
    pub servers: Arc<dyn Servers>,
    pub ledger: Arc<Ledger>,
    pub sessions: Arc<Vec<String>>,
    pub dice: SeededDice,
    /// A call that takes longer is given up, and its outcome is unknown.
    pub patience: Duration,
    /// The longest pause between two calls.
    pub pause: Duration,
    /// Of a thousand calls so many delete their session.
    pub deletions: u64,
    pub memory: Memory,
}

/// What a client knows.
#[derive(Default)]
pub struct Memory {
    /// How sessions were when it last looked.
    seen: HashMap<String, Seen>,
    /// Requests that it has made.
    sent: Vec<Call>,
}

/// So often a call is sent before it is given up.
const ATTEMPTS: u32 = 8;

impl Player {
    /// Makes the sessions that it is to make, and plays until `goes_on` says no.
    pub async fn play(mut self, to_make: Vec<String>, goes_on: impl Fn(u32) -> bool) {
        for session in to_make {
            let create = self.changing(&session, None, What::Create);
            self.settle(create).await;
        }
        let mut calls = 0;
        while goes_on(calls) {
            calls += 1;
            let session = self.sessions[self.dice.below(self.sessions.len() as u64) as usize].clone();
            if let Some(call) = self.next_call(&session).await {
                self.settle(call).await;
            }
            tokio::time::sleep(self.pause.mul_f64(self.dice.below(1_000) as f64 / 1_000.0)).await;
        }
    }

    fn changing(&mut self, session: &str, expected_version: Option<u32>, what: What) -> Call {
        let request = format!("c{}-{}", self.number, self.memory.sent.len());
        let call = Call { session: session.to_owned(), request, expected_version, what };
        self.memory.sent.push(call.clone());
        call
    }

    /// Something to ask, which may well be refused.
    async fn next_call(&mut self, session: &str) -> Option<Call> {
        let drawn = self.dice.below(1_000);
        // What time has done to a session can't be read any more once it is gone.
        if drawn < self.deletions && clock_of(session).is_none() {
            let expected = self.expected(session);
            return Some(self.changing(session, expected, What::Delete));
        }
        match self.dice.below(100) {
            0..=9 => return Some(Call::read(session, What::Get)),
            10..=14 => {
                let after = self.known(session).saturating_sub(self.dice.below(4) as u32);
                return Some(Call::read(session, What::Events { after }));
            }
            // Once more, long after.
            15..=19 if !self.memory.sent.is_empty() => {
                let place = self.dice.below(self.memory.sent.len() as u64) as usize;
                return Some(self.memory.sent[place].clone());
            }
            _ => {}
        }
        // Mostly on what it has just read; sometimes on what it knows from before.
        if !self.memory.seen.contains_key(session) || self.dice.below(4) > 0 {
            let outcome = self.send(&Call::read(session, What::Get)).await;
            self.note(session, &outcome);
        }
        let what = self.what(session)?;
        let expected = self.expected(session);
        Some(self.changing(session, expected, what))
    }

    fn known(&self, session: &str) -> u32 {
        self.memory.seen.get(session).and_then(|seen| seen.version).unwrap_or(1)
    }

    fn expected(&mut self, session: &str) -> Option<u32> {
        (self.dice.below(2) == 0).then(|| self.known(session))
    }

    fn what(&mut self, session: &str) -> Option<What> {
        let kind = [ProposalKind::Draw, ProposalKind::Takeback][self.dice.below(2) as usize];
        Some(match self.dice.below(100) {
            0..=4 => What::Resign,
            5..=11 => {
                let back = self.known(session).saturating_sub(self.dice.below(3) as u32).max(1);
                What::Propose { kind, to_version: (kind == ProposalKind::Takeback).then_some(back) }
            }
            12..=19 => What::Answer { kind, accept: self.dice.below(3) > 0 },
            _ => {
                let position = self.memory.seen.get(session)?.position.clone()?;
                let rules = rules_of(session);
                let position: Position = position.parse::<SetUp>().ok()?.position(&rules).ok()?;
                let mv = rules.sample(&position, &mut self.dice)?;
                let seat = match self.dice.below(10) {
                    0..=5 => None,
                    6..=8 => Some(position.to_act()),
                    _ => Some(Seat::BOTH[self.dice.below(2) as usize]),
                };
                What::Play { seat, mv: mv.to_string() }
            }
        })
    }

    fn note(&mut self, session: &str, outcome: &Outcome) {
        if let Outcome::Done(seen) = outcome
            && seen.position.is_some()
        {
            self.memory.seen.insert(session.to_owned(), seen.clone());
        }
    }

    /// Sends a call until its outcome is known, or it is given up; sometimes to two servers at once.
    async fn settle(&mut self, call: Call) {
        for _ in 0..ATTEMPTS {
            let outcome = if self.dice.below(8) == 0 { self.send_twice(&call).await } else { self.send(&call).await };
            match outcome {
                Outcome::Done(_) | Outcome::Refused { .. } => return self.note(&call.session, &outcome),
                Outcome::Unknown if self.dice.below(10) == 0 => return,
                // Nothing has happened, so that it need not be asked for again.
                Outcome::Failed if self.dice.below(3) == 0 => return,
                Outcome::Unknown | Outcome::Failed => {}
            }
            tokio::time::sleep(self.pause.mul_f64(self.dice.below(1_000) as f64 / 1_000.0)).await;
        }
    }

    async fn send(&mut self, call: &Call) -> Outcome {
        let door = self.servers.any(&mut self.dice).await;
        self.through(&*door, call).await
    }

    async fn send_twice(&mut self, call: &Call) -> Outcome {
        let (one, other) = (self.servers.any(&mut self.dice).await, self.servers.any(&mut self.dice).await);
        let (first, second) = tokio::join!(self.through(&*one, call), self.through(&*other, call));
        if matches!(first, Outcome::Done(_)) { first } else { second }
    }

    async fn through(&self, door: &dyn Door, call: &Call) -> Outcome {
        let invoked = self.ledger.invoked(self.number, call);
        let outcome = tokio::time::timeout(self.patience, door.call(call)).await.unwrap_or(Outcome::Unknown);
        self.ledger.ended(invoked, &outcome);
        outcome
    }
}
