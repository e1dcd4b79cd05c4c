//! The services that a server offers.

use super::layers::Limits;
use super::measure::CallMetrics;
use super::services::{Answer, Services};
use crate::wire::access::Access;
use http::{Request, Response};
use std::convert::Infallible;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// gRPC services, their names, their descriptors and who may call them, kept together so that health and reflection can't differ
/// from what is served, and nothing is served that everybody may call by mistake.
#[derive(Clone)]
pub struct Api {
    pub(super) services: Services,
    pub(super) names: Vec<&'static str>,
    pub(super) descriptors: &'static [u8],
    pub(super) access: Access,
    pub(super) limits: Limits,
    pub(super) metrics: CallMetrics,
}

impl Api {
    /// No services yet, no limits, and counters that nobody sees; `descriptors` is the encoded `FileDescriptorSet` that describes
    /// the services to come, and `access` says who may call them.
    pub fn new(descriptors: &'static [u8], access: Access) -> Self {
        let (limits, metrics) = (Limits::default(), CallMetrics::default());
        Self { services: Services::default(), names: Vec::new(), descriptors, access, limits, metrics }
    }

    /// Limits callers.
    pub fn limited(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Counts calls in these counters.
    pub fn counted(mut self, metrics: CallMetrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Adds a service: one of the generated `...Server` types.
    pub fn with<S>(mut self, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answer> + NamedService,
        S: Clone + Send + Sync + 'static,
    {
        self.services = self.services.with(service);
        self.names.push(S::NAME);
        self
    }
}
