//! SessionService.

use super::access::Caller;
use super::convert::{event, family, move_in, move_out, phase, seat_in, session as session_out, timestamp};
use super::deadline::Deadline;
use super::fields::Fields;
use super::proto::session_service_server::SessionService;
use super::proto::{self, Phase};
use super::session_answer::{After, check, ends, to_act};
use super::session_request::{new_session, page};
use super::sight::Change;
use super::streams::{Follower, Holders, Messages, Owner, StreamSettings, Watcher, messages, play};
use super::{agreements, moves, records, session_batch};
use crate::random::SeededDice;
use crate::service::{Asked, Compute, ServiceError, Sessions};
use crate::session::{Command, Credential, Session};
use prost::Message;
use prost_types::Timestamp;
use std::pin::{Pin, pin};
use tokio::time::Instant;
use tonic::{Request, Response, Status, Streaming};
use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Answers calls on sessions.
#[derive(Clone)]
pub struct SessionHandlers {
    pub(super) sessions: Sessions,
    pub(super) compute: Compute,
    pub(super) streams: StreamSettings,
    pub(super) holders: Holders,
}

impl SessionHandlers {
    /// For these sessions. Records are written and checked by `compute`.
    #[must_use]
    pub fn new(sessions: Sessions, compute: Compute, streams: StreamSettings) -> SessionHandlers {
        SessionHandlers { sessions, compute, streams, holders: Holders::default() }
    }
}

/// The most events of a page.
const MAX_EVENTS: u32 = 1_000;
/// A page of events ends early when it has grown to this many bytes: steps of long relays are large.
const EVENTS_BYTES: usize = 1 << 20;
/// The most moves that are drawn at once.
const MAX_SAMPLES: u32 = 100;

#[tonic::async_trait]
impl SessionService for SessionHandlers {
    async fn create_session(
        &self,
        request: Request<proto::CreateSessionRequest>,
    ) -> Result<Response<proto::CreateSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let (new, issued) = new_session(&caller, request.into_inner())?;
        let made = self.sessions.create(new).await?;
        note(made.session.id());
        let session = Some(session_out(&made.session));
        let server_time = Some(timestamp(made.session.updated()));
        let secrets = if made.replayed { Vec::new() } else { issued.show(made.session.id()) };
        Ok(Response::new(proto::CreateSessionResponse { session, replayed: made.replayed, server_time, secrets }))
    }

    async fn get_session(
        &self,
        request: Request<proto::GetSessionRequest>,
    ) -> Result<Response<proto::GetSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::GetSessionRequest { session_id, version } = request.into_inner();
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        if version == Some(0) {
            fields.fault("version", "1 or more; leave it out for the session as it is now");
        }
        let id = fields.done(Some(id))?;
        let look = |session: &Session| proto::GetSessionResponse {
            session: Some(session_out(session)),
            server_time: self.time_for(session),
        };
        let get = async {
            Ok(match (version, self.sight(&caller, &id).await?) {
                (None, None) => self.sessions.look(&id, look).await?,
                (Some(asked), Some(current)) if asked > current => {
                    return Err(ServiceError::VersionAhead { asked, current }.into());
                }
                (Some(version), _) | (None, Some(version)) => Box::pin(self.sessions.look_at(&id, version, look)).await?,
            })
        };
        noted(&id, pin!(get)).await.map(Response::new)
    }

    async fn list_sessions(
        &self,
        request: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        let caller = Caller::of(&request);
        let Some(page) = page(request.into_inner(), !caller.is_trusted())? else {
            let server_time = self.time();
            return Ok(Response::new(proto::ListSessionsResponse { server_time, ..Default::default() }));
        };
        let listed = self.sessions.list(page.clone()).await?;
        self.session_list(&caller, &page, listed).await.map(Response::new)
    }

    async fn delete_session(
        &self,
        request: Request<proto::DeleteSessionRequest>,
    ) -> Result<Response<proto::DeleteSessionResponse>, Status> {
        let proto::DeleteSessionRequest { session_id, expected_version, request_id } = request.into_inner();
        let mut fields = Fields::new();
        let change = change(&mut fields, session_id, expected_version, request_id);
        let change = fields.done(Some(change))?;
        note(&change.session_id);
        self.sessions.delete(change.with(Credential::Trusted)).await?;
        Ok(Response::new(proto::DeleteSessionResponse {}))
    }

    async fn list_legal_moves(
        &self,
        request: Request<proto::ListLegalMovesRequest>,
    ) -> Result<Response<proto::ListLegalMovesResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::ListLegalMovesRequest { session_id } = request.into_inner();
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        self.look(&caller, &fields.done(Some(id))?, |session| {
            let position = session.position();
            let open = session.result().is_none();
            let mut moves = Vec::new();
            if open {
                session.rules().each_legal_move(position, |mv| moves.push(move_out(mv, position.to_act())));
            }
            let redistributions = session.rules().redistributions(position).filter(|_| open);
            proto::ListLegalMovesResponse {
                version: session.version(),
                to_act: to_act(session),
                phase: if open { phase(position.phase()) } else { Phase::Over }.into(),
                moves,
                redistributions: redistributions.map(|it| family(position, &it)),
                server_time: self.time_for(session),
            }
        })
        .await
    }

    async fn sample_moves(
        &self,
        request: Request<proto::SampleMovesRequest>,
    ) -> Result<Response<proto::SampleMovesResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::SampleMovesRequest { session_id, count, seed } = request.into_inner();
        let mut fields = Fields::new();
        let count = fields.count("count", count, MAX_SAMPLES, 1);
        let id = fields.session_id(session_id);
        self.look(&caller, &fields.done(Some(id))?, |session| {
            let mut dice = SeededDice::new(seed.into());
            let position = session.position();
            let count = if session.result().is_none() { count } else { 0 };
            let moves = (0..count).filter_map(|_| session.rules().sample(position, &mut dice));
            let moves = moves.map(|mv| move_out(mv, position.to_act())).collect();
            proto::SampleMovesResponse { version: session.version(), moves, server_time: self.time_for(session) }
        })
        .await
    }

    async fn check_move(&self, request: Request<proto::CheckMoveRequest>) -> Result<Response<proto::CheckMoveResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::CheckMoveRequest { session_id, r#move, seat, include_steps } = request.into_inner();
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        let seat = fields.take("seat", seat_in(seat));
        let mv = move_in(&mut fields, r#move);
        let (seat, mv) = fields.done(seat.zip(mv))?;
        let command = Command::Play { seat: seat.or(caller.seat_in(&id)), mv };
        self.look(&caller, &id, |session| check(session, &command, self.sessions.time_for(session), include_steps)).await
    }

    async fn apply_move(&self, request: Request<proto::ApplyMoveRequest>) -> Result<Response<proto::ApplyMoveResponse>, Status> {
        let caller = Caller::of(&request);
        let asked = moves::read(request.into_inner())?;
        let session_id = asked.change.session_id.clone();
        let apply = async {
            let Asked { target, command, want_steps, look } = self.asked_by(&caller, asked).await?;
            Ok(self.sessions.apply(target, command, want_steps, look).await?)
        };
        noted(&session_id, pin!(apply)).await.map(moves::answer).map(Response::new)
    }

    async fn resign(&self, request: Request<proto::ResignRequest>) -> Result<Response<proto::ResignResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::ResignRequest { session_id, seat, r#match: whole_match, expected_version, request_id } = request.into_inner();
        let mut fields = Fields::new();
        let seat = fields.take("seat", seat_in(seat));
        let change = change(&mut fields, session_id, expected_version, request_id);
        let seat = fields.done(seat)?;
        note(&change.session_id);
        let (target, seat) = self.act_as(&caller, change, seat).await?;
        let command = Command::Resign { seat, whole_match };
        let applied = self.sessions.apply(target, command, false, |session| After::of(session, false)).await?;
        let (round_result, match_result) = ends(&applied.events);
        Ok(Response::new(proto::ResignResponse {
            version: applied.after.version,
            round_result,
            match_result,
            replayed: applied.replayed,
            server_time: applied.after.time,
        }))
    }

    async fn propose(&self, request: Request<proto::ProposeRequest>) -> Result<Response<proto::ProposeResponse>, Status> {
        agreements::propose(self, &Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn answer_proposal(
        &self,
        request: Request<proto::AnswerProposalRequest>,
    ) -> Result<Response<proto::AnswerProposalResponse>, Status> {
        agreements::answer(self, &Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn withdraw_proposal(
        &self,
        request: Request<proto::WithdrawProposalRequest>,
    ) -> Result<Response<proto::WithdrawProposalResponse>, Status> {
        agreements::withdraw(self, &Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn claim_timeout(
        &self,
        request: Request<proto::ClaimTimeoutRequest>,
    ) -> Result<Response<proto::ClaimTimeoutResponse>, Status> {
        agreements::claim_timeout(self, &Caller::of(&request), request.into_inner()).await.map(Response::new)
    }

    async fn list_events(
        &self,
        request: Request<proto::ListEventsRequest>,
    ) -> Result<Response<proto::ListEventsResponse>, Status> {
        let caller = Caller::of(&request);
        let proto::ListEventsRequest { session_id, after_version, page_size, include_steps } = request.into_inner();
        let mut fields = Fields::new();
        let limit = fields.count("page_size", page_size, MAX_EVENTS, 100) as usize;
        let id = fields.session_id(session_id);
        let id = fields.done(Some(id))?;
        note(&id);
        let seen = self.sight(&caller, &id).await?;
        let limit = match seen {
            Some(current) if after_version > current => {
                return Err(ServiceError::VersionAhead { asked: after_version, current }.into());
            }
            Some(current) => limit.min((current - after_version) as usize),
            None => limit,
        };
        let read = self.sessions.events(&id, after_version, limit, include_steps).await?;
        let mut events = Vec::with_capacity(read.events.len());
        let mut bytes = 0;
        for record in read.events {
            let made = if record.version == 1 { Some(self.sessions.look_at(&id, 1, session_out).await?) } else { None };
            let event = event(record, made);
            bytes += event.encoded_len();
            if bytes > EVENTS_BYTES && !events.is_empty() {
                break;
            }
            events.push(event);
        }
        Ok(Response::new(proto::ListEventsResponse { events, version: seen.unwrap_or(read.version), server_time: self.time() }))
    }

    async fn claim_seat(&self, request: Request<proto::ClaimSeatRequest>) -> Result<Response<proto::ClaimSeatResponse>, Status> {
        self.claim(Caller::of(&request), request.into_inner()).await
    }

    async fn rotate_seat_token(
        &self,
        request: Request<proto::RotateSeatTokenRequest>,
    ) -> Result<Response<proto::RotateSeatTokenResponse>, Status> {
        self.rotate(Caller::of(&request), request.into_inner()).await
    }

    async fn revoke_seat_token(
        &self,
        request: Request<proto::RevokeSeatTokenRequest>,
    ) -> Result<Response<proto::RevokeSeatTokenResponse>, Status> {
        self.revoke(Caller::of(&request), request.into_inner()).await
    }

    async fn batch_get_sessions(
        &self,
        request: Request<proto::BatchGetSessionsRequest>,
    ) -> Result<Response<proto::BatchGetSessionsResponse>, Status> {
        session_batch::get(&self.sessions, request.into_inner()).await.map(Response::new)
    }

    async fn batch_create_sessions(
        &self,
        request: Request<proto::BatchCreateSessionsRequest>,
    ) -> Result<Response<proto::BatchCreateSessionsResponse>, Status> {
        let caller = Caller::of(&request);
        session_batch::create(&self.sessions, &caller, request.into_inner()).await.map(Response::new)
    }

    async fn export_record(
        &self,
        request: Request<proto::ExportRecordRequest>,
    ) -> Result<Response<proto::ExportRecordResponse>, Status> {
        records::export(self, request.into_inner()).await.map(Response::new)
    }

    async fn import_record(
        &self,
        request: Request<proto::ImportRecordRequest>,
    ) -> Result<Response<proto::ImportRecordResponse>, Status> {
        let caller = Caller::of(&request);
        records::import(self, &caller, request.into_inner()).await.map(Response::new)
    }

    type WatchSessionStream = Messages<proto::WatchSessionResponse>;

    async fn watch_session(
        &self,
        request: Request<proto::WatchSessionRequest>,
    ) -> Result<Response<Self::WatchSessionStream>, Status> {
        let (owner, until) = (Owner::of(&request), given_time(&request));
        let watcher = Watcher::begin(self, &owner, until, request.into_inner()).await?;
        Ok(Response::new(messages(watcher)))
    }

    type WatchSessionsStream = Messages<proto::WatchSessionsResponse>;

    async fn watch_sessions(
        &self,
        request: Request<proto::WatchSessionsRequest>,
    ) -> Result<Response<Self::WatchSessionsStream>, Status> {
        let until = given_time(&request);
        let follower = Follower::begin(self, until, request.into_inner()).await?;
        Ok(Response::new(messages(follower)))
    }

    type PlayStream = Messages<proto::PlayResponse>;

    async fn play(&self, request: Request<Streaming<proto::PlayRequest>>) -> Result<Response<Self::PlayStream>, Status> {
        let (owner, until) = (Owner::of(&request), given_time(&request));
        Ok(Response::new(play(self.clone(), owner, until, request.into_inner())))
    }
}

impl SessionHandlers {
    fn time(&self) -> Option<Timestamp> {
        Some(timestamp(self.sessions.now()))
    }

    /// The server's time as it is for a session: never before what has happened to it.
    fn time_for(&self, session: &Session) -> Option<Timestamp> {
        Some(timestamp(self.sessions.time_for(session)))
    }

    /// Looks at a session for an answer, as far as the caller may see it.
    async fn look<T>(&self, caller: &Caller, id: &str, look: impl FnOnce(&Session) -> T) -> Result<Response<T>, Status> {
        noted(id, pin!(self.look_as(caller, id, look))).await.map(Response::new)
    }
}

/// When the caller of a stream will have gone, if it has said so.
fn given_time<T>(request: &Request<T>) -> Option<Instant> {
    Deadline::of(request).and_then(|deadline| deadline.given)
}

/// Names the session in the call's span, but if it will say nothing of a success, only when there is a failure to tell of.
pub(super) async fn noted<T>(session_id: &str, work: Pin<&mut impl Future<Output = Result<T, Status>>>) -> Result<T, Status> {
    let tells_all = LevelFilter::current() >= LevelFilter::DEBUG;
    if tells_all {
        note(session_id);
    }
    let done = work.await;
    if !tells_all && done.is_err() {
        note(session_id);
    }
    done
}

/// Names the session in the call's span.
pub(super) fn note(session_id: &str) {
    Span::current().record("session_id", session_id);
}

/// Which session a change is for. Faults are added to `fields`.
pub(super) fn change(fields: &mut Fields, session_id: String, expected_version: Option<u32>, request_id: String) -> Change {
    Change { session_id: fields.session_id(session_id), expected_version, request_id: fields.request_id(request_id) }
}
