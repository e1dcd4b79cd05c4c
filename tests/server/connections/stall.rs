//! Peers that take nothing of what they asked for.

use crate::listening::{Listening, check, closed, start, until};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::Request;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const STALL: Duration = Duration::from_millis(300);

async fn impatient() -> Listening {
    start(|settings| settings.connections.stall_timeout = STALL).await
}

/// A client that lets so much of each answer come.
async fn client(server: &Listening, window: u32) -> SendRequest<Bytes> {
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window);
    let (send, connection) = builder.handshake(server.peer().await).await.expect("a connection");
    tokio::spawn(connection);
    send.ready().await.expect("a connection")
}

/// Calls a method with an encoded message.
fn call(send: &mut SendRequest<Bytes>, path: &str, message: &[u8]) -> ResponseFuture {
    let uri = format!("http://localhost{path}");
    let request =
        Request::post(uri).header("content-type", "application/grpc").header("te", "trailers").body(()).expect("a request");
    let (answer, mut body) = send.send_request(request, false).expect("a stream");
    let length = (message.len() as u32).to_be_bytes();
    let framed = [&[0][..], &length, message].concat();
    body.send_data(framed.into(), true).expect("the message");
    answer
}

/// The rules of Goré: an answer of several kilobytes.
fn get_game(send: &mut SendRequest<Bytes>) -> ResponseFuture {
    call(send, "/mancala.v1.RulesService/GetGame", b"\x0a\x04gore")
}

async fn body(answer: ResponseFuture) -> RecvStream {
    timeout(crate::listening::PATIENCE, answer).await.expect("in time").expect("headers").into_body()
}

/// Takes all of an answer, and gives its length.
async fn take(mut body: RecvStream) -> usize {
    let mut length = 0;
    while let Some(data) = body.data().await {
        let data = data.expect("data");
        length += data.len();
        body.flow_control().release_capacity(data.len()).expect("room");
    }
    assert_eq!(body.trailers().await.expect("an end").expect("trailers")["grpc-status"], "0");
    length
}

/// Why a stream ended.
async fn reset(mut body: RecvStream) -> Option<Reason> {
    loop {
        match timeout(crate::listening::PATIENCE, body.data()).await.expect("in time")? {
            Ok(_) => {}
            Err(error) => return error.reason(),
        }
    }
}

#[tokio::test]
async fn a_stream_without_a_window_is_reset_and_others_go_on() {
    let server = impatient().await;
    let mut send = client(&server, 0).await;
    let stalled = body(get_game(&mut send)).await;
    // This one is given its window.
    let mut taken = body(get_game(&mut send)).await;
    taken.flow_control().release_capacity(0).expect("nothing");
    assert_eq!(reset(stalled).await, Some(Reason::CANCEL));
    assert_eq!(reset(taken).await, Some(Reason::CANCEL));
    until("both are counted", || server.counts.stalled.get() == 2).await;
    until("both are freed", || server.counts.streams.get() == 0).await;
    assert_eq!(server.counts.open.get(), 1, "the connection stays");
}

#[tokio::test]
async fn an_exhausted_window_is_as_none_and_one_that_is_renewed_is_enough() {
    let server = impatient().await;
    let mut send = client(&server, 1_000).await;
    let whole = {
        let mut wide = client(&server, 1 << 20).await;
        take(body(get_game(&mut wide)).await).await
    };
    assert!(whole > 4_000, "{whole}");
    let stalled = body(get_game(&mut send)).await;
    let mut slow = body(get_game(&mut send)).await;
    // Taken in parts, each in time, and all in all for longer than a stall.
    let mut length = 0;
    while let Some(data) = slow.data().await {
        length += data.expect("data").len();
        tokio::time::sleep(STALL / 3).await;
        slow.flow_control().release_capacity(1_000.min(whole - length)).expect("room");
    }
    assert_eq!(length, whole);
    drop(stalled);
}

#[tokio::test]
async fn a_stream_that_waits_for_the_server_is_no_stall() {
    let server = impatient().await;
    let mut send = client(&server, 1 << 16).await;
    let mut watch = body(call(&mut send, "/grpc.health.v1.Health/Watch", b"")).await;
    watch.data().await.expect("a message").expect("data");
    tokio::time::sleep(STALL * 3).await;
    server.ready.send(false).expect("a running server");
    watch.data().await.expect("a message").expect("data");
    assert_eq!(server.counts.stalled.get(), 0);
    check(&mut server.health().await).await.expect("an answer");
}

#[tokio::test]
async fn a_peer_of_http_1_that_does_not_read_is_closed() {
    let server = start(|settings| {
        settings.connections.stall_timeout = STALL;
        settings.connections.header_timeout = Duration::from_secs(60);
    })
    .await;
    let mut peer = server.peer().await;
    let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
    // Until the answers fill all buffers on their way, and the server reads no more.
    let write = async { while peer.write_all(&request).await.is_ok() {} };
    timeout(crate::listening::PATIENCE, write).await.expect("it is closed in time");
    assert_eq!(server.counts.stalled.get(), 1);
    let mut some = [0; 12];
    peer.read_exact(&mut some).await.ok();
    drop(closed(&mut peer).await);
}
