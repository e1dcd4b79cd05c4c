//! A server that does nothing but hold WatchSession streams and hand on the moves it is sent: what tonic itself takes for that, as the
//! yardstick for `mancala serve`. It knows no rules and keeps nothing.
//!
//! It prints `listening on ADDRESS` and serves until it is killed.

mod bare;

use futures_util::future::{BoxFuture, ready};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http::{Request, Response};
use mancala::wire::proto::{self, ApplyMoveRequest, ApplyMoveResponse, WatchSessionRequest, WatchSessionResponse};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::{Grpc, NamedService};
use tonic_prost::ProstCodec;

/// The last message of each session.
type News = Arc<Mutex<HashMap<String, watch::Sender<WatchSessionResponse>>>>;
type Messages = Pin<Box<dyn Stream<Item = Result<WatchSessionResponse, Status>> + Send>>;

/// Two methods of SessionService.
#[derive(Clone, Default)]
struct Bare {
    news: News,
}

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
        let bare = self.clone();
        async move {
            Ok(match request.uri().path() {
                "/mancala.v1.SessionService/WatchSession" => {
                    let watch = |request: tonic::Request<WatchSessionRequest>| {
                        ready(Ok(tonic::Response::new(bare.watch(request.into_inner()))))
                    };
                    Grpc::new(ProstCodec::default()).server_streaming(tower::service_fn(watch), request).await
                }
                "/mancala.v1.SessionService/ApplyMove" => {
                    let apply = |request: tonic::Request<ApplyMoveRequest>| {
                        ready(Ok(tonic::Response::new(bare.apply(request.into_inner()))))
                    };
                    Grpc::new(ProstCodec::default()).unary(tower::service_fn(apply), request).await
                }
                _ => Status::unimplemented("not one of the two methods").into_http(),
            })
        }
        .boxed()
    }
}

impl Bare {
    fn with<T>(&self, session_id: String, then: impl FnOnce(&watch::Sender<WatchSessionResponse>) -> T) -> T {
        let mut news = self.news.lock().expect("no panic");
        then(news.entry(session_id).or_insert_with(|| watch::Sender::new(message(1))))
    }

    /// The last message, at once, and those that follow.
    fn watch(&self, request: WatchSessionRequest) -> Messages {
        let news = self.with(request.session_id, watch::Sender::subscribe);
        // Never ends, as a watch does not.
        Box::pin(WatchStream::new(news).map(Ok).chain(stream::pending()))
    }

    /// Hands a move on.
    fn apply(&self, request: ApplyMoveRequest) -> ApplyMoveResponse {
        let text = request.r#move.unwrap_or_default().text;
        let version = self.with(request.session_id, |news| {
            let version = news.borrow().version + 1;
            // Of the size that an event has, whatever it says.
            let played = proto::MovePlayed {
                r#move: Some(proto::Move { kind: None, text }),
                position: "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0,0 south".to_owned(),
                ..Default::default()
            };
            let event = proto::Event {
                version,
                hash: "0".repeat(64),
                body: Some(proto::event::Body::MovePlayed(played)),
                ..Default::default()
            };
            news.send_replace(WatchSessionResponse { events: vec![event], ..message(version) });
            version
        });
        ApplyMoveResponse { version, ..Default::default() }
    }
}

fn message(version: u32) -> WatchSessionResponse {
    WatchSessionResponse {
        version,
        current_version: version,
        server_time: Some(prost_types::Timestamp { seconds: 1_800_000_000, nanos: 1 }),
        ..Default::default()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    bare::serve(&runtime, Bare::default())
}
