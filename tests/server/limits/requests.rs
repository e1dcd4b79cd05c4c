//! Requests of HTTP/2 that are no calls are refused before anything is done for them, so that no page of another origin has a
//! browser act for it; and calls whose messages can't be read are told which can.

use super::running::{Given, Running, start};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode};
use mancala::server::WebSettings;
use mancala::wire::proto;
use prost::Message;
use std::time::Duration;
use tonic::Code;

const CREATE: &str = "/mancala.v1.SessionService/CreateSession";

/// Content types that browsers send without asking, and others that calls don't have.
const FOREIGN: [&str; 9] = [
    "text/plain",
    "text/html",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
    "text/plain;application/grpc",
    "application/json",
    "application/grp",
    "application/grpcs",
    "",
];
const PAGE: &str = "https://play.example";

/// A server that takes gRPC-Web, too, from one origin.
async fn with_web() -> Running {
    let web = WebSettings { allow_origins: vec![PAGE.to_owned()], max_age: Duration::from_secs(60) };
    start(Given { web: Some(web), ..Given::default() }).await
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Sends what would make a session if it were a call.
async fn create(server: &Running, method: Method, content_type: Option<&str>) -> Answer {
    let message = proto::CreateSessionRequest { game: "gore".to_owned(), ..Default::default() }.encode_to_vec();
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(&message);
    let mut request = Request::builder().method(method).uri(format!("http://server{CREATE}")).header("origin", PAGE);
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    let (parts, body, _) = server.raw.send(request, framed.freeze()).await;
    Answer { status: parts.status, headers: parts.headers, body }
}

async fn sessions(server: &Running) -> usize {
    let answer = server.raw.call("/mancala.v1.SessionService/ListSessions", &[], &proto::ListSessionsRequest::default()).await;
    proto::ListSessionsResponse::decode(answer.messages[0].clone()).expect("an answer").sessions.len()
}

#[tokio::test]
async fn what_has_not_the_content_type_of_a_call_is_none() {
    for server in [start(Given::default()).await, with_web().await] {
        for content_type in FOREIGN.map(Some).into_iter().chain([None]) {
            let answer = create(&server, Method::POST, content_type).await;
            assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{content_type:?}");
            assert!(!answer.headers.contains_key("grpc-status"), "{content_type:?}: {:?}", answer.headers);
            assert_eq!(answer.body, "This is a gRPC server: calls have the content type application/grpc.\n");
        }
        assert_eq!(sessions(&server).await, 0);
        assert_eq!(server.metric("mancala_calls_total{method=\"mancala.v1.SessionService/CreateSession\",code=\"OK\"}"), None);
        for (count, content_type) in ["application/grpc", "application/grpc+proto", "application/grpc;a=b"].iter().enumerate() {
            let answer = create(&server, Method::POST, Some(content_type)).await;
            assert_eq!(
                (answer.status, &answer.headers["content-type"]),
                (StatusCode::OK, &"application/grpc".parse().expect("a value"))
            );
            assert_eq!(sessions(&server).await, count + 1, "{content_type}");
        }
    }
}

#[tokio::test]
async fn what_is_not_posted_is_no_call() {
    for (web, server) in [(false, start(Given::default()).await), (true, with_web().await)] {
        for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
            for content_type in [Some("text/html"), Some("application/grpc"), Some("application/grpc-web"), None] {
                let answer = create(&server, method.clone(), content_type).await;
                if web && method == Method::OPTIONS {
                    // A browser asks what it may.
                    assert_eq!(answer.status, StatusCode::OK);
                    assert_eq!(answer.headers["access-control-allow-methods"], "POST");
                    continue;
                }
                assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {content_type:?}");
                assert_eq!(answer.headers["allow"], "POST", "{method} {content_type:?}");
                assert_eq!(answer.body.is_empty(), method == Method::HEAD, "{method} {content_type:?}");
            }
        }
        assert_eq!(sessions(&server).await, 0);
    }
}

#[tokio::test]
async fn what_is_of_grpc_web_is_a_call_where_that_is_spoken() {
    let kinds = ["application/grpc-web", "application/grpc-web+proto"];
    let server = start(Given::default()).await;
    for kind in kinds {
        assert_eq!(create(&server, Method::POST, Some(kind)).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
    }
    assert_eq!(sessions(&server).await, 0);
    let server = with_web().await;
    for kind in kinds {
        let answer = create(&server, Method::POST, Some(kind)).await;
        assert_eq!(
            (answer.status, &answer.headers["access-control-allow-origin"]),
            (StatusCode::OK, &PAGE.parse().expect("a value"))
        );
        assert!(answer.body.ends_with(b"grpc-status:0\r\n"), "{kind}: {:?}", answer.body);
    }
    assert_eq!(sessions(&server).await, 2);
    // Not one of its forms.
    assert_eq!(create(&server, Method::POST, Some("application/grpc-web+json")).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(sessions(&server).await, 2);
}

#[tokio::test]
async fn who_compresses_is_told_what_the_server_reads() {
    let server = start(Given::default()).await;
    let request = proto::GetSessionRequest::default();
    for method in ["GetSession", "Play"] {
        let path = format!("/mancala.v1.SessionService/{method}");
        let answer = server.raw.call(&path, &[("grpc-encoding", "gzip")], &request).await;
        let refused = answer.refused();
        assert_eq!((refused.code, refused.reason.as_str()), (Code::Unimplemented, "COMPRESSION_UNKNOWN"), "{method}");
        assert_eq!(answer.headers["grpc-accept-encoding"], "identity", "{method}");
    }
    let answer = server.raw.call("/mancala.v1.SessionService/GetSession", &[("grpc-encoding", "identity")], &request).await;
    assert_eq!(answer.refused().reason, "INVALID_REQUEST");
}
