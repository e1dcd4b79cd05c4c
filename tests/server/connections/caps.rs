//! How many connections there may be.

use crate::listening::{check, closed, start, until};
use std::io;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

/// A connection from an address of this machine. One that is closed at once may fail to be made.
async fn from(address: &str, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(format!("{address}:0").parse().expect("an address")).expect("an address of this machine");
    socket.connect(to).await
}

/// Whether the server answers on a connection.
async fn is_served(peer: io::Result<TcpStream>) -> bool {
    let Ok(mut peer) = peer else { return false };
    // A connection that is closed at once may fail to be written to.
    let _ = peer.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    closed(&mut peer).await.starts_with(b"HTTP/1.1 426")
}

#[tokio::test]
async fn from_one_address() {
    let server = start(|settings| settings.connections.max_connections_per_address = 2).await;
    let first = from("127.0.0.1", server.address).await.expect("a place");
    let mut health = server.health().await;
    check(&mut health).await.expect("an answer");

    assert!(!is_served(from("127.0.0.1", server.address).await).await);
    assert!(is_served(from("127.0.0.2", server.address).await).await, "another address has places of its own");
    check(&mut health).await.expect("an open connection goes on");
    assert_eq!((server.counts.refused_by_address.get(), server.counts.refused_in_total.get()), (1, 0));
    drop(first);
    until("its place is given back", || server.counts.open.get() == 1).await;
    assert!(is_served(from("127.0.0.1", server.address).await).await);
    assert_eq!(server.counts.accepted.get(), 4);
}

#[tokio::test]
async fn in_total() {
    let server = start(|settings| {
        settings.connections.max_connections = 2;
        settings.connections.max_connections_per_address = 0;
    })
    .await;
    let places = [from("127.0.0.1", server.address).await, from("127.0.0.2", server.address).await];
    assert!(places.iter().all(Result::is_ok), "{places:?}");
    until("both are accepted", || server.counts.accepted.get() == 2).await;
    for _ in 0..3 {
        assert!(!is_served(from("127.0.0.3", server.address).await).await);
    }
    assert_eq!((server.counts.refused_in_total.get(), server.counts.refused_by_address.get()), (3, 0));
    drop(places);
    until("their places are given back", || server.counts.open.get() == 0).await;
    assert!(is_served(from("127.0.0.3", server.address).await).await);
}
