//! A client that has no deadlines, retries or opinions of its own: it sends what it is told and shows what comes back.

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use http::request::Builder;
use http::response::Parts;
use http::{HeaderMap, Request};
use prost::Message;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// A connection.
#[derive(Clone)]
pub struct Raw(SendRequest<Bytes>);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub headers: HeaderMap,
    /// Messages without their prefixes of five bytes.
    pub messages: Vec<Bytes>,
    pub trailers: HeaderMap,
}

impl Raw {
    pub async fn connect(address: SocketAddr) -> Raw {
        let socket = TcpStream::connect(address).await.expect("a connection");
        let (send, connection) = h2::client::handshake(socket).await.expect("a handshake");
        tokio::spawn(async move { connection.await.expect("the connection ends in order") });
        Raw(send)
    }

    /// Makes a call with these metadata.
    pub async fn call(&self, path: &str, metadata: &[(&str, &str)], message: &impl Message) -> Answer {
        self.call_with(path, metadata, &message.encode_to_vec()).await
    }

    /// With a message that is written already.
    pub async fn call_with(&self, path: &str, metadata: &[(&str, &str)], bytes: &[u8]) -> Answer {
        let mut framed = BytesMut::with_capacity(bytes.len() + 5);
        framed.put_u8(0);
        framed.put_u32(u32::try_from(bytes.len()).expect("a short message"));
        framed.put_slice(bytes);

        let mut request = Request::post(format!("http://server{path}"));
        request = request.header("content-type", "application/grpc").header("te", "trailers");
        for (name, value) in metadata {
            request = request.header(*name, *value);
        }
        let (parts, data, trailers) = self.send(request, framed.freeze()).await;
        Answer { headers: parts.headers, messages: messages(data), trailers }
    }

    /// Sends a request with this body, and gives what comes back.
    pub async fn send(&self, request: Builder, body: Bytes) -> (Parts, Bytes, HeaderMap) {
        let mut send = self.0.clone().ready().await.expect("a connection");
        let (answer, mut sent) = send.send_request(request.body(()).expect("a request"), false).expect("it is sent");
        sent.send_data(body, true).expect("it is sent");
        let (parts, mut body) = answer.await.expect("an answer").into_parts();
        let mut data = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece.expect("a piece");
            body.flow_control().release_capacity(piece.len()).expect("it was taken");
            data.extend_from_slice(&piece);
        }
        let trailers = body.trailers().await.expect("an end in order").unwrap_or_default();
        (parts, data.freeze(), trailers)
    }
}

fn messages(mut data: Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while data.len() >= 5 {
        let prefix = data.split_to(5);
        let length = u32::from_be_bytes(prefix[1..].try_into().expect("four bytes"));
        messages.push(data.split_to(length as usize));
    }
    messages
}

impl Answer {
    /// How the call ended.
    pub fn status(&self) -> Status {
        let told = if self.headers.contains_key("grpc-status") { &self.headers } else { &self.trailers };
        Status::from_header_map(told).expect("a status")
    }

    /// Why it failed.
    pub fn refused(&self) -> Refused {
        let status = self.status();
        let details = status.get_error_details();
        let info = details.error_info().unwrap_or_else(|| panic!("no reason: {status:?}"));
        assert_eq!(info.domain, "mancala.v1");
        Refused { code: status.code(), reason: info.reason.clone(), details }
    }
}

/// Why a call failed.
pub struct Refused {
    pub code: Code,
    pub reason: String,
    pub details: ErrorDetails,
}

impl Refused {
    pub fn fact(&self, name: &str) -> &str {
        &self.details.error_info().expect("a reason").metadata[name]
    }
}
