//! Callers are recognised and counted here, before anything of a call is read; handlers find who it is in the request's extensions.

use super::measure::CallMetrics;
use super::peer::Proxies;
use super::rates::{Limited, RateLimits, network};
use crate::wire::Origin;
use crate::wire::access::{Access, Caller, OperatorCertificate};
use http::Request;
use std::net::IpAddr;
use std::sync::Arc;
use tonic::body::Body;
use tonic::{Code, Status};

/// Calls that go on after they were let in, and in which more is counted.
const STREAMS: [&str; 2] = ["/mancala.v1.SessionService/Play", "/mancala.v1.SessionService/WatchSession"];

/// Refuses calls that nobody of the caller's kind may make, and those that come too fast.
pub struct Gate {
    /// Recognises callers.
    pub access: Access,
    /// Counts their calls.
    pub rates: RateLimits,
    /// Says where they are.
    pub proxies: Proxies,
    /// Counts those that are refused for their number.
    pub metrics: CallMetrics,
}

impl Gate {
    /// Lets a call in, with its caller in its extensions.
    pub async fn admit(&self, request: &mut Request<Body>) -> Result<(), Status> {
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
