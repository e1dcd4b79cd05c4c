//! A server whose threads are going: what is to be computed there is not, and its caller is told to ask another.

use crate::app::refusal;
use http::{Request, Response};
use mancala::server::{self, Api, Settings};
use mancala::service::Compute;
use mancala::wire::access::Access;
use mancala::wire::proto::rules_service_client::RulesServiceClient;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use mancala::wire::{RulesHandlers, rules_service};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tonic::Code;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// A service that is carried out in another runtime than the connections'. In its own it would not outlive it.
#[derive(Clone)]
struct Elsewhere<S> {
    service: S,
    runtime: Handle,
}

impl<S: NamedService> NamedService for Elsewhere<S> {
    const NAME: &'static str = S::NAME;
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<S> Service<Request<Body>> for Elsewhere<S>
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
        let (mut answer, runtime) = (self.service.call(request), self.runtime.clone());
        Box::pin(poll_fn(move |context| {
            let _there = runtime.enter();
            answer.as_mut().poll(context)
        }))
    }
}

#[tokio::test]
async fn what_no_thread_computes_any_more_is_told_to_ask_again() {
    let going = Builder::new_current_thread().build().expect("a runtime");
    let runtime = going.handle().clone();
    going.shutdown_background();
    let service = Elsewhere { service: rules_service(RulesHandlers::new(Compute::new(1))), runtime };
    let api = Api::new(FILE_DESCRIPTOR_SET, Access::open()).with(service);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let ((_ready, is_ready), (stopping, _)) = (watch::channel(true), watch::channel(false));
    tokio::spawn(server::serve(listener, api, Settings::default(), is_ready, stopping, std::future::pending()));
    let mut rules = RulesServiceClient::connect(format!("http://{address}")).await.expect("a connection");
    let steps = proto::StepPositionsRequest { game: "gore".to_owned(), ..Default::default() };
    // That it bears when to come again is seen to by whoever reads any refusal.
    let refused = refusal(rules.step_positions(steps).await);
    assert_eq!((refused.code, refused.reason.as_str(), refused.facts.len()), (Code::Unavailable, "STOPPING", 0));
}
