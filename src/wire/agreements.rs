//! Proposals, their answers, and claims of time.

use super::access::Caller;
use super::convert::{kind_in, seat_in};
use super::fields::Fields;
use super::proto;
use super::session_answer::{After, ends};
use super::session_service::{SessionHandlers, change, note};
use super::sight::Change;
use crate::game::Seat;
use crate::service::Applied;
use crate::session::{Command, Event, ProposalKind};
use tonic::Status;

/// Carries out what a caller wants for a seat, which is its own if it has one.
async fn apply(
    handlers: &SessionHandlers,
    caller: &Caller,
    change: Change,
    seat: Option<Seat>,
    command: impl FnOnce(Option<Seat>) -> Command,
) -> Result<Applied<After>, Status> {
    note(&change.session_id);
    let (target, seat) = handlers.act_as(caller, change, seat).await?;
    Ok(handlers.sessions.apply(target, command(seat), false, |session| After::of(session, false)).await?)
}

pub async fn propose(
    handlers: &SessionHandlers,
    caller: &Caller,
    request: proto::ProposeRequest,
) -> Result<proto::ProposeResponse, Status> {
    let proto::ProposeRequest { session_id, seat, kind, to_version, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    match (kind, to_version) {
        (Some(ProposalKind::Takeback), None) => fields.fault("to_version", "the version to go back to, which a takeback names"),
        (Some(kind), Some(_)) if kind != ProposalKind::Takeback => {
            fields.fault("to_version", "only a takeback names a version; leave it out");
        }
        _ => {}
    }
    let change = change(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(handlers, caller, change, seat, |seat| Command::Propose { seat, kind, to_version }).await?;
    Ok(proto::ProposeResponse { version: applied.after.version, replayed: applied.replayed, server_time: applied.after.time })
}

pub async fn answer(
    handlers: &SessionHandlers,
    caller: &Caller,
    request: proto::AnswerProposalRequest,
) -> Result<proto::AnswerProposalResponse, Status> {
    let proto::AnswerProposalRequest { session_id, seat, kind, accept, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    let change = change(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(handlers, caller, change, seat, |seat| Command::Answer { seat, kind, accept }).await?;
    let (round_result, match_result) = ends(&applied.events);
    let rematch = applied.events.into_iter().find_map(|event| match event {
        Event::RematchMade { session_id } => Some(session_id),
        _ => None,
    });
    Ok(proto::AnswerProposalResponse {
        version: applied.after.version,
        position: applied.after.position,
        to_act: applied.after.to_act,
        round_result,
        match_result,
        next_session_id: rematch.unwrap_or_default(),
        replayed: applied.replayed,
        server_time: applied.after.time,
    })
}

pub async fn withdraw(
    handlers: &SessionHandlers,
    caller: &Caller,
    request: proto::WithdrawProposalRequest,
) -> Result<proto::WithdrawProposalResponse, Status> {
    let proto::WithdrawProposalRequest { session_id, seat, kind, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    let change = change(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(handlers, caller, change, seat, |seat| Command::Withdraw { seat, kind }).await?;
    Ok(proto::WithdrawProposalResponse {
        version: applied.after.version,
        replayed: applied.replayed,
        server_time: applied.after.time,
    })
}

pub async fn claim_timeout(
    handlers: &SessionHandlers,
    caller: &Caller,
    request: proto::ClaimTimeoutRequest,
) -> Result<proto::ClaimTimeoutResponse, Status> {
    let proto::ClaimTimeoutRequest { session_id, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let change = change(&mut fields, session_id, expected_version, request_id);
    let change = fields.done(Some(change))?;
    let applied = apply(handlers, caller, change, None, |_| Command::ClaimTimeout).await?;
    let (round_result, match_result) = ends(&applied.events);
    Ok(proto::ClaimTimeoutResponse {
        version: applied.after.version,
        round_result,
        match_result,
        replayed: applied.replayed,
        server_time: applied.after.time,
    })
}
