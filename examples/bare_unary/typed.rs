//! Messages in, messages out, through the generated service.

use crate::Learned;
use futures_util::stream::Empty;
use mancala::wire::proto::session_service_server::SessionService;
use mancala::wire::proto::*;
use tonic::codegen::BoxFuture;
use tonic::{Request, Response, Status, Streaming};

/// Answers with what it has learned.
pub struct Typed(pub Learned);

/// Methods as `async_trait` would write them out: those that answer, and those that are not measured and refuse. By name, since the
/// attribute does not look into macros.
macro_rules! methods {
    (answered { $($method:ident($request:ty) -> $answer:ty: $field:ident;)* } refused { $($other:ident($asked:ty) -> $refused:ty;)* }) => {
        $(fn $method<'a, 'b>(&'a self, _: Request<$request>) -> BoxFuture<Response<$answer>, Status>
        where
            'a: 'b,
            Self: 'b,
        {
            let answer = self.0.$field.clone();
            Box::pin(async move { Ok(Response::new(answer)) })
        })*
        $(fn $other<'a, 'b>(&'a self, _: Request<$asked>) -> BoxFuture<Response<$refused>, Status>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(async { Err(Status::unimplemented("not one of the methods that are measured")) })
        })*
    };
}

impl SessionService for Typed {
    type WatchSessionStream = Empty<std::result::Result<WatchSessionResponse, Status>>;
    type WatchSessionsStream = Empty<std::result::Result<WatchSessionsResponse, Status>>;
    type PlayStream = Empty<std::result::Result<PlayResponse, Status>>;

    methods! {
        answered {
        create_session(CreateSessionRequest) -> CreateSessionResponse: created;
        apply_move(ApplyMoveRequest) -> ApplyMoveResponse: applied;
        get_session(GetSessionRequest) -> GetSessionResponse: got;
        list_legal_moves(ListLegalMovesRequest) -> ListLegalMovesResponse: legal;
        }
        refused {
        list_sessions(ListSessionsRequest) -> ListSessionsResponse;
        delete_session(DeleteSessionRequest) -> DeleteSessionResponse;
        sample_moves(SampleMovesRequest) -> SampleMovesResponse;
        check_move(CheckMoveRequest) -> CheckMoveResponse;
        resign(ResignRequest) -> ResignResponse;
        propose(ProposeRequest) -> ProposeResponse;
        answer_proposal(AnswerProposalRequest) -> AnswerProposalResponse;
        withdraw_proposal(WithdrawProposalRequest) -> WithdrawProposalResponse;
        claim_timeout(ClaimTimeoutRequest) -> ClaimTimeoutResponse;
        list_events(ListEventsRequest) -> ListEventsResponse;
        claim_seat(ClaimSeatRequest) -> ClaimSeatResponse;
        rotate_seat_token(RotateSeatTokenRequest) -> RotateSeatTokenResponse;
        revoke_seat_token(RevokeSeatTokenRequest) -> RevokeSeatTokenResponse;
        batch_get_sessions(BatchGetSessionsRequest) -> BatchGetSessionsResponse;
        batch_create_sessions(BatchCreateSessionsRequest) -> BatchCreateSessionsResponse;
        export_record(ExportRecordRequest) -> ExportRecordResponse;
        import_record(ImportRecordRequest) -> ImportRecordResponse;
        watch_session(WatchSessionRequest) -> Self::WatchSessionStream;
        watch_sessions(WatchSessionsRequest) -> Self::WatchSessionsStream;
        play(Streaming<PlayRequest>) -> Self::PlayStream;
        }
    }
}
