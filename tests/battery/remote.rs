//! How clients reach a server over the wire, and what they may conclude from what they are told.

use crate::call::{Call, Outcome, PAGE, ROUNDS, Seen, What, clock_of, rules_of};
use crate::door::{Cut, Door, Eye};
use async_trait::async_trait;
use mancala::game::Seat;
use mancala::session::{ClockSetting, EventHash, Micros, ProposalKind};
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, WatchSessionResponse};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_types::StatusExt;

/// A server that is called over the wire.
#[derive(Clone)]
pub struct Remote {
    channel: Channel,
    /// Cancelled when it is killed.
    life: CancellationToken,
}

/// A connection that takes longer is given up.
const CONNECT: Duration = Duration::from_secs(5);

impl Remote {
    /// Connects when it is first called, and again whenever the connection is lost.
    pub fn new(endpoint: &Endpoint, life: CancellationToken) -> Remote {
        Remote { life, ..Remote::over(endpoint.clone().connect_timeout(CONNECT).connect_lazy()) }
    }

    /// Calls by a channel that is there, of a server that nobody kills.
    pub fn over(channel: Channel) -> Remote {
        Remote { channel, life: CancellationToken::new() }
    }

    /// A client whose calls have so much time, if that is said.
    fn client(&self, time: Option<Duration>) -> SessionServiceClient<InterceptedService<Channel, impl Interceptor + Clone>> {
        let timed = move |mut request: Request<()>| {
            time.into_iter().for_each(|time| request.set_timeout(time));
            Ok(request)
        };
        SessionServiceClient::with_interceptor(self.channel.clone(), timed)
    }

    /// Sends a call once, with so much time, if that is said.
    pub async fn send(&self, call: &Call, time: Option<Duration>) -> Result<Seen, Status> {
        let mut client = self.client(time);
        let Call { session: session_id, request: request_id, expected_version, what } = call.clone();
        let seen = match what {
            What::Create => {
                let game = rules_of(&session_id).game().id().to_owned();
                let clock = clock_of(&session_id).map(clock_out);
                let made = proto::CreateSessionRequest { game, session_id, request_id, rounds: ROUNDS, ..Default::default() };
                let request = proto::CreateSessionRequest { clock, ..made };
                let reply = client.create_session(request).await?.into_inner();
                Seen { replayed: reply.replayed, ..seen(&reply.session.unwrap_or_default()) }
            }
            What::Get => {
                let request = proto::GetSessionRequest { session_id, version: None };
                seen(&client.get_session(request).await?.into_inner().session.unwrap_or_default())
            }
            What::Events { after } => {
                let page_size = PAGE as u32;
                let request = proto::ListEventsRequest { session_id, after_version: after, page_size, include_steps: false };
                let reply = client.list_events(request).await?.into_inner();
                let events = reply.events.iter().map(event).collect();
                Seen { version: Some(reply.version), events, ..Seen::default() }
            }
            What::Delete => {
                client.delete_session(proto::DeleteSessionRequest { session_id, expected_version, request_id }).await?;
                Seen::default()
            }
            What::Play { seat, mv } => {
                let seat = seat.map_or(proto::Seat::Unspecified, out).into();
                let mv = Some(proto::Move { kind: None, text: mv });
                let request =
                    proto::ApplyMoveRequest { session_id, r#move: mv, seat, expected_version, request_id, ..Default::default() };
                let reply = client.apply_move(request).await?.into_inner();
                Seen { position: Some(reply.position), ..brief(reply.version, reply.replayed) }
            }
            What::Resign => {
                let request = proto::ResignRequest { session_id, expected_version, request_id, ..Default::default() };
                let reply = client.resign(request).await?.into_inner();
                brief(reply.version, reply.replayed)
            }
            What::Propose { kind, to_version } => {
                let kind = kind_out(kind).into();
                let seat = proto::Seat::Unspecified.into();
                let request = proto::ProposeRequest { session_id, seat, kind, to_version, expected_version, request_id };
                let reply = client.propose(request).await?.into_inner();
                brief(reply.version, reply.replayed)
            }
            What::Answer { kind, accept } => {
                let kind = kind_out(kind).into();
                let seat = proto::Seat::Unspecified.into();
                let request = proto::AnswerProposalRequest { session_id, seat, kind, accept, expected_version, request_id };
                let reply = client.answer_proposal(request).await?.into_inner();
                Seen { position: Some(reply.position), ..brief(reply.version, reply.replayed) }
            }
        };
        Ok(seen)
    }
}

fn brief(version: u32, replayed: bool) -> Seen {
    Seen { version: Some(version), replayed, ..Seen::default() }
}

fn seen(session: &proto::Session) -> Seen {
    let position = session.position.as_ref().map(|position| position.text.clone());
    Seen { version: Some(session.version), position, hash: EventHash::from_hex(&session.head_hash), ..Seen::default() }
}

fn event(event: &proto::Event) -> (u32, EventHash) {
    (event.version, EventHash::from_hex(&event.hash).expect("every event bears its hash"))
}

const fn out(seat: Seat) -> proto::Seat {
    match seat {
        Seat::South => proto::Seat::South,
        Seat::North => proto::Seat::North,
    }
}

const fn kind_out(kind: ProposalKind) -> proto::ProposalKind {
    match kind {
        ProposalKind::Draw => proto::ProposalKind::Draw,
        ProposalKind::Takeback => proto::ProposalKind::Takeback,
        ProposalKind::Abort => proto::ProposalKind::Abort,
        ProposalKind::EndMatch => proto::ProposalKind::EndMatch,
        ProposalKind::Rematch => proto::ProposalKind::Rematch,
    }
}

fn clock_out(setting: ClockSetting) -> proto::ClockSetting {
    use proto::clock_setting::Kind;
    let time = |micros: Micros| prost_types::Duration { seconds: micros / 1_000_000, nanos: (micros % 1_000_000) as i32 * 1_000 };
    let kind = match setting {
        ClockSetting::PerMove { limit } => Kind::PerMove(time(limit)),
        ClockSetting::Total { main, increment } => {
            Kind::Total(proto::TotalTime { main: Some(time(main)), increment: Some(time(increment)) })
        }
        ClockSetting::ByoYomi { main, period, periods } => {
            Kind::ByoYomi(proto::ByoYomi { main: Some(time(main)), period: Some(time(period)), periods })
        }
    };
    proto::ClockSetting { kind: Some(kind) }
}

/// What a client may conclude from a status: whether what was asked for has happened. The reason says so even where the code only says
/// to repeat the call.
pub fn outcome(status: &Status) -> Outcome {
    // An answer of ours always says why. Without that the connection has broken, or the client's own deadline is over.
    let Some(info) = status.get_details_error_info() else { return Outcome::Unknown };
    match (info.reason.as_str(), status.code()) {
        ("OUTCOME_UNKNOWN" | "DEADLINE_EXCEEDED" | "INTERNAL", _) => Outcome::Unknown,
        (_, Code::Unavailable | Code::ResourceExhausted) => Outcome::Failed,
        _ => {
            let current = info.metadata.get("current_version").and_then(|version| version.parse().ok());
            Outcome::Refused { reason: info.reason, current }
        }
    }
}

#[async_trait]
impl Door for Remote {
    async fn call(&self, call: &Call) -> Outcome {
        let answer = async { self.send(call, None).await.map_or_else(|status| outcome(&status), Outcome::Done) };
        self.life.run_until_cancelled(answer).await.unwrap_or(Outcome::Unknown)
    }

    async fn watch(&self, session: &str, after: u32) -> Result<Box<dyn Eye>, Cut> {
        let request = proto::WatchSessionRequest {
            session_id: session.to_owned(),
            after_version: Some(after),
            include_snapshot: false,
            include_steps: false,
        };
        let mut client = self.client(None);
        let watch = self.life.run_until_cancelled(client.watch_session(request)).await.ok_or(Cut::Broken)?;
        let messages = watch.map(Response::into_inner).map_err(|status| cut(&status))?;
        Ok(Box::new(RemoteEye { messages, life: self.life.clone() }))
    }
}

fn cut(status: &Status) -> Cut {
    if status.code() == Code::NotFound { Cut::Gone } else { Cut::Broken }
}

struct RemoteEye {
    messages: Streaming<WatchSessionResponse>,
    life: CancellationToken,
}

/// A watch that is silent for so long has no news at present.
const QUIET: Duration = Duration::from_millis(100);

#[async_trait]
impl Eye for RemoteEye {
    async fn next(&mut self) -> Result<Vec<(u32, EventHash)>, Cut> {
        let life = self.life.clone();
        let message = life.run_until_cancelled(timeout(QUIET, self.messages.message())).await.ok_or(Cut::Broken)?;
        match message {
            Ok(Ok(Some(message))) => Ok(message.events.iter().map(event).collect()),
            Ok(Ok(None)) => Err(Cut::Broken),
            Ok(Err(status)) => Err(cut(&status)),
            Err(_quiet) => Ok(Vec::new()),
        }
    }
}
