//! Callers are recognised here, before anything of a call is read; handlers find who it is in the request's extensions.

use crate::wire::access::Access;
use http::{Request, Response};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::Service;

/// Refuses calls that nobody of the caller's kind may make.
#[derive(Clone)]
pub struct GateLayer {
    access: Access,
}

impl GateLayer {
    /// Callers are recognised by `access`.
    pub fn new(access: Access) -> Self {
        Self { access }
    }
}

impl<S> tower::Layer<S> for GateLayer {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner, access: self.access.clone() }
    }
}

/// See [`GateLayer`].
#[derive(Clone)]
pub struct Gate<S> {
    inner: S,
    access: Access,
}

impl<S> Service<Request<Body>> for Gate<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let access = self.access.clone();
        // The one that said it was ready is the one to be called.
        let ready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, ready);
        Box::pin(async move {
            let certificate = request.extensions().get().copied();
            match access.admit(request.uri().path(), request.headers(), certificate).await {
                Ok(caller) => {
                    request.extensions_mut().insert(caller);
                    inner.call(request).await
                }
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}
