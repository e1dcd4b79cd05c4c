//! Peers that take nothing of what they asked for.

use crate::frames::{self, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, SETTINGS, frame};
use crate::listening::{Listening, PATIENCE, check, closed, start, until};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::Request;
use mancala::wire::proto;
use prost::Message;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const STALL: Duration = Duration::from_millis(300);
const GET_GAME: &str = "/mancala.v1.RulesService/GetGame";
const GORE: &[u8] = b"\x0a\x04gore";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
/// A setting and a kind of frame.
const INITIAL_WINDOW_SIZE: u16 = 4;
const WINDOW_UPDATE: u8 = 8;

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

/// A message with its prefix of five bytes.
fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Calls a method with an encoded message.
fn call(send: &mut SendRequest<Bytes>, path: &str, message: &[u8]) -> ResponseFuture {
    let uri = format!("http://localhost{path}");
    let request =
        Request::post(uri).header("content-type", "application/grpc").header("te", "trailers").body(()).expect("a request");
    let (answer, mut body) = send.send_request(request, false).expect("a stream");
    body.send_data(framed(message).into(), true).expect("the message");
    answer
}

/// The rules of Goré: an answer of several kilobytes.
fn get_game(send: &mut SendRequest<Bytes>) -> ResponseFuture {
    call(send, GET_GAME, GORE)
}

/// A thousand positions: an answer that is too large to be under way to a peer that does not take it.
fn step_positions(send: &mut SendRequest<Bytes>) -> ResponseFuture {
    let request = proto::StepPositionsRequest {
        game: "hoyito3".to_owned(),
        items: std::iter::repeat_n(proto::PositionStep { moves: vec!["0".to_owned()], ..Default::default() }, 1_000).collect(),
        include_steps: true,
        ..Default::default()
    };
    call(send, "/mancala.v1.RulesService/StepPositions", &request.encode_to_vec())
}

async fn body(answer: ResponseFuture) -> RecvStream {
    timeout(PATIENCE, answer).await.expect("in time").expect("headers").into_body()
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
        match timeout(PATIENCE, body.data()).await.expect("in time")? {
            Ok(_) => {}
            Err(error) => return error.reason(),
        }
    }
}

/// A peer that speaks in frames: of its streams each has a window of its own, and none but what it is given.
struct Miser(TcpStream);

/// A frame of a stream.
#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Miser {
    async fn connect(server: &Listening) -> Miser {
        let mut miser = Miser(server.peer().await);
        let no_window = [&INITIAL_WINDOW_SIZE.to_be_bytes()[..], &0_u32.to_be_bytes()].concat();
        miser.say(&[PREFACE, &frame(SETTINGS, 0, 0, &no_window)].concat()).await;
        miser
    }

    async fn say(&mut self, frames: &[u8]) {
        self.0.write_all(frames).await.expect("it is open");
    }

    /// Calls a method with an encoded message.
    async fn call(&mut self, stream: u32, path: &str, message: &[u8]) {
        let (headers, data) = (frames::call(path), framed(message));
        self.say(&[frame(HEADERS, END_HEADERS, stream, &headers), frame(DATA, END_STREAM, stream, &data)].concat()).await;
    }

    async fn give(&mut self, stream: u32, window: u32) {
        self.say(&frame(WINDOW_UPDATE, 0, stream, &window.to_be_bytes())).await;
    }

    /// The next frame of any stream.
    async fn hear(&mut self) -> Frame {
        let read = async {
            loop {
                let mut head = [0; 9];
                self.0.read_exact(&mut head).await.expect("it is open");
                let [.., s0, s1, s2, s3] = head;
                let [l0, l1, l2, kind, flags, ..] = head;
                let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
                self.0.read_exact(&mut payload).await.expect("it is open");
                let stream = u32::from_be_bytes([s0, s1, s2, s3]);
                if stream > 0 {
                    return Frame { kind, flags, stream, payload };
                }
            }
        };
        timeout(PATIENCE, read).await.expect("in time")
    }

    /// The next frame of this stream that is of this kind. Meanwhile none is reset.
    async fn hear_of(&mut self, stream: u32, kind: u8) -> Frame {
        loop {
            let frame = self.hear().await;
            if (frame.stream, frame.kind) == (stream, kind) {
                return frame;
            }
            assert_ne!(frame.kind, RST_STREAM, "{frame:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_without_a_window_is_reset_and_others_go_on() {
    let server = impatient().await;
    let mut miser = Miser::connect(&server).await;
    let (watch, stalled, later) = (1, 3, 5);
    miser.call(watch, WATCH, b"").await;
    miser.give(watch, 1_000).await;
    miser.hear_of(watch, DATA).await;
    miser.call(stalled, GET_GAME, GORE).await;
    assert_eq!(miser.hear_of(stalled, RST_STREAM).await.payload, u32::from(Reason::CANCEL).to_be_bytes());
    server.ready.send(false).expect("a running server");
    miser.hear_of(watch, DATA).await;

    miser.call(later, GET_GAME, GORE).await;
    miser.give(later, 1 << 16).await;
    let mut length = 0;
    loop {
        let Frame { kind, flags, stream, payload } = miser.hear().await;
        assert!(stream == later && [HEADERS, DATA].contains(&kind), "{kind} of {stream}");
        length += if kind == DATA { payload.len() } else { 0 };
        if flags & END_STREAM != 0 {
            break;
        }
    }
    let mut wide = client(&server, 1 << 20).await;
    assert_eq!(length, take(body(get_game(&mut wide)).await).await, "it is whole");
    assert_eq!(server.counts.stalled.get(), 1);
    until("the watch alone is under way", || server.counts.streams.get() == 1).await;
}

#[tokio::test]
async fn an_exhausted_window_is_as_none_and_one_that_is_renewed_is_enough() {
    const WINDOW: u32 = 8_192;
    let server = impatient().await;
    let mut send = client(&server, WINDOW).await;
    let whole = {
        let mut wide = client(&server, 1 << 20).await;
        take(body(step_positions(&mut wide)).await).await
    };
    let stalled = body(step_positions(&mut send)).await;
    let mut slow = body(step_positions(&mut send)).await;
    // Taken in parts, each in time, and all in all for longer than a stall.
    let begun = Instant::now();
    let mut length = 0;
    while let Some(data) = slow.data().await {
        let part = data.expect("data").len();
        length += part;
        tokio::time::sleep(STALL / 12).await;
        slow.flow_control().release_capacity(part).expect("room");
    }
    assert_eq!(length, whole);
    assert!(begun.elapsed() > STALL, "{:?}", begun.elapsed());
    assert_eq!(reset(stalled).await, Some(Reason::CANCEL));
    assert_eq!(server.counts.stalled.get(), 1);
}

#[tokio::test]
async fn a_stream_that_waits_for_the_server_is_no_stall() {
    let server = impatient().await;
    let mut send = client(&server, 1 << 16).await;
    let mut watch = body(call(&mut send, WATCH, b"")).await;
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
    timeout(PATIENCE, write).await.expect("it is closed in time");
    assert_eq!(server.counts.stalled.get(), 1);
    let mut some = [0; 12];
    peer.read_exact(&mut some).await.ok();
    drop(closed(&mut peer).await);
}
