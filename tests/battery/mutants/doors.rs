//! Faults of servers in what they make of calls.

use super::Mutant;
use crate::call::{Call, Outcome, Seen, What};
use crate::door::{Cut, Direct, Door, Eye};
use async_trait::async_trait;
use mancala::session::EventHash;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that does one thing wrong.
pub struct Faulty {
    pub door: Direct,
    pub mutant: Mutant,
}

/// The call with a request id that nobody else has: the client's, and a mark that clients don't make.
fn anew(call: &Call) -> Call {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Call { request: format!("{}_{number}", call.request), ..call.clone() }
}

#[async_trait]
impl Door for Faulty {
    async fn call(&self, call: &Call) -> Outcome {
        let changes_session = call.what.command().is_some();
        if self.mutant == Mutant::DedupeOff && changes_session {
            return self.door.call(&anew(call)).await;
        }
        let outcome = self.door.call(call).await;
        match (self.mutant, outcome) {
            (Mutant::UnknownRetriedAnew, Outcome::Unknown) if changes_session => self.door.call(&anew(call)).await,
            (Mutant::UnknownCalledFailed, Outcome::Unknown) if changes_session => Outcome::Failed,
            (Mutant::RepeatAnsweredAnew, Outcome::Done(seen)) if seen.replayed && changes_session => {
                match self.door.call(&Call::read(&call.session, What::Get)).await {
                    Outcome::Done(now) => Outcome::Done(Seen { replayed: true, ..now }),
                    other => other,
                }
            }
            (_, outcome) => outcome,
        }
    }

    async fn watch(&self, session: &str, after: u32) -> Result<Box<dyn Eye>, Cut> {
        let skips = self.mutant == Mutant::LostEvent && after > 0;
        let eye = self.door.watch(session, after).await?;
        Ok(if skips { Box::new(Blinking { eye, open: false }) } else { eye })
    }
}

/// A watch that misses the first event.
struct Blinking {
    eye: Box<dyn Eye>,
    open: bool,
}

#[async_trait]
impl Eye for Blinking {
    async fn next(&mut self) -> Result<Vec<(u32, EventHash)>, Cut> {
        let mut events = self.eye.next().await?;
        if !self.open && !events.is_empty() {
            events.remove(0);
            self.open = true;
        }
        Ok(events)
    }
}
