//! A port beside the service's own for those who watch over it: metrics, and whether the process lives and can serve. Plain HTTP/1.1.

use super::metrics::Metrics;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::prometheus_text::CONTENT_TYPE;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at a time. Those beyond them are closed at once: a port for a handful of clients must not cost the service anything.
const CONNECTIONS: usize = 32;
/// What a connection has for its request and the answer.
const TIME: Duration = Duration::from_secs(5);
/// The longest request that is read, in bytes.
const MAX_REQUEST: usize = 8 << 10;
/// Pause after a failed accept. Without it a full file table keeps a core busy with failing.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(50);

/// Answers on `listener` without end: `/metrics`, `/livez`, and `/readyz` by what `ready` says.
pub async fn monitor(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    ready: impl Fn() -> bool + Clone + Send + 'static,
) -> Infallible {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "a connection to the metrics could not be accepted");
                tokio::time::sleep(ACCEPT_BACK_OFF).await;
                continue;
            }
        };
        let Ok(place) = room.clone().try_acquire_owned() else { continue };
        let (metrics, ready) = (metrics.clone(), ready.clone());
        tokio::spawn(async move {
            let _place = place;
            // A peer that is slow or leaves is its own affair.
            let _ = timeout(TIME, converse(socket, metrics, ready)).await;
        });
    }
}

/// Answers one request.
async fn converse(
    socket: TcpStream,
    metrics: Arc<Metrics>,
    ready: impl Fn() -> bool + Clone + Send + 'static,
) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), &metrics, ready());
        async { Ok::<_, Infallible>(answer) }
    });
    http1::Builder::new().keep_alive(false).max_buf_size(MAX_REQUEST).serve_connection(TokioIo::new(socket), service).await
}

fn answer(method: &Method, path: &str, metrics: &Metrics, ready: bool) -> Response<Full<Bytes>> {
    let text = |status, text: &str| respond(status, "text/plain; charset=utf-8", format!("{text}\n"));
    if ![Method::GET, Method::HEAD].contains(method) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET");
        refused.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match path {
        "/metrics" => respond(StatusCode::OK, CONTENT_TYPE, metrics.text()),
        "/livez" => text(StatusCode::OK, "ok"),
        "/readyz" if ready => text(StatusCode::OK, "ok"),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, "not ready: the store can't be written, or the server is stopping"),
        _ => text(StatusCode::NOT_FOUND, "there are /metrics, /livez and /readyz"),
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}
