//! A server whose SessionService answers every call with the same bytes, whatever it is asked: what tonic itself takes for calls with
//! messages of these sizes, as the yardstick for `mancala serve`. It knows no rules, keeps nothing, and does not even read what it
//! is asked nor write what it answers: messages are copied as they are.
//!
//!     bare_unary ADDRESS
//!
//! ADDRESS is a running `mancala serve` that lets anybody play, of which it learns the answers, each once, in the middle of a game.
//! Then it prints `listening on` and its own address, and serves until it is killed. It runs on one thread, on tokio's
//! `current_thread`: that is what tonic is fastest on, since nothing is ever handed from one thread to another.

mod bare;

use bytes::{Buf, BufMut, Bytes};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use http::{Request, Response};
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{ApplyMoveRequest, CreateSessionRequest, GetSessionRequest, ListLegalMovesRequest};
use prost::Message;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::Service;
use tonic::server::{Grpc, NamedService};

/// So many moves are played before the answers are asked for.
const PLIES: u32 = 20;

/// Answers by method.
#[derive(Clone)]
struct Bare(Arc<[(&'static str, Bytes)]>);

impl NamedService for Bare {
    const NAME: &'static str = bare::SESSION_SERVICE;
}

impl Service<Request<Body>> for Bare {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        let answer = self.0.iter().find(|(name, _)| *name == method).map(|(_, answer)| answer.clone());
        async move {
            let Some(answer) = answer else {
                return Ok(Status::unimplemented("not one of the methods that are measured").into_http());
            };
            let echo = |_: tonic::Request<Bytes>| ready(Ok(tonic::Response::new(answer.clone())));
            Ok(Grpc::new(Raw).unary(tower::service_fn(echo), request).await)
        }
        .boxed()
    }
}

/// Messages as the bytes that they are.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// Plays the first legal moves on a real server, and keeps its last answers.
async fn learn(address: &str) -> Result<Bare, Box<dyn Error>> {
    let mut server = SessionServiceClient::connect(format!("http://{address}")).await?;
    let create = CreateSessionRequest { game: "ayoayo".to_owned(), ..Default::default() };
    let created = server.create_session(create).await?.into_inner();
    let session_id = created.session.clone().unwrap_or_default().session_id;
    let mut applied = Bytes::new();
    for ply in 0..PLIES {
        let asked = ListLegalMovesRequest { session_id: session_id.clone() };
        let r#move = server.list_legal_moves(asked).await?.into_inner().moves.into_iter().next();
        let request_id = format!("move-{ply}");
        let apply = ApplyMoveRequest { session_id: session_id.clone(), r#move, request_id, ..Default::default() };
        applied = server.apply_move(apply).await?.into_inner().encode_to_vec().into();
    }
    let got = server.get_session(GetSessionRequest { session_id: session_id.clone(), version: None }).await?.into_inner();
    let legal = server.list_legal_moves(ListLegalMovesRequest { session_id }).await?.into_inner();
    let answers = [
        ("ApplyMove", applied),
        ("GetSession", got.encode_to_vec().into()),
        ("ListLegalMoves", legal.encode_to_vec().into()),
        ("CreateSession", created.encode_to_vec().into()),
    ];
    for (method, answer) in &answers {
        println!("{method} answers {} bytes", answer.len());
    }
    Ok(Bare(answers.into()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("whose answers? give the address of a running `mancala serve`")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bare = runtime.block_on(learn(&address))?;
    bare::serve(&runtime, bare)
}
