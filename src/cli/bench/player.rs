//! A session on the server, and the same game here, so that the next legal move and the right answer to it are known.

use super::tally::Fault;
use crate::game::{Dice, Guards, Record, Rules};
use crate::session::check_session_id;
use crate::wire::proto;

/// The label of all sessions that are made.
const LABEL: &str = "bench";

/// Asks for a session to play by these rules.
pub fn creation(rules: Rules, label: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest {
        game: rules.game().id().to_owned(),
        labels: [(LABEL.to_owned(), label.to_owned())].into(),
        ..Default::default()
    }
}

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

    /// Draws a move, plays it here, and says how to ask the server for it and what to be answered. Others may be on their way before it.
    pub fn play(&mut self, dice: &mut impl Dice) -> (proto::ApplyMoveRequest, Right) {
        let mv = self.record.rules().sample(self.record.position(), dice).expect("a game that is not over has moves");
        self.record.play(mv, &mut ()).expect("a drawn move is legal");
        let request = proto::ApplyMoveRequest {
            session_id: self.session_id(),
            r#move: Some(proto::Move { kind: None, text: mv.to_string() }),
            expected_version: Some(self.version),
            request_id: format!("move-{}", self.version),
            ..Default::default()
        };
        // A move is one event; the end of a round and of the match are two more.
        self.version += if self.is_over() { 3 } else { 1 };
        (request, Right { version: self.version, position: self.record.position().to_string(), over: self.is_over() })
    }
}

/// The right answer to a move.
pub struct Right {
    version: u32,
    position: String,
    over: bool,
}

impl Right {
    /// Holds the server's answer against it.
    pub fn check(&self, answer: &proto::ApplyMoveResponse) -> Result<(), Fault> {
        let right = answer.version == self.version
            && answer.position == self.position
            && answer.match_result.is_some() == self.over
            && !answer.replayed;
        if right { Ok(()) } else { Err(Fault::wrong_answer()) }
    }
}
