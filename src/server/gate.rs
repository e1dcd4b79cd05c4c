//! Callers are recognised and counted here, before anything of a call is read; handlers find who it is in the request's extensions.

use super::measure::CallMetrics;
use super::peer::Proxies;
use super::rates::{Limited, RateLimits, network};
use crate::wire::Origin;
use crate::wire::access::{Access, Caller, OperatorCertificate};
use http::{Request, Response};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::{Code, Status};

/// Calls that go on after they were let in, and in which more is counted.
const STREAMS: [&str; 2] = ["/mancala.v1.SessionService/Play", "/mancala.v1.SessionService/WatchSession"];

/// Refuses calls that nobody of the caller's kind may make, and those that come too fast.
#[derive(Clone)]
pub struct Gate<S> {
    inner: S,
    keeper: Arc<Keeper>,
}

/// What a gate knows.
pub struct Keeper {
    /// Recognises callers.
    pub access: Access,
    /// Counts their calls.
    pub rates: RateLimits,
    /// Says where they are.
    pub proxies: Proxies,
    /// Counts those that are refused for their number.
    pub metrics: CallMetrics,
}

impl<S> Gate<S> {
    /// In front of `inner`.
    pub fn new(inner: S, keeper: Keeper) -> Self {
        Self { inner, keeper: Arc::new(keeper) }
    }
}

impl Keeper {
    /// Lets a call in, with its caller in its extensions.
    async fn admit(&self, request: &mut Request<Body>) -> Result<(), Status> {
        let address = self.proxies.caller_of(request);
        let path = request.uri().path();
        let certificate = request.extensions().get::<OperatorCertificate>();
        let caller = match self.access.admit(path, request.headers(), certificate).await {
            Ok(caller) => caller,
            Err(refused) if refused.code() == Code::Unauthenticated => {
                // Nor are tokens to be tried out without end.
                self.rates.count_stranger(address).map_err(|limited| self.limited(limited))?;
                return Err(refused);
            }
            Err(refused) => return Err(refused),
        };
        self.rates.count(path, &caller, address).map_err(|limited| self.limited(limited))?;
        if let Some(operator) = caller.operator() {
            tracing::Span::current().record("operator", operator);
        }
        if STREAMS.contains(&path) {
            let origin = self.origin(caller.clone(), address);
            request.extensions_mut().insert(origin);
        }
        request.extensions_mut().insert(caller);
        Ok(())
    }

    /// What a stream is told of its caller.
    fn origin(&self, caller: Caller, address: Option<IpAddr>) -> Origin {
        let (rates, metrics) = (self.rates.clone(), self.metrics.clone());
        let meter = move |path: &str| {
            rates.count(path, &caller, address).map_err(|Limited { kind, status }| {
                metrics.limited(kind);
                status
            })
        };
        Origin { meter: Arc::new(meter), address: address.map(network) }
    }

    fn limited(&self, Limited { kind, status }: Limited) -> Status {
        self.metrics.limited(kind);
        status
    }
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
        let keeper = self.keeper.clone();
        // The one that said it was ready is the one to be called.
        let ready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, ready);
        Box::pin(async move {
            match keeper.admit(&mut request).await {
                Ok(()) => inner.call(request).await,
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}
