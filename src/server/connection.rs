//! One connection from its acceptance to its end.

use crate::server::breach::{PENANCE, is_breach};
use crate::server::counts::{Counts, Present};
use crate::server::first_bytes::{self, Protocol};
use crate::server::settings::ConnectionSettings;
use crate::server::socket::{Socket, Stream};
use crate::server::stall::{Pieces, Streams};
use crate::server::tls::Tls;
use crate::server::turn::{Turn, in_turn};
use crate::server::web;
use crate::wire::access::OperatorCertificate;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_util::either::Either;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::server::TcpConnectInfo;
use tower::Service;

/// The largest list of request headers (gRPC metadata) that is read, in bytes.
const MAX_HEADERS: usize = 16 * 1024;
/// What is kept of a stream's answer for a peer that is slow to take it, in bytes.
const MAX_SEND_BUFFER: usize = 32 * 1024;
/// What is read of a request of HTTP/1, or kept of its answer, before it is looked at or taken, in bytes.
const HTTP1_BUFFER: usize = 64 * 1024;
/// Streams that a peer reset before they were looked at, at most; more end the connection.
const MAX_RESET_UNSEEN: usize = 20;
/// Streams that were reset for the peer's faults, at most; more end the connection.
const MAX_RESET_FAULTY: usize = 1024;

/// How far a server has got with stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not at all.
    Serving,
    /// Connections finish the calls that are in flight.
    Leaving,
    /// Connections are closed.
    Over,
}

/// What all connections of a server share.
pub struct Host<S> {
    /// What answers calls.
    pub service: S,
    /// Whether that takes HTTP/1.
    pub web: bool,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
    /// What is asked of connections.
    pub settings: ConnectionSettings,
    /// Where connections are counted.
    pub counts: Arc<Counts>,
}

/// Serves one connection to its end.
pub async fn serve<S, B>(host: Arc<Host<S>>, stream: TcpStream, peer: SocketAddr, mut phase: watch::Receiver<Phase>)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes, Error = Status> + Send + Unpin + 'static,
{
    let _open = Present::new(&host.counts, |counts| &counts.open);
    let info = TcpConnectInfo { local_addr: stream.local_addr().ok(), remote_addr: Some(peer) };
    let opened = tokio::select! {
        opened = tokio::time::timeout(host.settings.header_timeout, open(stream, host.tls.as_ref(), &host.counts)) => opened,
        () = at(&mut phase, Phase::Leaving) => return,
    };
    let opened = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "a connection failed before its first request"),
        Err(_elapsed) => {
            host.counts.silent.up();
            return tracing::debug!(%peer, "a connection was closed: its first bytes did not come in time");
        }
    };
    let Opened { stream, operator, protocol, first } = opened;
    let io = TokioIo::new(Socket::new(stream, protocol, first, &host.settings, host.counts.clone()));
    let shared = host.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(info.clone());
        if let Some(operator) = &operator {
            request.extensions_mut().insert(operator.clone());
        }
        // It is ready at any time, as all are that can be put here.
        let answer = shared.service.clone().call(request);
        async move { answer.await.map(|response| response.map(Pieces::of)) }
    });
    match protocol {
        Protocol::Http2 => {
            let turn = Turn::default();
            let (patience, counts) = (host.settings.stall_timeout, host.counts.clone());
            let streams = Streams { patience, counts, turn: turn.clone() };
            let connection = http2(streams, &host.settings).serve_connection(io, service);
            in_turn(&turn, drive(connection, &host, phase)).await;
        }
        Protocol::Http1 if host.web => drive(http1(&host.settings).serve_connection(io, service), &host, phase).await,
        Protocol::Http1 => {
            let refusal = hyper::service::service_fn(async |_| Ok::<_, Infallible>(web::is_off()));
            drive(http1(&host.settings).serve_connection(io, refusal), &host, phase).await;
        }
    }
}

/// A connection that has said what it speaks.
struct Opened {
    stream: Stream,
    operator: Option<OperatorCertificate>,
    protocol: Protocol,
    first: Bytes,
}

async fn open(stream: TcpStream, tls: Option<&Tls>, counts: &Counts) -> io::Result<Opened> {
    let (mut stream, operator): (Stream, _) = match tls {
        None => (Either::Left(stream), None),
        Some(tls) => {
            let stream = tls.handshake(stream).await.inspect_err(|_| counts.tls_failures.up())?;
            let operator = tls.operator(&stream);
            (Either::Right(Box::new(stream)), operator)
        }
    };
    let (protocol, first) = first_bytes::read(&mut stream).await?;
    Ok(Opened { stream, operator, protocol, first })
}

fn http1(settings: &ConnectionSettings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_timeout)
        .max_header_size(MAX_HEADERS)
        .max_buf_size(HTTP1_BUFFER);
    builder
}

fn http2(streams: Streams, settings: &ConnectionSettings) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams);
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(settings.keepalive_interval)
        .keep_alive_timeout(settings.keepalive_timeout)
        .max_header_list_size(MAX_HEADERS as u32)
        .max_concurrent_streams(settings.max_streams)
        .max_send_buf_size(MAX_SEND_BUFFER)
        .max_pending_accept_reset_streams(MAX_RESET_UNSEEN)
        .max_local_error_reset_streams(MAX_RESET_FAULTY);
    builder
}

/// Serves until the peer leaves, the connection is too old or the server stops; then finishes what is in flight. Whoever breaks the
/// protocol is held for a while.
async fn drive<C, S>(connection: C, host: &Host<S>, mut phase: watch::Receiver<Phase>)
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let mut connection = pin!(connection);
    let Err(error) = finish(connection.as_mut(), host, &mut phase).await else { return };
    tracing::debug!(%error, "a connection ended");
    if is_breach(&error) {
        host.counts.breaches.up();
        let _ = tokio::time::timeout(PENANCE, at(&mut phase, Phase::Leaving)).await;
    }
}

async fn finish<C, S>(mut connection: Pin<&mut C>, host: &Host<S>, phase: &mut watch::Receiver<Phase>) -> Result<(), hyper::Error>
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let aged = tokio::select! {
        result = &mut connection => return result,
        () = old(host.settings.connection_age) => true,
        () = at(phase, Phase::Leaving) => false,
    };
    connection.as_mut().graceful_shutdown();
    let grace = async {
        if aged {
            host.counts.aged.up();
            tokio::time::sleep(host.settings.connection_grace).await;
        } else {
            std::future::pending().await
        }
    };
    tokio::select! {
        result = &mut connection => result,
        () = grace => Ok(()),
        () = at(phase, Phase::Over) => Ok(()),
    }
}

/// Completes at this age, a tenth more or less; never if it is zero.
async fn old(age: Duration) {
    if age.is_zero() {
        return std::future::pending().await;
    }
    // Without chance every connection is as old as the setting says, and no harm is done.
    let chance = getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX));
    tokio::time::sleep(age.mul_f64(0.9 + 0.2 * chance)).await;
}

/// Completes when a stop has got so far.
async fn at(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // An error means that the server is gone.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}
