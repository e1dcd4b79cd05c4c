//! The health protocol of gRPC (`grpc.health.v1`): one state for the whole server and each of its services.

use std::pin::Pin;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{self, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Whether calls are welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serving {
    /// They are.
    Yes,
    /// Not now.
    No,
    /// Not again: the server is stopping, and watches end so that it need not wait for them.
    Ended,
}

impl Serving {
    /// While the server is not stopping, by whether it is ready.
    pub fn when(ready: bool) -> Self {
        if ready { Self::Yes } else { Self::No }
    }

    fn status(self) -> ServingStatus {
        match self {
            Self::Yes => ServingStatus::Serving,
            Self::No | Self::Ended => ServingStatus::NotServing,
        }
    }
}

/// The health service.
///
/// tonic's own keeps a state for each service, set by a task of its own, answers Watch for an unknown service with an
/// error where the protocol wants SERVICE_UNKNOWN, and never ends a Watch.
#[derive(Debug)]
pub struct Health {
    names: Vec<&'static str>,
    serving: watch::Receiver<Serving>,
}

impl Health {
    /// The service for the server as a whole (the empty name) and the services of these names, and what sets its state.
    pub fn new(names: &[&'static str]) -> (watch::Sender<Serving>, HealthServer<Self>) {
        let (sender, serving) = watch::channel(Serving::No);
        (sender, HealthServer::new(Self { names: names.to_vec(), serving }))
    }

    fn knows(&self, service: &str) -> bool {
        service.is_empty() || self.names.contains(&service)
    }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        if !self.knows(&request.get_ref().service) {
            return Err(Status::not_found("there is no service of that name"));
        }
        let status = self.serving.borrow().status();
        Ok(Response::new(answer(status)))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let known = self.knows(&request.get_ref().service);
        let states = WatchStream::new(self.serving.clone());
        Ok(Response::new(Box::pin(states.map_while(move |state| match state {
            Serving::Ended => None,
            Serving::Yes | Serving::No if !known => Some(Ok(answer(ServingStatus::ServiceUnknown))),
            Serving::Yes | Serving::No => Some(Ok(answer(state.status()))),
        }))))
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
