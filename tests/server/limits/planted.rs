//! A service whose methods do what handlers must not do.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use mancala::wire::deadline::Deadline;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// Methods: Panic, PanicInStream, Never (answers), Stream (never ends), Deadline (answers what it was given).
#[derive(Clone)]
pub struct Planted;

impl NamedService for Planted {
    const NAME: &'static str = "test.Planted";
}

/// One message, and then a panic or nothing more.
struct Stream {
    sent: bool,
    panics: bool,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.sent {
            self.sent = true;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"\0\0\0\0\0")))));
        }
        if self.panics { panic!("a fault in a stream") } else { Poll::Pending }
    }
}

impl Service<Request<Body>> for Planted {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().expect("a method").to_owned();
        let deadline = request.extensions().get::<Deadline>().copied();
        Box::pin(async move {
            let answer = Response::builder().header("content-type", "application/grpc");
            Ok(match method.as_str() {
                "Panic" => panic!("a fault in a handler"),
                "PanicInStream" => answer.body(Body::new(Stream { sent: false, panics: true })).expect("an answer"),
                "Stream" => answer.body(Body::new(Stream { sent: false, panics: false })).expect("an answer"),
                "Deadline" => {
                    let deadline = deadline.expect("every call has one");
                    let (by, given) = (deadline.answer_by, deadline.given);
                    let text = format!("{}", given.map_or(-1, |given| (given - by).as_secs() as i64));
                    answer.header("grpc-status", "0").header("x-beyond", text).body(Body::empty()).expect("an answer")
                }
                _ => std::future::pending().await,
            })
        })
    }
}
