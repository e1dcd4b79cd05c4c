//! SessionService.

use super::convert::{event, family, move_in, move_out, phase, seat_in, session as session_out, steps};
use super::fields::Fields;
use super::proto::session_service_server::SessionService;
use super::proto::{self, Phase};
use super::refuse::status;
use super::session_answer::{After, check, ends, played, to_act};
use super::session_batch;
use super::session_list::session_list;
use super::session_request::{new_session, page};
use crate::game::MoveList;
use crate::random::SeededDice;
use crate::service::{Sessions, Target};
use crate::session::{Command, Session};
use prost::Message;
use tonic::{Request, Response, Status};
use tracing::Span;

/// Answers calls on sessions.
#[derive(Clone)]
pub struct SessionHandlers {
    sessions: Sessions,
}

impl SessionHandlers {
    /// For these sessions.
    #[must_use]
    pub const fn new(sessions: Sessions) -> SessionHandlers {
        SessionHandlers { sessions }
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
        let new = new_session(request.into_inner())?;
        let id = new.session_id.clone().unwrap_or_default();
        let request_id = new.request_id.clone().unwrap_or_default();
        let made = self.sessions.create(new).await.map_err(|error| status(error, &id, &request_id))?;
        note(made.session.id());
        let session = Some(session_out(&made.session));
        Ok(Response::new(proto::CreateSessionResponse { session, replayed: made.replayed }))
    }

    async fn get_session(
        &self,
        request: Request<proto::GetSessionRequest>,
    ) -> Result<Response<proto::GetSessionResponse>, Status> {
        let proto::GetSessionRequest { session_id, version } = request.into_inner();
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        if version == Some(0) {
            fields.fault("version", "1 or more; leave it out for the session as it is now");
        }
        fields.check()?;
        note(&id);
        let session = match version {
            None => self.sessions.look(&id, session_out).await,
            Some(version) => self.sessions.look_at(&id, version, session_out).await,
        };
        let session = Some(session.map_err(|error| status(error, &id, ""))?);
        Ok(Response::new(proto::GetSessionResponse { session }))
    }

    async fn list_sessions(
        &self,
        request: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        let Some(page) = page(request.into_inner())? else {
            return Ok(Response::new(proto::ListSessionsResponse::default()));
        };
        let listed = self.sessions.list(page.clone()).await.map_err(|error| status(error, "", ""))?;
        Ok(Response::new(session_list(&page, listed)))
    }

    async fn delete_session(
        &self,
        request: Request<proto::DeleteSessionRequest>,
    ) -> Result<Response<proto::DeleteSessionResponse>, Status> {
        let proto::DeleteSessionRequest { session_id, expected_version, request_id } = request.into_inner();
        let target = target(&mut Fields::new(), session_id, expected_version, request_id)?;
        let (id, request_id) = names(&target);
        self.sessions.delete(target).await.map_err(|error| status(error, &id, &request_id))?;
        Ok(Response::new(proto::DeleteSessionResponse {}))
    }

    async fn list_legal_moves(
        &self,
        request: Request<proto::ListLegalMovesRequest>,
    ) -> Result<Response<proto::ListLegalMovesResponse>, Status> {
        let proto::ListLegalMovesRequest { session_id } = request.into_inner();
        self.look(session_id, |session| {
            let position = session.position();
            let open = session.result().is_none();
            let moves = if open { session.rules().legal_moves(position) } else { MoveList::new() };
            let redistributions = session.rules().redistributions(position).filter(|_| open);
            proto::ListLegalMovesResponse {
                version: session.version(),
                to_act: to_act(session),
                phase: if open { phase(position.phase()) } else { Phase::Over }.into(),
                moves: moves.into_iter().map(|mv| move_out(mv, position.to_act())).collect(),
                redistributions: redistributions.map(|it| family(position, &it)),
            }
        })
        .await
    }

    async fn sample_moves(
        &self,
        request: Request<proto::SampleMovesRequest>,
    ) -> Result<Response<proto::SampleMovesResponse>, Status> {
        let proto::SampleMovesRequest { session_id, count, seed } = request.into_inner();
        let mut fields = Fields::new();
        let count = fields.count("count", count, MAX_SAMPLES, 1);
        let id = fields.session_id(session_id);
        fields.check()?;
        self.look(id, |session| {
            let mut dice = SeededDice::new(seed.into());
            let position = session.position();
            let count = if session.result().is_none() { count } else { 0 };
            let moves = (0..count).filter_map(|_| session.rules().sample(position, &mut dice));
            let moves = moves.map(|mv| move_out(mv, position.to_act())).collect();
            proto::SampleMovesResponse { version: session.version(), moves }
        })
        .await
    }

    async fn check_move(&self, request: Request<proto::CheckMoveRequest>) -> Result<Response<proto::CheckMoveResponse>, Status> {
        let proto::CheckMoveRequest { session_id, r#move, seat, include_steps } = request.into_inner();
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        let seat = fields.take("seat", seat_in(seat));
        let mv = move_in(&mut fields, r#move);
        fields.check()?;
        let (Some(seat), Some(mv)) = (seat, mv) else { unreachable!("without them there are faults") };
        self.look(id, |session| check(session, &Command::Play { seat, mv }, include_steps)).await
    }

    async fn apply_move(&self, request: Request<proto::ApplyMoveRequest>) -> Result<Response<proto::ApplyMoveResponse>, Status> {
        let proto::ApplyMoveRequest { session_id, r#move, seat, expected_version, request_id, include_position, include_steps } =
            request.into_inner();
        let mut fields = Fields::new();
        let seat = fields.take("seat", seat_in(seat)).flatten();
        let mv = move_in(&mut fields, r#move);
        let target = target(&mut fields, session_id, expected_version, request_id)?;
        let Some(mv) = mv else { unreachable!("without it there are faults") };
        let (id, request_id) = names(&target);
        let look = move |session: &Session| After::of(session, include_position);
        let applied = self.sessions.apply(target, Command::Play { seat, mv }, include_steps, look).await;
        let applied = applied.map_err(|error| status(error, &id, &request_id))?;
        let (captured, endless) = played(&applied.events);
        let (round_result, match_result) = ends(&applied.events);
        Ok(Response::new(proto::ApplyMoveResponse {
            version: applied.after.version,
            position: applied.after.position,
            to_act: applied.after.to_act,
            captured,
            endless,
            round_result,
            match_result,
            replayed: applied.replayed,
            full_position: applied.after.full_position,
            steps: steps(&applied.steps),
        }))
    }

    async fn resign(&self, request: Request<proto::ResignRequest>) -> Result<Response<proto::ResignResponse>, Status> {
        let proto::ResignRequest { session_id, seat, r#match: whole_match, expected_version, request_id } = request.into_inner();
        let mut fields = Fields::new();
        let seat = fields.take("seat", seat_in(seat)).flatten();
        let target = target(&mut fields, session_id, expected_version, request_id)?;
        let (id, request_id) = names(&target);
        let command = Command::Resign { seat, whole_match };
        let applied = self.sessions.apply(target, command, false, Session::version).await;
        let applied = applied.map_err(|error| status(error, &id, &request_id))?;
        let (round_result, match_result) = ends(&applied.events);
        Ok(Response::new(proto::ResignResponse {
            version: applied.after,
            round_result,
            match_result,
            replayed: applied.replayed,
        }))
    }

    async fn list_events(
        &self,
        request: Request<proto::ListEventsRequest>,
    ) -> Result<Response<proto::ListEventsResponse>, Status> {
        let proto::ListEventsRequest { session_id, after_version, page_size, include_steps } = request.into_inner();
        let mut fields = Fields::new();
        let limit = fields.count("page_size", page_size, MAX_EVENTS, 100) as usize;
        let id = fields.session_id(session_id);
        fields.check()?;
        note(&id);
        let read = self.sessions.events(&id, after_version, limit, include_steps).await;
        let read = read.map_err(|error| status(error, &id, ""))?;
        let mut events = Vec::with_capacity(read.events.len());
        let mut bytes = 0;
        for record in read.events {
            let made = if record.version == 1 {
                Some(self.sessions.look_at(&id, 1, session_out).await.map_err(|error| status(error, &id, ""))?)
            } else {
                None
            };
            let event = event(record, made);
            bytes += event.encoded_len();
            if bytes > EVENTS_BYTES && !events.is_empty() {
                break;
            }
            events.push(event);
        }
        Ok(Response::new(proto::ListEventsResponse { events, version: read.version }))
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
        session_batch::create(&self.sessions, request.into_inner()).await.map(Response::new)
    }
}

impl SessionHandlers {
    /// Looks at a session for an answer.
    async fn look<T>(&self, session_id: String, look: impl FnOnce(&Session) -> T) -> Result<Response<T>, Status> {
        let mut fields = Fields::new();
        let id = fields.session_id(session_id);
        fields.check()?;
        note(&id);
        self.sessions.look(&id, look).await.map(Response::new).map_err(|error| status(error, &id, ""))
    }
}

/// Names the session in the call's span.
fn note(session_id: &str) {
    Span::current().record("session_id", session_id);
}

/// Which session a change is for, if the request has no faults.
fn target(fields: &mut Fields, session_id: String, expected_version: Option<u32>, request_id: String) -> Result<Target, Status> {
    let session_id = fields.session_id(session_id);
    let request_id = fields.request_id(request_id);
    fields.check()?;
    note(&session_id);
    Ok(Target { session_id, expected_version, request_id })
}

/// The names that an error of this call bears.
fn names(target: &Target) -> (String, String) {
    (target.session_id.clone(), target.request_id.clone().unwrap_or_default())
}
