//! Those who play many sessions at once by one stream.

use crate::app::text;
use crate::place::Place;
use crate::truth::Truth;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, PlayRequest, PlayResponse};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Response, Streaming};

/// Commands that wait for their replies.
const PIPELINED: usize = 12;

/// Plays until told to stop.
pub struct Player {
    pub place: Place,
    pub truth: Truth,
    pub sessions: Arc<Vec<String>>,
    pub dice: SeededDice,
    pub stop: Arc<AtomicBool>,
    /// Moves without a reply, by command id.
    pub moves: HashMap<String, proto::ApplyMoveRequest>,
}

impl Player {
    pub async fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) || !self.moves.is_empty() {
            let mut client = SessionServiceClient::new(self.place.connect().await);
            let (commands, sent) = mpsc::unbounded_channel();
            // What has no reply is sent again before anything else.
            for (id, request) in &self.moves {
                send(&commands, id.clone(), Command::ApplyMove(request.clone()));
            }
            let Ok(replies) = client.play(UnboundedReceiverStream::new(sent)).await.map(Response::into_inner) else { continue };
            self.play(&commands, replies).await;
        }
    }

    /// Plays until the stream ends, which all do.
    async fn play(&mut self, commands: &mpsc::UnboundedSender<PlayRequest>, mut replies: Streaming<PlayResponse>) {
        let mut waiting = self.moves.len();
        loop {
            while waiting < PIPELINED && !self.stop.load(Ordering::Relaxed) {
                let session_id = self.sessions[self.dice.below(self.sessions.len() as u64) as usize].clone();
                let seed = self.dice.below(1 << 32) as u32;
                // The id says whose moves these are.
                let id = format!("{}_{session_id}", self.truth.request_id());
                send(commands, id, Command::SampleMoves(proto::SampleMovesRequest { session_id, count: 1, seed }));
                waiting += 1;
            }
            if waiting == 0 {
                return;
            }
            let Ok(Some(PlayResponse { command_id, reply: Some(reply) })) = replies.message().await else { return };
            match reply {
                Reply::SampleMoves(mut sampled) => match sampled.moves.pop() {
                    Some(mv) => {
                        let request_id = self.truth.request_id();
                        let session_id = command_id.split_once('_').expect("of ours").1.to_owned();
                        let request = proto::ApplyMoveRequest {
                            session_id,
                            request_id: request_id.clone(),
                            r#move: text(&mv.text),
                            ..Default::default()
                        };
                        self.moves.insert(request_id.clone(), request.clone());
                        send(commands, request_id, Command::ApplyMove(request));
                    }
                    None => waiting -= 1,
                },
                Reply::ApplyMove(moved) => {
                    waiting -= 1;
                    let request = self.moves.remove(&command_id).expect("one reply to each");
                    self.truth.changed(&request.session_id, moved.version);
                }
                Reply::Failure(failure) if failure.code == "UNAVAILABLE" => return,
                Reply::Failure(failure) => {
                    waiting -= 1;
                    let refusal = failure.refusal.expect("a reason");
                    let session_id = self.moves.remove(&command_id).map(|request| request.session_id);
                    let gone = session_id.is_none_or(|session_id| self.truth.is_deleted(&session_id));
                    assert!(refusal.reason != "SESSION_NOT_FOUND" || gone, "{refusal:?}");
                }
                other => panic!("nobody asked for {other:?}"),
            }
        }
    }
}

fn send(commands: &mpsc::UnboundedSender<PlayRequest>, command_id: String, command: Command) {
    // If nobody takes it any more the stream is about to end, and it is sent again by another.
    let _ = commands.send(PlayRequest { command_id, command: Some(command) });
}
