//! Proposals, their answers, and claims of time.

use super::convert::{kind_in, seat_in};
use super::fields::Fields;
use super::proto;
use super::session_answer::{After, ends};
use super::session_service::{note, target};
use crate::service::{Applied, Sessions, Target};
use crate::session::{Command, Event};
use tonic::Status;

async fn apply(sessions: &Sessions, target: Target, command: Command) -> Result<Applied<After>, Status> {
    note(&target.session_id);
    Ok(sessions.apply(target, command, false, |session| After::of(session, false)).await?)
}

pub async fn propose(sessions: &Sessions, request: proto::ProposeRequest) -> Result<proto::ProposeResponse, Status> {
    let proto::ProposeRequest { session_id, seat, kind, to_version, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    let target = target(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(sessions, target, Command::Propose { seat, kind, to_version }).await?;
    Ok(proto::ProposeResponse { version: applied.after.version, replayed: applied.replayed, server_time: applied.after.time })
}

pub async fn answer(sessions: &Sessions, request: proto::AnswerProposalRequest) -> Result<proto::AnswerProposalResponse, Status> {
    let proto::AnswerProposalRequest { session_id, seat, kind, accept, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    let target = target(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(sessions, target, Command::Answer { seat, kind, accept }).await?;
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
    sessions: &Sessions,
    request: proto::WithdrawProposalRequest,
) -> Result<proto::WithdrawProposalResponse, Status> {
    let proto::WithdrawProposalRequest { session_id, seat, kind, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let kind = fields.take("kind", kind_in(kind));
    let target = target(&mut fields, session_id, expected_version, request_id);
    let (seat, kind) = fields.done(seat.zip(kind))?;
    let applied = apply(sessions, target, Command::Withdraw { seat, kind }).await?;
    Ok(proto::WithdrawProposalResponse {
        version: applied.after.version,
        replayed: applied.replayed,
        server_time: applied.after.time,
    })
}

pub async fn claim_timeout(
    sessions: &Sessions,
    request: proto::ClaimTimeoutRequest,
) -> Result<proto::ClaimTimeoutResponse, Status> {
    let proto::ClaimTimeoutRequest { session_id, expected_version, request_id } = request;
    let mut fields = Fields::new();
    let target = target(&mut fields, session_id, expected_version, request_id);
    let target = fields.done(Some(target))?;
    let applied = apply(sessions, target, Command::ClaimTimeout).await?;
    let (round_result, match_result) = ends(&applied.events);
    Ok(proto::ClaimTimeoutResponse {
        version: applied.after.version,
        round_result,
        match_result,
        replayed: applied.replayed,
        server_time: applied.after.time,
    })
}
