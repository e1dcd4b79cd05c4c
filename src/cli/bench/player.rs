//! A session on the server, and the same game here, so that the next legal move and the right answer to it are known.

use super::tally::Fault;
use crate::game::{Dice, Guards, Record, Rules};
use crate::session::check_session_id;
use crate::wire::proto;

pub struct Player {
    session_id: String,
    version: u32,
    record: Record,
}

impl Player {
    /// Of a session that was just made for these rules.
    pub fn new(session: Option<proto::Session>, rules: Rules) -> Result<Player, Fault> {
        let proto::Session { session_id, version, .. } = session.ok_or_else(Fault::wrong_answer)?;
        check_session_id(&session_id).map_err(|_| Fault::wrong_answer())?;
        let record = Record::new(rules, Guards::of(rules.game()), rules.start());
        Ok(Player { session_id, version, record })
    }

    pub fn session_id(&self) -> String {
        self.session_id.clone()
    }

    pub fn is_over(&self) -> bool {
        self.record.position().is_over()
    }

    /// Draws a move, plays it here, and says how to ask the server for it.
    pub fn play(&mut self, dice: &mut impl Dice) -> proto::ApplyMoveRequest {
        let mv = self.record.rules().sample(self.record.position(), dice).expect("a game that is not over has moves");
        self.record.play(mv, &mut ()).expect("a drawn move is legal");
        proto::ApplyMoveRequest {
            session_id: self.session_id(),
            r#move: Some(proto::Move { kind: None, text: mv.to_string() }),
            expected_version: Some(self.version),
            request_id: format!("move-{}", self.version),
            ..Default::default()
        }
    }

    /// Holds the server's answer to the last move against the game here.
    pub fn check(&mut self, answer: &proto::ApplyMoveResponse) -> Result<(), Fault> {
        // A move is one event; the end of a round and of the match are two more.
        let events = if self.is_over() { 3 } else { 1 };
        self.version += events;
        let right = answer.version == self.version
            && answer.position == self.record.position().to_string()
            && answer.match_result.is_some() == self.is_over()
            && !answer.replayed;
        if right { Ok(()) } else { Err(Fault::wrong_answer()) }
    }
}
