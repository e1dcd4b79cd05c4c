//! Those who play by calls, and repeat what was not answered until it is.

use crate::app::text;
use crate::place::Place;
use crate::truth::Truth;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, ProposalKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

type Client = SessionServiceClient<Channel>;

/// What a failure of a call says.
pub enum Failed {
    /// Nothing for certain: it may have been carried out.
    Unknown,
    /// It was refused, with this reason, and never will be carried out.
    Refused(String),
}

/// What a status says of a call.
pub fn failed(status: &Status) -> Failed {
    match status.get_details_error_info() {
        Some(info) if !matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded) => Failed::Refused(info.reason),
        // An answer of ours always says why; without that the connection has broken.
        _ => Failed::Unknown,
    }
}

/// Plays until told to stop.
pub struct Mover {
    pub place: Place,
    pub truth: Truth,
    pub sessions: Arc<Vec<String>>,
    pub dice: SeededDice,
    pub stop: Arc<AtomicBool>,
}

impl Mover {
    pub async fn run(mut self) {
        let mut client = Client::new(self.place.connect().await);
        while !self.stop.load(Ordering::Relaxed) {
            let session_id = self.sessions[self.dice.below(self.sessions.len() as u64) as usize].clone();
            let command = self.command(&session_id, &mut client).await;
            let request_id = self.truth.request_id();
            if let Some(command) = command {
                self.settle(&mut client, &session_id, command, &request_id).await;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.below(4))).await;
        }
    }

    /// Something to do that may well be refused.
    async fn command(&mut self, session_id: &str, client: &mut Client) -> Option<Command> {
        let kind = [ProposalKind::Draw, ProposalKind::Takeback][self.dice.below(2) as usize];
        Some(match self.dice.below(100) {
            0..=4 => Command::Resign,
            5..=9 => Command::Propose(kind, self.truth.known(session_id).saturating_sub(self.dice.below(3) as u32).max(1)),
            10..=17 => Command::Accept(kind),
            _ => {
                let seed = self.dice.below(1 << 32) as u32;
                let sample = proto::SampleMovesRequest { session_id: session_id.to_owned(), count: 1, seed };
                let sampled = client.sample_moves(sample).await;
                if sampled.as_ref().is_err_and(|status| matches!(failed(status), Failed::Unknown)) {
                    *client = Client::new(self.place.connect().await);
                }
                Command::Play(sampled.ok()?.into_inner().moves.pop()?.text)
            }
        })
    }

    /// Sends it until the answer is there.
    async fn settle(&mut self, client: &mut Client, session_id: &str, command: Command, request_id: &str) {
        loop {
            match command.send(client, session_id, request_id).await {
                Ok(version) => return self.truth.changed(session_id, version),
                Err(status) => match failed(&status) {
                    Failed::Unknown => *client = Client::new(self.place.connect().await),
                    Failed::Refused(reason) => {
                        assert!(reason != "SESSION_NOT_FOUND" || self.truth.is_deleted(session_id), "{status:?}");
                        return;
                    }
                },
            }
        }
    }
}

enum Command {
    Play(String),
    Resign,
    Propose(ProposalKind, u32),
    Accept(ProposalKind),
}

impl Command {
    /// The version that it led to.
    async fn send(&self, client: &mut Client, session_id: &str, request_id: &str) -> Result<u32, Status> {
        let (session_id, request_id) = (session_id.to_owned(), request_id.to_owned());
        match self {
            Command::Play(mv) => {
                let request = proto::ApplyMoveRequest { session_id, request_id, r#move: text(mv), ..Default::default() };
                client.apply_move(request).await.map(Response::into_inner).map(|reply| reply.version)
            }
            Command::Resign => {
                let request = proto::ResignRequest { session_id, request_id, ..Default::default() };
                client.resign(request).await.map(Response::into_inner).map(|reply| reply.version)
            }
            Command::Propose(kind, to) => {
                let to_version = (*kind == ProposalKind::Takeback).then_some(*to);
                let kind = (*kind).into();
                let request = proto::ProposeRequest { session_id, request_id, kind, to_version, ..Default::default() };
                client.propose(request).await.map(Response::into_inner).map(|reply| reply.version)
            }
            Command::Accept(kind) => {
                let kind = (*kind).into();
                let request = proto::AnswerProposalRequest { session_id, request_id, kind, accept: true, ..Default::default() };
                client.answer_proposal(request).await.map(Response::into_inner).map(|reply| reply.version)
            }
        }
    }
}
