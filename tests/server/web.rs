//! gRPC-Web over HTTP/1.1, by hand as a browser sends it, and what browsers are told of other origins.

use crate::listening::{Listening, PATIENCE, check, closed, start};
use base64::prelude::{BASE64_STANDARD, Engine};
use mancala::server::WebSettings;
use mancala::wire::proto;
use prost::Message;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic_health::pb::HealthCheckResponse;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_types::{ErrorDetails, StatusExt};

const PAGE: &str = "https://play.example";
const GET_GAME: &str = "/mancala.v1.RulesService/GetGame";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

async fn with_web(origins: &[&str]) -> Listening {
    let allow_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    start(|settings| settings.web = Some(WebSettings { allow_origins, max_age: Duration::from_secs(60) })).await
}

/// A message with its length before it.
fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), &bytes].concat()
}

/// Sends a request; the connection is to be closed after the answer.
async fn send(server: &Listening, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut peer = server.peer().await;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    peer.write_all(&[head.as_bytes(), body].concat()).await.expect("a request");
    peer
}

struct Answer {
    status: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    async fn of(mut peer: TcpStream) -> Answer {
        let said = closed(&mut peer).await;
        let end = said.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("an end of headers");
        let head = String::from_utf8(said[..end].to_vec()).expect("text");
        let mut lines = head.lines();
        let status = lines.next().expect("a line").to_owned();
        let headers: BTreeMap<_, _> = lines
            .map(|line| line.split_once(": ").expect("a header"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let rest = &said[end + 4..];
        let body =
            if headers.get("transfer-encoding").is_some_and(|how| how == "chunked") { unchunked(rest) } else { rest.to_vec() };
        Answer { status, headers, body }
    }

    /// Messages, and the trailers that follow them.
    fn parts(&self, is_text: bool) -> (Vec<Vec<u8>>, String) {
        let mut rest = if is_text { from_text(&self.body) } else { self.body.clone() };
        let (mut messages, mut trailers) = (Vec::new(), String::new());
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[1..5].try_into().expect("four bytes")) as usize;
            let payload = rest[5..5 + length].to_vec();
            match rest[0] {
                0 => messages.push(payload),
                0x80 => trailers.push_str(std::str::from_utf8(&payload).expect("text")),
                flags => panic!("{flags}"),
            }
            rest.drain(..5 + length);
        }
        (messages, trailers)
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while !rest.is_empty() {
        let line = rest.windows(2).position(|bytes| bytes == b"\r\n").expect("a length");
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).expect("text"), 16).expect("a length");
        body.extend(&rest[line + 2..][..length]);
        rest = &rest[line + 2 + length + 2..];
    }
    body
}

/// Of text that may be several ones, each of its own.
fn from_text(text: &[u8]) -> Vec<u8> {
    text.chunks(4).flat_map(|four| BASE64_STANDARD.decode(four).expect("base64")).collect()
}

#[tokio::test]
async fn a_unary_call_in_binary_and_in_text() {
    let server = with_web(&[PAGE]).await;
    let request = framed(&proto::GetGameRequest { game: "gore".to_owned() });
    for is_text in [false, true] {
        let kind = if is_text { "application/grpc-web-text" } else { "application/grpc-web+proto" };
        let body = if is_text { BASE64_STANDARD.encode(&request).into_bytes() } else { request.clone() };
        let headers = [("content-type", kind), ("accept", kind), ("x-grpc-web", "1"), ("origin", PAGE)];
        let answer = Answer::of(send(&server, "POST", GET_GAME, &headers, &body).await).await;
        assert_eq!(answer.status, "HTTP/1.1 200 OK");
        assert!(answer.headers["content-type"].starts_with(kind.trim_end_matches("+proto")), "{:?}", answer.headers);
        assert_eq!(answer.headers["access-control-allow-origin"], PAGE);
        assert_eq!(answer.headers["access-control-expose-headers"], "grpc-status,grpc-message,grpc-status-details-bin");
        let (messages, trailers) = answer.parts(is_text);
        let game = proto::GetGameResponse::decode(&*messages[0]).expect("a message").summary.expect("a game");
        assert_eq!((messages.len(), game.game.as_str()), (1, "gore"));
        assert_eq!(trailers.trim(), "grpc-status:0", "{trailers:?}");
    }
}

#[tokio::test]
async fn an_error_says_why() {
    let server = with_web(&[PAGE]).await;
    let request = framed(&proto::GetGameRequest { game: "chess".to_owned() });
    let headers = [("content-type", "application/grpc-web+proto"), ("origin", PAGE)];
    let answer = Answer::of(send(&server, "POST", GET_GAME, &headers, &request).await).await;
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    assert_eq!(answer.headers["grpc-status"], "5");
    assert!(answer.headers["grpc-message"].starts_with("GAME_NOT_FOUND"), "{:?}", answer.headers);
    let details = base64::prelude::BASE64_STANDARD_NO_PAD.decode(answer.headers["grpc-status-details-bin"].trim_end_matches('='));
    let status = tonic::Status::with_details(tonic::Code::NotFound, "", details.expect("base64").into());
    let details: ErrorDetails = status.get_error_details();
    assert_eq!(details.error_info().expect("a reason").reason, "GAME_NOT_FOUND");
}

#[tokio::test]
async fn a_stream_in_binary_and_in_text() {
    for is_text in [false, true] {
        let server = with_web(&[PAGE]).await;
        let kind = if is_text { "application/grpc-web-text" } else { "application/grpc-web" };
        let headers = [("content-type", kind), ("accept", kind), ("origin", PAGE)];
        let body = framed(&tonic_health::pb::HealthCheckRequest::default());
        let body = if is_text { BASE64_STANDARD.encode(&body).into_bytes() } else { body };
        let mut peer = send(&server, "POST", WATCH, &headers, &body).await;
        // The first message comes while the stream is open.
        let mut said = Vec::new();
        let message = framed(&HealthCheckResponse { status: ServingStatus::Serving.into() });
        let message = if is_text { BASE64_STANDARD.encode(&message).into_bytes() } else { message };
        let first = async {
            while !said.windows(message.len()).any(|bytes| bytes == message) {
                assert!(peer.read_buf(&mut said).await.expect("an answer") > 0, "it ended");
            }
        };
        timeout(PATIENCE, first).await.expect("a message in time");
        server.stop().await;
        said.extend(closed(&mut peer).await);
        let end = said.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("an end of headers");
        let answer = Answer { status: String::new(), headers: BTreeMap::new(), body: unchunked(&said[end + 4..]) };
        let (messages, trailers) = answer.parts(is_text);
        let states: Vec<_> =
            messages.iter().map(|message| HealthCheckResponse::decode(&**message).expect("a message").status()).collect();
        assert_eq!(states[0], ServingStatus::Serving);
        assert!(states[1..].iter().all(|state| *state == ServingStatus::NotServing), "{states:?}");
        assert_eq!(trailers.trim(), "grpc-status:0");
    }
}

/// What a browser asks before a page of this origin may call.
async fn preflight(server: &Listening, origin: &str) -> Answer {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type,grpc-timeout,traceparent,x-grpc-web,x-user-agent"),
    ];
    Answer::of(send(server, "OPTIONS", GET_GAME, &headers, b"").await).await
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call_and_others_are_not_told_that_they_may() {
    let server = with_web(&["https://other.example", PAGE]).await;
    let answer = preflight(&server, PAGE).await;
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    assert_eq!(answer.headers["access-control-allow-origin"], PAGE);
    assert_eq!(answer.headers["access-control-allow-methods"], "POST");
    assert_eq!(answer.headers["access-control-max-age"], "60");
    let allowed: Vec<_> = answer.headers["access-control-allow-headers"].split(',').collect();
    for header in ["authorization", "content-type", "x-grpc-web", "x-user-agent", "grpc-timeout", "traceparent"] {
        assert!(allowed.contains(&header), "{header}: {allowed:?}");
    }
    for foreign in ["https://play.example.evil", "http://play.example", "null"] {
        let answer = preflight(&server, foreign).await;
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{foreign}: {:?}", answer.headers);
    }
    let open = with_web(&["*"]).await;
    assert_eq!(preflight(&open, "https://anywhere.example").await.headers["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn where_it_is_off_http_1_is_told_what_to_do() {
    let server = start(|_| {}).await;
    for answer in [
        preflight(&server, PAGE).await,
        Answer::of(send(&server, "POST", GET_GAME, &[("content-type", "application/grpc-web"), ("origin", PAGE)], b"").await)
            .await,
    ] {
        assert_eq!(answer.status, "HTTP/1.1 426 Upgrade Required");
        assert!(answer.headers.keys().all(|name| !name.starts_with("access-control")), "{:?}", answer.headers);
        let text = String::from_utf8(answer.body).expect("text");
        assert!(text.contains("HTTP/2") && text.contains("web.enabled = true"), "{text}");
    }
}

#[tokio::test]
async fn grpc_goes_on_where_it_is_on() {
    let server = with_web(&[PAGE]).await;
    check(&mut server.health().await).await.expect("an answer");
    // But not over HTTP/1.
    let answer = Answer::of(send(&server, "POST", GET_GAME, &[("content-type", "application/grpc")], b"").await).await;
    assert_eq!(answer.status, "HTTP/1.1 400 Bad Request");
}

#[tokio::test]
async fn what_is_no_call_is_refused_and_pages_that_may_call_can_read_why() {
    let server = with_web(&[PAGE]).await;
    let request = framed(&proto::GetGameRequest { game: "gore".to_owned() });
    let ask = async |method: &str, headers: &[(&str, &str)]| {
        let headers = [headers, &[("origin", PAGE)]].concat();
        let answer = Answer::of(send(&server, method, GET_GAME, &headers, &request).await).await;
        assert_eq!(answer.headers["access-control-allow-origin"], PAGE, "{method}");
        answer
    };
    for headers in [&[("content-type", "text/plain")][..], &[("content-type", "application/json")], &[]] {
        let answer = ask("POST", headers).await;
        assert_eq!(answer.status, "HTTP/1.1 415 Unsupported Media Type", "{headers:?}");
        assert!(String::from_utf8_lossy(&answer.body).contains("application/grpc"), "{headers:?}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        for headers in [&[("content-type", "application/grpc-web")][..], &[]] {
            let answer = ask(method, headers).await;
            assert_eq!(answer.status, "HTTP/1.1 405 Method Not Allowed", "{method} {headers:?}");
            assert_eq!(answer.headers["allow"], "POST", "{method} {headers:?}");
        }
    }
}
