//! One service with two limits for the size of requests: batches and records are large, and nothing else needs to be.

use http::{Request, Response};
use std::convert::Infallible;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// A service, twice: with the limit of most of its methods, and with that of the others.
#[derive(Debug, Clone)]
pub struct BySize<S> {
    /// For requests on one session.
    pub small: S,
    /// For methods whose names begin with Batch or Import.
    pub large: S,
}

impl<S: NamedService> NamedService for BySize<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for BySize<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Generated services are always ready; this asks both all the same.
        match self.small.poll_ready(context) {
            Poll::Ready(Ok(())) => self.large.poll_ready(context),
            other => other,
        }
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        if method.starts_with("Batch") || method.starts_with("Import") {
            self.large.call(request)
        } else {
            self.small.call(request)
        }
    }
}
