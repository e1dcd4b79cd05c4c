//! What every call goes through, from the outside in: it is one at all, observed, guarded, and let in by the gate.
//!
//! These are functions that call each other rather than services in services: so a call is one future, and not a chain of boxes. What
//! is handed to another by value stands in that future twice, so that futures which are handed on are small.

use super::api::Api;
use super::gate::Gate;
use super::guard::Guard;
use super::observe::{Call, ObservedBody};
use super::only_calls;
use super::peer::Proxies;
use super::rates::{RateLimits, Rates};
use super::room::Room;
use super::services::Services;
use super::trace;
use crate::wire::complete;
use crate::wire::deadline::TimeLimits;
use http::{Request, Response};
use ipnet::IpNet;
use std::pin::pin;
use std::sync::Arc;
use tonic::body::Body;
use tracing::instrument::Instrument;

/// What callers are limited to, beside time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls a second.
    pub rates: Rates,
    /// Most calls in flight in the whole server, until their answers begin; 0: any number.
    pub calls_in_flight: usize,
    /// Proxies that are believed about where calls come from.
    pub trusted_proxies: Vec<IpNet>,
}

/// Answers calls.
pub struct Calls {
    services: Services,
    gate: Gate,
    guard: Guard,
}

impl Calls {
    /// To the services of an interface, within these times.
    pub fn new(api: Api, times: TimeLimits) -> Calls {
        let Api { services, access, limits, metrics, .. } = api;
        let rates = RateLimits::new(limits.rates);
        let gate = Gate { access, rates, proxies: Proxies::new(limits.trusted_proxies), metrics: metrics.clone() };
        let guard = Guard { limits: times, room: Room::new(limits.calls_in_flight), metrics };
        Calls { services, gate, guard }
    }

    /// Answers one.
    pub async fn answer(self: Arc<Self>, request: Request<Body>) -> Response<ObservedBody> {
        if let Some(refusal) = only_calls::refusal(&request) {
            return refusal.map(ObservedBody::unobserved);
        }
        let call = Call::begin(request.uri().path(), self.gate.metrics.clone());
        trace::begin(&call.span, request.uri(), request.headers());
        let response = self.guarded(request, call.method()).instrument(call.span.clone()).await;
        call.answered(response)
    }

    async fn guarded(&self, mut request: Request<Body>, method: Option<&'static str>) -> Response<Body> {
        let (deadline, _place) = match self.guard.enter(&mut request) {
            Ok(entered) => entered,
            Err(refused) => return refused.into_status().into_http(),
        };
        let admitted = async {
            match self.gate.admit(&mut request).await {
                Ok(()) => self.services.answer(request).await.map(complete),
                Err(status) => Ok(complete(status.into_http())),
            }
        };
        match self.guard.keep(deadline, method, pin!(admitted)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(never)) => match never {},
            Err(refused) => refused,
        }
    }
}
