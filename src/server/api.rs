//! The services that a server offers.

use http::{Request, Response};
use std::convert::Infallible;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::service::Routes;

/// gRPC services, their names and their descriptors, kept together so that health and reflection can't differ from what is
/// served.
#[derive(Debug, Clone)]
pub struct Api {
    pub(super) routes: Routes,
    pub(super) names: Vec<&'static str>,
    pub(super) descriptors: &'static [u8],
}

impl Api {
    /// No services yet; `descriptors` is the encoded `FileDescriptorSet` that describes those to come.
    pub fn new(descriptors: &'static [u8]) -> Self {
        Self { routes: Routes::default(), names: Vec::new(), descriptors }
    }

    /// Adds a service: one of the generated `...Server` types.
    pub fn with<S>(mut self, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + NamedService,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        self.routes = self.routes.add_service(service);
        self.names.push(S::NAME);
        self
    }
}
