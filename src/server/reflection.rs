//! Reflection, by which tools such as grpcurl learn the services without proto files.

use super::STREAMS_END;
use super::services::{Answer, Services};
use futures_util::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyStream, StreamBody};
use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::server::{Builder, Error, v1, v1alpha};

/// Adds reflection to services: of the services of these names, of health, and of reflection itself.
///
/// Both versions are served, as grpcurl before 1.9 knows v1alpha alone. The descriptors of `google.rpc` are among those that
/// can be asked for, since without them a tool can't show the details of an error. Conversations end a while after `stopping` has become
/// true.
pub fn add(
    services: Services,
    names: &[&'static str],
    descriptors: &[u8],
    stopping: watch::Receiver<bool>,
) -> Result<Services, Error> {
    let configure = || {
        let builder = Builder::configure()
            .register_encoded_file_descriptor_set(descriptors)
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET);
        let own = [V1::NAME, V1Alpha::NAME, Health::NAME];
        names.iter().copied().chain(own).fold(builder, |builder, name| builder.with_service_name(name))
    };
    let v1 = UntilStop { service: configure().build_v1()?, stopping: stopping.clone() };
    let v1alpha = UntilStop { service: configure().build_v1alpha()?, stopping };
    Ok(services.with(v1).with(v1alpha))
}

// A service's name hangs on its server type, whatever implements it.
type V1 = v1::ServerReflectionServer<()>;
type V1Alpha = v1alpha::ServerReflectionServer<()>;
type Health = HealthServer<()>;

/// Reflection outlasts other streams by so much: whoever is told by them that the server stops may ask it what the details of that mean, as
/// grpcurl does.
const LINGER: Duration = STREAMS_END.saturating_add(Duration::from_millis(500));

/// A service to which the callers' side of each call ends a while after the server has begun to stop, so that it ends its own.
#[derive(Clone)]
struct UntilStop<S> {
    service: S,
    stopping: watch::Receiver<bool>,
}

impl<S: NamedService> NamedService for UntilStop<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for UntilStop<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answer>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let mut stopping = self.stopping.clone();
        let stop = async move {
            // Whoever would tell is gone only when the server has stopped.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(LINGER).await;
        };
        self.service.call(request.map(|body| Body::new(StreamBody::new(BodyStream::new(body).take_until(stop)))))
    }
}
