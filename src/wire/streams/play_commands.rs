//! The commands of Play, each carried out as the call of its name.

use super::Owner;
use crate::wire::SessionHandlers;
use crate::wire::access::may_call;
use crate::wire::proto::play_request::Command;
use crate::wire::proto::play_response::Reply;
use crate::wire::proto::session_service_server::SessionService;
use crate::wire::proto::{self, PlayResponse};
use crate::wire::reason::{Reason, code_name};
use crate::wire::refuse::Refused;
use tonic::{Request, Response, Status};
use tonic_types::StatusExt;

const APPLY_MOVE: &str = "/mancala.v1.SessionService/ApplyMove";

pub(super) fn reply(command_id: String, reply: Reply) -> PlayResponse {
    PlayResponse { command_id, reply: Some(reply) }
}

/// The reply to a command that failed, with all that the status of the call would bear.
pub(super) fn failed(command_id: String, status: &Status) -> PlayResponse {
    let details = status.get_error_details();
    let (reason, metadata) = match details.error_info() {
        Some(info) => (info.reason.clone(), info.metadata.clone().into_iter().collect()),
        None => (Reason::Internal.name().to_owned(), Default::default()),
    };
    let refusal = proto::Refusal { reason, message: status.message().to_owned(), metadata };
    let faults = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    let fields = faults.into_iter().map(|fault| proto::FieldFault { field: fault.field, description: fault.description });
    let retry_after = details.retry_info().and_then(|info| info.retry_delay);
    let failure = proto::PlayFailure {
        code: code_name(status.code()).to_owned(),
        refusal: Some(refusal),
        fields: fields.collect(),
        retry_after: retry_after.and_then(|delay| prost_types::Duration::try_from(delay).ok()),
    };
    reply(command_id, Reply::Failure(failure))
}

/// Plays moves on one session, each as the call does.
pub(super) async fn carry_out_row(
    handlers: &SessionHandlers,
    owner: &Owner,
    requests: Vec<proto::ApplyMoveRequest>,
) -> impl Iterator<Item = Result<proto::ApplyMoveResponse, Status>> {
    let admitted = handlers.check_still_admitted(&owner.caller).await.and_then(|()| may_call(&owner.caller, APPLY_MOVE));
    let counted = requests.into_iter().map(move |request| {
        admitted.clone()?;
        owner.count(APPLY_MOVE)?;
        Ok(request)
    });
    handlers.apply_moves(&owner.caller, counted).await
}

/// Carries a command out as the call of its name.
pub(super) async fn carry_out(handlers: &SessionHandlers, owner: &Owner, command: Command) -> Result<Reply, Status> {
    let caller = owner.caller.clone();
    handlers.check_still_admitted(&caller).await?;
    macro_rules! call {
        ($method:literal, $call:ident, $request:expr, $reply:ident) => {{
            let path = concat!("/mancala.v1.SessionService/", $method);
            owner.count(path)?;
            may_call(&caller, path)?;
            let mut request = Request::new($request);
            request.extensions_mut().insert(caller);
            SessionService::$call(handlers, request).await.map(Response::into_inner).map(Reply::$reply)
        }};
    }
    match command {
        Command::ApplyMove(request) => call!("ApplyMove", apply_move, request, ApplyMove),
        Command::Resign(request) => call!("Resign", resign, request, Resign),
        Command::Propose(request) => call!("Propose", propose, request, Propose),
        Command::AnswerProposal(request) => call!("AnswerProposal", answer_proposal, request, AnswerProposal),
        Command::WithdrawProposal(request) => call!("WithdrawProposal", withdraw_proposal, request, WithdrawProposal),
        Command::ClaimTimeout(request) => call!("ClaimTimeout", claim_timeout, request, ClaimTimeout),
        Command::CreateSession(request) => call!("CreateSession", create_session, request, CreateSession),
        Command::GetSession(request) => call!("GetSession", get_session, request, GetSession),
        Command::ListLegalMoves(request) => call!("ListLegalMoves", list_legal_moves, request, ListLegalMoves),
        Command::SampleMoves(request) => call!("SampleMoves", sample_moves, request, SampleMoves),
        Command::CheckMove(request) => call!("CheckMove", check_move, request, CheckMove),
        // These are the stream's own.
        Command::WatchSession(_) | Command::StopWatch(_) => Err(Refused::plain(Reason::Internal).into_status()),
    }
}

/// The session that a command is on; empty for one that makes a session, whatever its id will be.
pub(super) fn session_of(command: &Command) -> &str {
    match command {
        Command::ApplyMove(request) => &request.session_id,
        Command::Resign(request) => &request.session_id,
        Command::Propose(request) => &request.session_id,
        Command::AnswerProposal(request) => &request.session_id,
        Command::WithdrawProposal(request) => &request.session_id,
        Command::ClaimTimeout(request) => &request.session_id,
        Command::CreateSession(request) => &request.session_id,
        Command::GetSession(request) => &request.session_id,
        Command::ListLegalMoves(request) => &request.session_id,
        Command::SampleMoves(request) => &request.session_id,
        Command::CheckMove(request) => &request.session_id,
        Command::WatchSession(request) => &request.session_id,
        Command::StopWatch(_) => "",
    }
}
