//! Events.

use super::session::timestamp;
use super::{kind_out, move_out, result, seat_out, steps};
use crate::service::EventRecord;
use crate::session::{Event, Player};
use crate::wire::proto::{self, event::Body};

/// An event; `made` is the session as its first event made it, which that event shows.
pub fn event(record: EventRecord, made: Option<proto::Session>) -> proto::Event {
    let EventRecord { version, time, request_id, event, hash, steps: seen } = record;
    let seat = event.seat().map_or(proto::Seat::Unspecified.into(), seat_out);
    let body = match event {
        Event::Created(_) => Body::Created(proto::SessionCreated { session: made }),
        Event::MovePlayed { seat, mv, position, captured, endless } => Body::MovePlayed(proto::MovePlayed {
            r#move: Some(move_out(mv, seat)),
            position,
            captured: captured.into(),
            endless,
            steps: steps(&seen),
        }),
        Event::Resigned { seat: _, whole_match } => Body::Resigned(proto::Resigned { r#match: whole_match }),
        Event::RoundEnded { round, result: ended } => Body::RoundEnded(proto::RoundEnded { round, result: Some(result(&ended)) }),
        Event::Ended { result: ended } => Body::Ended(proto::SessionEnded { result: Some(result(&ended)) }),
        Event::RoundStarted { round, position } => Body::RoundStarted(proto::RoundStarted { round, position }),
        Event::Proposed { seat: _, kind, to_version } => Body::Proposed(proto::Proposed { kind: kind_out(kind), to_version }),
        Event::Answered { seat: _, kind, accept } => {
            Body::ProposalAnswered(proto::ProposalAnswered { kind: kind_out(kind), accept })
        }
        Event::Withdrawn { seat: _, kind } => Body::ProposalWithdrawn(proto::ProposalWithdrawn { kind: kind_out(kind) }),
        Event::TakenBack { to_version, position } => Body::TakenBack(proto::TakenBack { to_version, position }),
        Event::TimedOut { seat: _, deadline } => Body::TimedOut(proto::TimedOut { deadline: Some(timestamp(deadline)) }),
        Event::RematchMade { session_id } => Body::RematchMade(proto::RematchMade { session_id }),
        Event::SeatClaimed { seat, player: Player { reference, display_name }, token: _ } => {
            Body::SeatClaimed(proto::SeatClaimed { seat: seat_out(seat), player: reference, display_name })
        }
        Event::TokenRotated { seat, token: _ } => Body::TokenRotated(proto::TokenRotated { seat: seat_out(seat) }),
        Event::TokenRevoked { seat } => Body::TokenRevoked(proto::TokenRevoked { seat: seat_out(seat) }),
        Event::Expiring { at } => Body::Expiring(proto::SessionExpiring { expire_time: Some(timestamp(at)) }),
    };
    let request_id = request_id.unwrap_or_default();
    proto::Event { version, time: Some(timestamp(time)), seat, request_id, hash: hash.to_string(), body: Some(body) }
}
