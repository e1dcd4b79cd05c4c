//! The services that calls go to, by name.

use http::{Request, Response};
use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::{Code, Status};

/// What generated services answer with.
pub type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Services by name. They are a handful, so that a look along a list finds one sooner than a router, which also would put every
/// request, its body and the answer into boxes of its own.
#[derive(Clone, Default)]
pub struct Services(Vec<(&'static str, Arc<dyn Serve>)>);

/// A service that any number of calls can use at once.
trait Serve: Send + Sync {
    fn answer(&self, request: Request<Body>) -> Answer;
}

impl<S> Serve for S
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answer> + Clone + Send + Sync,
{
    fn answer(&self, request: Request<Body>) -> Answer {
        // Generated services are ready at any time.
        self.clone().call(request)
    }
}

impl Services {
    /// Adds one.
    pub fn with<S>(mut self, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answer> + NamedService,
        S: Clone + Send + Sync + 'static,
    {
        self.0.push((S::NAME, Arc::new(service)));
        self
    }

    /// Answers a call.
    pub fn answer(&self, request: Request<Body>) -> Answer {
        let service = service_of(request.uri().path());
        match self.0.iter().find(|(name, _)| Some(*name) == service) {
            Some((_, service)) => service.answer(request),
            None => Box::pin(ready(Ok(Status::new(Code::Unimplemented, "").into_http()))),
        }
    }
}

/// The service of a path: `/SERVICE/METHOD`.
fn service_of(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.split_once('/').map(|(service, _)| service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_service() {
        for (path, service) in [
            ("/mancala.v1.SessionService/GetSession", Some("mancala.v1.SessionService")),
            ("/a/b/c", Some("a")),
            ("//b", Some("")),
            ("/a", None),
            ("/", None),
            ("a/b", None),
            ("*", None),
        ] {
            assert_eq!(service_of(path), service, "{path}");
        }
    }
}
