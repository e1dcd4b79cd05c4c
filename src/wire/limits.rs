//! How large the requests of a method may be. tonic limits a whole service, so that a service of which some methods take more is
//! there twice.

use http::Request;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// A service with the limit of most methods, and the same with that of a few.
#[derive(Debug, Clone)]
pub struct ByMethod<S> {
    /// For most methods.
    pub usual: S,
    /// For those in `large_methods`.
    pub large: S,
    /// Names of methods, as the path of a call ends.
    pub large_methods: &'static [&'static str],
}

impl<S> ByMethod<S> {
    fn takes_large(&self, path: &str) -> bool {
        path.rsplit_once('/').is_some_and(|(_, method)| self.large_methods.contains(&method))
    }
}

impl<S: NamedService> NamedService for ByMethod<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<Request<Body>>> Service<Request<Body>> for ByMethod<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self.usual.poll_ready(context) {
            Poll::Ready(Ok(())) => self.large.poll_ready(context),
            other => other,
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if self.takes_large(request.uri().path()) { self.large.call(request) } else { self.usual.call(request) }
    }
}
