//! What commands did, outwards.

use super::convert::{position_out, result, seat_out, steps};
use super::proto;
use super::refuse::Refused;
use crate::session::{Command, Event, Session};

/// What an answer shows of a session after a command.
pub struct After {
    pub version: u32,
    pub position: String,
    pub to_act: i32,
    pub full_position: Option<proto::Position>,
}

impl After {
    pub fn of(session: &Session, full: bool) -> After {
        After {
            version: session.version(),
            position: session.position().to_string(),
            to_act: to_act(session),
            full_position: full.then(|| position_out(session.position())),
        }
    }
}

/// Who must act; nobody when the session is over.
pub fn to_act(session: &Session) -> i32 {
    let open = session.result().is_none() && !session.position().is_over();
    if open { seat_out(session.position().to_act()) } else { proto::Seat::Unspecified.into() }
}

/// What the move among these events captured, and whether it was endless.
pub fn played(events: &[Event]) -> (u32, bool) {
    let moves = events.iter().filter_map(|event| match event {
        Event::MovePlayed { captured, endless, .. } => Some((u32::from(*captured), *endless)),
        _ => None,
    });
    moves.last().unwrap_or_default()
}

/// How the round and the match ended by these events, if they did.
pub fn ends(events: &[Event]) -> (Option<proto::Result>, Option<proto::Result>) {
    let mut ends = (None, None);
    for event in events {
        match event {
            Event::RoundEnded { result: ended, .. } => ends.0 = Some(result(ended)),
            Event::Ended { result: ended } => ends.1 = Some(result(ended)),
            Event::Created(_) | Event::MovePlayed { .. } | Event::Resigned { .. } | Event::Expiring { .. } => {}
        }
    }
    ends
}

/// What would become of a move.
pub fn check(session: &Session, command: &Command, include_steps: bool) -> proto::CheckMoveResponse {
    let version = session.version();
    let events = match session.decide(command) {
        Ok(events) => events,
        Err(rejection) => {
            let refusal = Some(Refused::from(&rejection).into_refusal());
            return proto::CheckMoveResponse { version, legal: false, refusal, ..Default::default() };
        }
    };
    let mut seen = Vec::new();
    let mut position = String::new();
    for event in &events {
        if let Event::MovePlayed { mv, position: after, .. } = event {
            position.clone_from(after);
            if include_steps {
                session.record().preview(*mv, &mut seen).expect("a decided move is legal");
            }
        }
    }
    let (captured, _) = played(&events);
    proto::CheckMoveResponse { version, legal: true, refusal: None, position, captured, steps: steps(&seen) }
}
