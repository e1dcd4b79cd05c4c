//! What browsers need: gRPC-Web, and leave for the pages of other origins.

use crate::server::stall::Pieces;
use http::{Response, StatusCode, header};
use tonic::body::Body;

/// The answer to HTTP/1 where gRPC-Web is off.
pub fn is_off() -> Response<Pieces> {
    let text = "This is a gRPC server: it speaks HTTP/2. For browsers, turn gRPC-Web on: web.enabled = true.\n";
    let mut response = Response::new(Pieces::of(Body::new(text.to_owned())));
    *response.status_mut() = StatusCode::UPGRADE_REQUIRED;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(header::UPGRADE, header::HeaderValue::from_static("HTTP/2.0"));
    response
}
