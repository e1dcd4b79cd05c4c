//! Requests that are no calls: of another method of HTTP than POST, or with another content type than calls have.
//!
//! A browser sends those on behalf of any page, with the certificate that it holds and without asking first whether the page may.
//! It asks before whatever has the content type of a call, so that nothing else may be carried out.

use super::log;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tokio_util::either::Either;
use tonic::body::Body;
use tonic::codegen::Service;

/// What the content types of calls begin with.
const GRPC: &[u8] = b"application/grpc";

/// What a request is answered that is no call of gRPC, if it is none. gRPC-Web has been made gRPC by then, where it is on.
pub fn refusal<B>(request: &Request<B>) -> Option<Response<Body>> {
    refusal_unless(request, is_grpc)
}

/// Whether this is the content type of gRPC. After its name may come that of the messages' form, and parameters.
fn is_grpc(content_type: &[u8]) -> bool {
    content_type.strip_prefix(GRPC).is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Whether this is the content type of gRPC or a form of gRPC-Web.
fn is_grpc_or_web(content_type: &[u8]) -> bool {
    content_type.starts_with(GRPC)
}

fn refusal_unless<B>(request: &Request<B>, is_of_call: impl Fn(&[u8]) -> bool) -> Option<Response<Body>> {
    if request.method() != Method::POST {
        return Some(refuse(request, StatusCode::METHOD_NOT_ALLOWED, "calls are made by POST"));
    }
    if request.headers().get(CONTENT_TYPE).is_some_and(|value| is_of_call(value.as_bytes())) {
        return None;
    }
    Some(refuse(request, StatusCode::UNSUPPORTED_MEDIA_TYPE, "calls have the content type application/grpc"))
}

fn refuse<B>(request: &Request<B>, status: StatusCode, why: &str) -> Response<Body> {
    let _entered = log::span(request.uri().path()).entered();
    tracing::info!(status = status.as_u16(), "a request was refused: {why}");
    // An answer to HEAD has no body.
    let body =
        if request.method() == Method::HEAD { Body::empty() } else { Body::new(format!("This is a gRPC server: {why}.\n")) };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

/// Keeps requests that are calls neither of gRPC nor of gRPC-Web from a service that takes both.
#[derive(Clone)]
pub struct OnlyCalls<S>(pub S);

impl<S> Service<Request<Body>> for OnlyCalls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response<Body>, Infallible>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match refusal_unless(&request, is_grpc_or_web) {
            Some(refusal) => Either::Left(ready(Ok(refusal))),
            None => Either::Right(self.0.call(request)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_content_types() {
        for (content_type, of_grpc, of_either) in [
            ("application/grpc", true, true),
            ("application/grpc+proto", true, true),
            ("application/grpc;charset=utf-8", true, true),
            ("application/grpc-web", false, true),
            ("application/grpc-web-text+proto", false, true),
            ("application/grpcs", false, true),
            ("application/grp", false, false),
            ("text/plain", false, false),
            ("text/plain;application/grpc", false, false),
            ("", false, false),
        ] {
            let bytes = content_type.as_bytes();
            assert_eq!((is_grpc(bytes), is_grpc_or_web(bytes)), (of_grpc, of_either), "{content_type:?}");
        }
    }
}
