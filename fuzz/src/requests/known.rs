//! What a caller has learnt so far, and so can put in its requests.

use mancala::game::{Dice, Move};
use mancala::session::Session;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Known {
    /// Sessions as they were last seen.
    pub sessions: BTreeMap<String, Session>,
    /// Tokens of seats.
    pub tokens: Vec<String>,
    pub join_codes: Vec<String>,
    pub page_tokens: Vec<String>,
    pub records: Vec<String>,
}

impl Known {
    /// The id of a session that is there.
    pub fn id(&self, choice: u8) -> Option<&String> {
        self.sessions.keys().nth(usize::from(choice) % self.sessions.len().max(1))
    }

    /// A legal move of a session.
    pub fn legal_move(&self, session_id: &str, choice: u8) -> Option<Move> {
        let session = self.sessions.get(session_id)?;
        session.rules().sample(session.position(), &mut Choice(choice))
    }
}

/// Dice that a byte determines.
struct Choice(u8);

impl Dice for Choice {
    fn below(&mut self, sides: u64) -> u64 {
        let drawn = ((u128::from(self.0) * u128::from(sides)) >> 8) as u64;
        self.0 = self.0.wrapping_mul(77).wrapping_add(29);
        drawn
    }
}
