//! Peers that break the protocol.

use crate::listening::{Listening, closed, start, until};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const BEGUN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// So long they are held, all but what one may be off.
const HELD: Duration = Duration::from_millis(950);

/// A server with one place, and the peer that has it, after it has said this.
async fn said(what: &[u8]) -> (Listening, TcpStream) {
    let server = start(|settings| settings.connections.max_connections_per_address = 1).await;
    let mut peer = server.peer().await;
    peer.write_all(what).await.expect("it is open");
    (server, peer)
}

#[tokio::test]
async fn who_breaks_the_protocol_keeps_its_place_for_a_while() {
    let data_of_no_stream: &[u8] = b"\0\0\x01\0\0\0\0\0\0x";
    let pings = b"\0\0\x08\x06\0\0\0\0\0pingpong".repeat(10_001);
    for what in [&[BEGUN, data_of_no_stream].concat(), &[BEGUN, &pings].concat(), &b"no method, no path\n"[..]] {
        let (server, mut peer) = said(what).await;
        let start = Instant::now();
        until("it is noticed", || server.counts.breaches.get() == 1).await;
        // Where there is no place it is closed at once, perhaps before it is made.
        if let Ok(mut other) = TcpStream::connect(server.address).await {
            assert!(closed(&mut other).await.is_empty(), "its place is free");
        }
        until("it is refused", || server.counts.refused_by_address.get() == 1).await;
        closed(&mut peer).await;
        until("its place is given back", || server.counts.open.get() == 0).await;
        assert!(start.elapsed() >= HELD, "held for {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn who_only_leaves_does_not() {
    for what in [BEGUN, &[BEGUN, b"\0\0\x08\x06"].concat(), b"POST / HTTP/1.1\r\nhost"] {
        let (server, peer) = said(what).await;
        until("it is there", || server.counts.open.get() == 1).await;
        let start = Instant::now();
        drop(peer);
        until("its place is given back", || server.counts.open.get() == 0).await;
        assert!(start.elapsed() < HELD, "{:?}", start.elapsed());
        assert_eq!(server.counts.breaches.get(), 0);
    }
}

#[tokio::test]
async fn a_stop_waits_for_none_of_them() {
    let (server, _peer) = said(b"no method, no path\n").await;
    until("it is noticed", || server.counts.breaches.get() == 1).await;
    let start = Instant::now();
    server.stop().await;
    assert!(start.elapsed() < HELD, "{:?}", start.elapsed());
}
