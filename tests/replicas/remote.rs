//! A replica as its clients see it: over gRPC.

use crate::call::{Call, Outcome, ROUNDS, Seen, What, rules_of};
use crate::door::{Cut, Door, Eye};
use async_trait::async_trait;
use mancala::game::Seat;
use mancala::session::{EventHash, ProposalKind};
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, WatchSessionResponse};
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt;

/// See the module.
#[derive(Clone)]
pub struct Remote {
    pub channel: Channel,
}

impl Remote {
    /// Sends a call once, with so much time for it if it says how much.
    pub async fn send(&self, call: &Call, time: Option<Duration>) -> Result<Seen, Status> {
        let sessions = &mut SessionServiceClient::new(self.channel.clone());
        let Call { session, request, expected_version, what } = call.clone();
        let (session_id, request_id) = (session, request);
        match what {
            What::Create => {
                let game = rules_of(&session_id).game().id().to_owned();
                let create = proto::CreateSessionRequest { session_id, game, request_id, rounds: ROUNDS, ..Default::default() };
                let made = sessions.create_session(timed(create, time)).await?.into_inner();
                Ok(Seen { replayed: made.replayed, ..seen(made.session)? })
            }
            What::Play { seat, mv } => {
                let (mv, seat) = (proto::Move { kind: None, text: mv }, seat_of(seat));
                let play = proto::ApplyMoveRequest {
                    session_id,
                    r#move: Some(mv),
                    seat,
                    expected_version,
                    request_id,
                    ..Default::default()
                };
                let played = sessions.apply_move(timed(play, time)).await?.into_inner();
                let position = Some(played.position).filter(|text| !text.is_empty());
                Ok(Seen { version: Some(played.version), position, replayed: played.replayed, ..Seen::default() })
            }
            What::Resign => {
                let resign = proto::ResignRequest { session_id, expected_version, request_id, ..Default::default() };
                let done = sessions.resign(timed(resign, time)).await?.into_inner();
                Ok(told(done.version, done.replayed))
            }
            What::Propose { kind, to_version } => {
                let (seat, kind) = (seat_of(None), kind_of(kind));
                let propose = proto::ProposeRequest { session_id, seat, kind, to_version, expected_version, request_id };
                let done = sessions.propose(timed(propose, time)).await?.into_inner();
                Ok(told(done.version, done.replayed))
            }
            What::Answer { kind, accept } => {
                let (seat, kind) = (seat_of(None), kind_of(kind));
                let answer = proto::AnswerProposalRequest { session_id, seat, kind, accept, expected_version, request_id };
                let done = sessions.answer_proposal(timed(answer, time)).await?.into_inner();
                Ok(told(done.version, done.replayed))
            }
            What::Delete => {
                let delete = proto::DeleteSessionRequest { session_id, expected_version, request_id };
                sessions.delete_session(timed(delete, time)).await?;
                Ok(Seen::default())
            }
            What::Get => {
                let get = proto::GetSessionRequest { session_id, version: None };
                seen(sessions.get_session(timed(get, time)).await?.into_inner().session)
            }
            What::Events { after } => {
                let list = proto::ListEventsRequest { session_id, after_version: after, ..Default::default() };
                let page = sessions.list_events(timed(list, time)).await?.into_inner();
                let events = page.events.iter().map(event).collect::<Result<_, _>>()?;
                Ok(Seen { version: Some(page.version), events, ..Seen::default() })
            }
        }
    }
}

fn timed<T>(message: T, time: Option<Duration>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(time) = time {
        request.set_timeout(time);
    }
    request
}

fn told(version: u32, replayed: bool) -> Seen {
    Seen { version: Some(version), replayed, ..Seen::default() }
}

fn seen(session: Option<proto::Session>) -> Result<Seen, Status> {
    let session = session.ok_or_else(|| Status::internal("a reply without its session"))?;
    let hash = hash(&session.head_hash)?;
    let position = session.position.map(|position| position.text);
    Ok(Seen { version: Some(session.version), position, hash: Some(hash), ..Seen::default() })
}

fn event(event: &proto::Event) -> Result<(u32, EventHash), Status> {
    Ok((event.version, hash(&event.hash)?))
}

fn hash(text: &str) -> Result<EventHash, Status> {
    EventHash::from_hex(text).ok_or_else(|| Status::internal(format!("no hash: {text:?}")))
}

fn seat_of(seat: Option<Seat>) -> i32 {
    seat.map_or(proto::Seat::Unspecified, |seat| match seat {
        Seat::South => proto::Seat::South,
        Seat::North => proto::Seat::North,
    })
    .into()
}

fn kind_of(kind: ProposalKind) -> i32 {
    match kind {
        ProposalKind::Draw => proto::ProposalKind::Draw,
        ProposalKind::Takeback => proto::ProposalKind::Takeback,
        ProposalKind::Abort => proto::ProposalKind::Abort,
        ProposalKind::EndMatch => proto::ProposalKind::EndMatch,
        ProposalKind::Rematch => proto::ProposalKind::Rematch,
    }
    .into()
}

/// What a client may conclude from a status.
pub fn outcome(status: &Status) -> Outcome {
    let Some(info) = status.get_details_error_info() else {
        // The connection's, or the client's own deadline.
        return Outcome::Unknown;
    };
    match info.reason.as_str() {
        "OUTCOME_UNKNOWN" | "DEADLINE_EXCEEDED" | "STOPPING" | "INTERNAL" => Outcome::Unknown,
        _ if status.code() == Code::Unavailable => Outcome::Failed,
        _ => {
            let current = info.metadata.get("current_version").and_then(|version| version.parse().ok());
            Outcome::Refused { reason: info.reason, current }
        }
    }
}

/// A watcher looks up so often though there is no news.
const BEAT: Duration = Duration::from_millis(500);

#[async_trait]
impl Door for Remote {
    async fn call(&self, call: &Call) -> Outcome {
        self.send(call, None).await.map_or_else(|status| outcome(&status), Outcome::Done)
    }

    async fn watch(&self, session: &str, after: u32) -> Result<Box<dyn Eye>, Cut> {
        let request =
            proto::WatchSessionRequest { session_id: session.to_owned(), after_version: Some(after), ..Default::default() };
        let opened = SessionServiceClient::new(self.channel.clone()).watch_session(request).await;
        Ok(Box::new(RemoteEye(opened.map_err(|status| cut(&status))?.into_inner())))
    }
}

fn cut(status: &Status) -> Cut {
    if status.code() == Code::NotFound { Cut::Gone } else { Cut::Broken }
}

struct RemoteEye(Streaming<WatchSessionResponse>);

#[async_trait]
impl Eye for RemoteEye {
    async fn next(&mut self) -> Result<Vec<(u32, EventHash)>, Cut> {
        // Nothing is lost when this is given up.
        let Ok(news) = timeout(BEAT, self.0.message()).await else { return Ok(Vec::new()) };
        let news = news.map_err(|status| cut(&status))?.ok_or(Cut::Broken)?;
        news.events.iter().map(event).collect::<Result<_, _>>().map_err(|_| Cut::Broken)
    }
}
