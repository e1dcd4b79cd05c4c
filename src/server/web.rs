//! What browsers need: leave for the pages of other origins. And what they are told where they are not served.

use crate::server::settings::WebSettings;
use crate::server::stall::Pieces;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use tonic::body::Body;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Headers that pages may send.
const ALLOWED: [HeaderName; 8] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    HeaderName::from_static("x-grpc-web"),
    HeaderName::from_static("x-user-agent"),
    HeaderName::from_static("grpc-timeout"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
];

/// Headers that pages may read: how a call ended, where that is told before an answer.
const EXPOSED: [HeaderName; 3] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
];

/// Tells browsers which pages may call.
pub fn cors(settings: &WebSettings) -> CorsLayer {
    let origins = if settings.allow_origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(settings.allow_origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::POST])
        .allow_headers(ALLOWED)
        .expose_headers(EXPOSED)
        .max_age(settings.max_age)
}

/// The answer to HTTP/1 where gRPC-Web is off.
pub fn is_off() -> Response<Pieces<Body>> {
    let text = "This is a gRPC server: it speaks HTTP/2. For browsers, turn gRPC-Web on: web.enabled = true.\n";
    let mut response = Response::new(Pieces::of(Body::new(text.to_owned())));
    *response.status_mut() = StatusCode::UPGRADE_REQUIRED;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/2.0"));
    response
}
