//! What the bare servers share: a service under the name of SessionService, and how it is served.

use std::error::Error;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The service whose methods bare servers answer.
pub const SESSION_SERVICE: &str = "mancala.v1.SessionService";

/// Serves on a free port until it is killed, and prints `listening on ADDRESS`.
pub fn serve<S>(runtime: &Runtime, service: S) -> Result<(), Box<dyn Error>>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = std::convert::Infallible> + NamedService,
    S: Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on {}", listener.local_addr()?);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder().add_service(service).serve_with_incoming(incoming).await?;
        Ok(())
    })
}
