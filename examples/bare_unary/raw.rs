//! Bytes in, bytes out: nothing is read of what is asked, nor written of what is answered.

use crate::bare;
use bytes::{Buf, BufMut, Bytes};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use http::{Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::Service;
use tonic::server::{Grpc, NamedService};

/// Answers by method.
#[derive(Clone)]
pub struct Raw(pub Arc<[(&'static str, Bytes)]>);

impl NamedService for Raw {
    const NAME: &'static str = bare::SESSION_SERVICE;
}

impl Service<Request<Body>> for Raw {
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
            Ok(Grpc::new(Bytewise).unary(tower::service_fn(echo), request).await)
        }
        .boxed()
    }
}

/// Messages as the bytes that they are.
struct Bytewise;

impl Codec for Bytewise {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Bytewise;
    type Decoder = Bytewise;

    fn encoder(&mut self) -> Bytewise {
        Bytewise
    }

    fn decoder(&mut self) -> Bytewise {
        Bytewise
    }
}

impl Encoder for Bytewise {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Bytewise {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
