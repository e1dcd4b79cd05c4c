//! A session and what its players say.

use crate::app::{App, body};
use mancala::wire::proto::{self, ProposalKind, Seat, event::Body};
use prost_types::Timestamp;
use tonic::{Response, Status};

pub type Answer<T> = Result<Response<T>, Status>;

pub struct Table<'a> {
    pub app: &'a App,
    pub id: String,
}

pub fn request(game: &str, rounds: u32, clock: Option<proto::clock_setting::Kind>) -> proto::CreateSessionRequest {
    let clock = clock.map(|kind| proto::ClockSetting { kind: Some(kind) });
    proto::CreateSessionRequest { game: game.to_owned(), rounds, clock, ..Default::default() }
}

impl Table<'_> {
    pub async fn new(app: &App, request: proto::CreateSessionRequest) -> Table<'_> {
        Table { app, id: app.make(request).await.session_id }
    }

    /// A single round of Ayoayo without clocks.
    pub async fn plain(app: &App) -> Table<'_> {
        Table::new(app, request("ayoayo", 1, None)).await
    }

    pub async fn play(&self, mv: &str) -> proto::ApplyMoveResponse {
        self.app.play(&self.id, mv).await
    }

    /// Plays the first legal move; where none can be listed, one that is drawn.
    pub async fn play_one(&self) -> proto::ApplyMoveResponse {
        let mut moves = self.app.legal_moves(&self.id).await;
        if moves.is_empty() {
            let request = proto::SampleMovesRequest { session_id: self.id.clone(), count: 1, seed: 1 };
            moves.extend(body(self.app.sessions().sample_moves(request).await).moves.into_iter().map(|mv| mv.text));
        }
        self.play(&moves[0]).await
    }

    /// Plays the first legal move so often.
    pub async fn play_any(&self, plies: usize) {
        for _ in 0..plies {
            self.play_one().await;
        }
    }

    pub async fn session(&self) -> proto::Session {
        self.app.session(&self.id).await
    }

    pub async fn events(&self) -> Vec<proto::Event> {
        self.app.events(&self.id, 1_000, false).await
    }

    /// What happened after a version, as names.
    pub async fn story(&self, after: u32) -> Vec<&'static str> {
        self.events().await.iter().skip(after as usize).map(name).collect()
    }

    pub fn proposal(&self, seat: Seat, kind: ProposalKind, to_version: Option<u32>) -> proto::ProposeRequest {
        proto::ProposeRequest {
            session_id: self.id.clone(),
            seat: seat.into(),
            kind: kind.into(),
            to_version,
            ..Default::default()
        }
    }

    pub async fn propose(&self, seat: Seat, kind: ProposalKind) -> Answer<proto::ProposeResponse> {
        self.app.sessions().propose(self.proposal(seat, kind, None)).await
    }

    pub async fn propose_takeback(&self, seat: Seat, to_version: u32) -> Answer<proto::ProposeResponse> {
        self.app.sessions().propose(self.proposal(seat, ProposalKind::Takeback, Some(to_version))).await
    }

    pub fn reply(&self, seat: Seat, kind: ProposalKind, accept: bool) -> proto::AnswerProposalRequest {
        proto::AnswerProposalRequest {
            session_id: self.id.clone(),
            seat: seat.into(),
            kind: kind.into(),
            accept,
            ..Default::default()
        }
    }

    pub async fn answer(&self, seat: Seat, kind: ProposalKind, accept: bool) -> Answer<proto::AnswerProposalResponse> {
        self.app.sessions().answer_proposal(self.reply(seat, kind, accept)).await
    }

    pub async fn withdraw(&self, seat: Seat, kind: ProposalKind) -> Answer<proto::WithdrawProposalResponse> {
        let request = proto::WithdrawProposalRequest {
            session_id: self.id.clone(),
            seat: seat.into(),
            kind: kind.into(),
            ..Default::default()
        };
        self.app.sessions().withdraw_proposal(request).await
    }

    /// South proposes and North agrees.
    pub async fn agree(&self, kind: ProposalKind) -> proto::AnswerProposalResponse {
        body(self.propose(Seat::South, kind).await);
        body(self.answer(Seat::North, kind, true).await)
    }

    pub async fn agree_takeback(&self, to_version: u32) -> proto::AnswerProposalResponse {
        body(self.propose_takeback(Seat::South, to_version).await);
        body(self.answer(Seat::North, ProposalKind::Takeback, true).await)
    }

    pub async fn resign(&self, seat: Seat, whole: bool) -> Answer<proto::ResignResponse> {
        let request =
            proto::ResignRequest { session_id: self.id.clone(), seat: seat.into(), r#match: whole, ..Default::default() };
        self.app.sessions().resign(request).await
    }

    pub async fn claim(&self) -> Answer<proto::ClaimTimeoutResponse> {
        let request = proto::ClaimTimeoutRequest { session_id: self.id.clone(), ..Default::default() };
        self.app.sessions().claim_timeout(request).await
    }
}

/// The name of what happened.
pub fn name(event: &proto::Event) -> &'static str {
    match event.body.as_ref().expect("a body") {
        Body::Created(_) => "created",
        Body::MovePlayed(_) => "move_played",
        Body::Resigned(_) => "resigned",
        Body::RoundEnded(_) => "round_ended",
        Body::RoundStarted(_) => "round_started",
        Body::Ended(_) => "ended",
        Body::Proposed(_) => "proposed",
        Body::ProposalAnswered(_) => "proposal_answered",
        Body::ProposalWithdrawn(_) => "proposal_withdrawn",
        Body::TakenBack(_) => "taken_back",
        Body::TimedOut(_) => "timed_out",
        Body::RematchMade(_) => "rematch_made",
        Body::SeatClaimed(_) => "seat_claimed",
        Body::TokenRotated(_) => "token_rotated",
        Body::TokenRevoked(_) => "token_revoked",
        Body::Expiring(_) => "expiring",
    }
}

/// Reason, South's and North's count of a result.
pub fn told(result: &Option<proto::Result>) -> (&str, Seat, u32, u32) {
    let result = result.as_ref().expect("a result");
    (&result.reason, result.winner(), result.south, result.north)
}

pub fn micros(time: &Option<Timestamp>) -> i64 {
    let time = time.as_ref().expect("a time");
    time.seconds * 1_000_000 + i64::from(time.nanos) / 1_000
}
