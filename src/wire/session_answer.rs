//! What commands did, outwards.

use super::convert::{clock_out, position_out, result, seat_out, steps, timestamp};
use super::proto;
use super::refuse::Refused;
use crate::session::{ClockView, Command, Event, Micros, Session};
use prost_types::Timestamp;

/// What an answer shows of a session after a command.
pub struct After {
    pub version: u32,
    pub position: String,
    pub to_act: i32,
    pub full_position: Option<proto::Position>,
    pub clock: Option<proto::Clock>,
    pub time: Option<Timestamp>,
}

impl After {
    pub fn of(session: &Session, full: bool) -> After {
        After {
            version: session.version(),
            position: session.position_text().to_owned(),
            to_act: to_act(session),
            full_position: full.then(|| position_out(session.position())),
            clock: ClockView::of(session).as_ref().map(clock_out),
            time: Some(timestamp(session.updated())),
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
    let played = events.iter().find_map(|event| match event {
        Event::MovePlayed { captured, endless, .. } => Some((u32::from(*captured), *endless)),
        _ => None,
    });
    played.unwrap_or_default()
}

/// How the round and the match ended by these events, if they did.
pub fn ends(events: &[Event]) -> (Option<proto::Result>, Option<proto::Result>) {
    let mut ends = (None, None);
    for event in events {
        match event {
            Event::RoundEnded { result: ended, .. } => ends.0 = Some(result(ended)),
            Event::Ended { result: ended } => ends.1 = Some(result(ended)),
            _ => {}
        }
    }
    ends
}

/// The round that began by these events, or 0.
pub fn next_round(events: &[Event]) -> u32 {
    let begun = events.iter().find_map(|event| match event {
        Event::RoundStarted { round, .. } => Some(*round),
        _ => None,
    });
    begun.unwrap_or_default()
}

/// What would become of a move.
pub fn check(session: &Session, command: &Command, now: Micros, include_steps: bool) -> proto::CheckMoveResponse {
    let version = session.version();
    let mut seen = Vec::new();
    let decided = if include_steps { session.decide(command, now, &mut seen) } else { session.decide(command, now, &mut ()) };
    match decided {
        Ok(events) => {
            let position = events.iter().find_map(|event| match event {
                Event::MovePlayed { position, .. } => Some(position.clone()),
                _ => None,
            });
            let (captured, _) = played(&events);
            let position = position.unwrap_or_default();
            proto::CheckMoveResponse {
                version,
                legal: true,
                refusal: None,
                position,
                captured,
                steps: steps(&seen),
                server_time: Some(timestamp(now)),
            }
        }
        Err(rejection) => {
            let refusal = Some(Refused::from(&rejection).into_refusal());
            let server_time = Some(timestamp(now));
            proto::CheckMoveResponse { version, legal: false, refusal, server_time, ..Default::default() }
        }
    }
}
