//! A server whose SessionService answers every call with the same message, whatever it is asked: what tonic itself takes for calls with
//! messages of these sizes, as the yardstick for `mancala serve`. It knows no rules and keeps nothing.
//!
//!     bare_unary ADDRESS [raw|typed]
//!
//! ADDRESS is a running `mancala serve` that lets anybody play, of which it learns the answers, each once, in the middle of a game.
//! Then it prints `listening on` and its own address, and serves until it is killed. It runs on one thread, on tokio's
//! `current_thread`: that is what tonic is fastest on, since nothing is ever handed from one thread to another.
//!
//! `raw` copies messages as the bytes that they are: what HTTP/2 and gRPC take by themselves. `typed` is an echo as anybody would write it
//! with tonic: the generated service, which reads what it is asked and writes what it answers.

#[path = "../bare/mod.rs"]
mod bare;
mod raw;
mod typed;

use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::session_service_server::SessionServiceServer;
use mancala::wire::proto::{self, ApplyMoveRequest, CreateSessionRequest, GetSessionRequest, ListLegalMovesRequest};
use prost::Message;
use raw::Raw;
use std::error::Error;
use typed::Typed;

/// So many moves are played before the answers are asked for.
const PLIES: u32 = 20;

/// The answers of a real server.
#[derive(Clone, Default)]
pub struct Learned {
    created: proto::CreateSessionResponse,
    applied: proto::ApplyMoveResponse,
    got: proto::GetSessionResponse,
    legal: proto::ListLegalMovesResponse,
}

/// Plays the first legal moves on a real server, and keeps its last answers.
async fn learn(address: &str) -> Result<Learned, Box<dyn Error>> {
    let mut server = SessionServiceClient::connect(format!("http://{address}")).await?;
    let create = CreateSessionRequest { game: "ayoayo".to_owned(), ..Default::default() };
    let created = server.create_session(create).await?.into_inner();
    let session_id = created.session.clone().unwrap_or_default().session_id;
    let mut applied = Default::default();
    for ply in 0..PLIES {
        let asked = ListLegalMovesRequest { session_id: session_id.clone() };
        let r#move = server.list_legal_moves(asked).await?.into_inner().moves.into_iter().next();
        let request_id = format!("move-{ply}");
        let apply = ApplyMoveRequest { session_id: session_id.clone(), r#move, request_id, ..Default::default() };
        applied = server.apply_move(apply).await?.into_inner();
    }
    let got = server.get_session(GetSessionRequest { session_id: session_id.clone(), version: None }).await?.into_inner();
    let legal = server.list_legal_moves(ListLegalMovesRequest { session_id }).await?.into_inner();
    Ok(Learned { created, applied, got, legal })
}

/// The same as bytes.
fn raw(Learned { created, applied, got, legal }: Learned) -> Raw {
    let answers = [
        ("ApplyMove", applied.encode_to_vec().into()),
        ("GetSession", got.encode_to_vec().into()),
        ("ListLegalMoves", legal.encode_to_vec().into()),
        ("CreateSession", created.encode_to_vec().into()),
    ];
    for (method, answer) in &answers {
        println!("{method} answers {} bytes", bytes::Bytes::len(answer));
    }
    Raw(answers.into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("whose answers? give the address of a running `mancala serve`")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let learned = runtime.block_on(learn(&address))?;
    match arguments.next().as_deref() {
        None | Some("raw") => bare::serve(&runtime, raw(learned)),
        Some("typed") => bare::serve(&runtime, SessionServiceServer::new(Typed(learned))),
        Some(other) => Err(format!("`raw` or `typed`, not `{other}`").into()),
    }
}
