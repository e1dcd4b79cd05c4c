//! The services in this process: what the server serves, without sockets. Messages go in and come out as bytes.

use http::{HeaderMap, Request, Response};
use mancala::service::{Compute, Sessions};
use mancala::wire::access::Access;
use mancala::wire::{self, RulesHandlers, SessionHandlers, StreamSettings};
use prost::bytes::{Buf, BufMut, Bytes};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::Service;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::service::Routes;
use tonic::{Extensions, Status};

/// Both services behind what the server puts before them.
#[derive(Clone)]
pub struct Served {
    access: Access,
    routes: Routes,
}

impl Served {
    pub fn new(sessions: Sessions, access: Access) -> Served {
        let compute = Compute::new(1);
        let rules = wire::rules_service(RulesHandlers::new(compute.clone()));
        // No streams are called, so that nothing need tell them to stop.
        let streams = StreamSettings::new(watch::channel(false).1);
        let handlers = SessionHandlers::new(sessions, compute, streams);
        let routes = Routes::new(rules).add_service(wire::session_service(handlers));
        Served { access, routes }
    }

    /// Calls a method by its path.
    pub async fn call(&self, path: &str, token: Option<&str>, message: Vec<u8>) -> Result<Bytes, Status> {
        let mut headers = HeaderMap::new();
        if let Some(value) = token.and_then(|token| MetadataValue::try_from(format!("Bearer {token}")).ok()) {
            headers.insert(http::header::AUTHORIZATION, http::HeaderValue::from_bytes(value.as_bytes()).expect("it is one"));
        }
        let request = tonic::Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), Bytes::from(message));
        let mut grpc = Grpc::new(self.clone()).max_decoding_message_size(usize::MAX);
        let path = path.parse().expect("a path");
        grpc.unary(request, path, BytesCodec).await.map(tonic::Response::into_inner)
    }
}

impl Service<Request<Body>> for Served {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Routes are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Served { access, mut routes } = self.clone();
        Box::pin(async move {
            let answer = match access.admit(request.uri().path(), request.headers(), None).await {
                Ok(caller) => {
                    request.extensions_mut().insert(caller);
                    routes.call(request).await?
                }
                Err(status) => status.into_http(),
            };
            Ok(wire::complete(answer))
        })
    }
}

/// Messages as the bytes that they are.
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = BytesCodec;
    type Decoder = BytesCodec;

    fn encoder(&mut self) -> BytesCodec {
        BytesCodec
    }

    fn decoder(&mut self) -> BytesCodec {
        BytesCodec
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
