//! Very many peers.

use super::frames::hello;
use super::target::{BOUND, attack};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// As many as one address may have, by default.
const FROM_ONE_ADDRESS: usize = 1_000;
const CROWD: usize = 2_000;

/// A connection from another address of this machine, if it is let in.
async fn enter(to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().expect("a socket; raise the limit of open files (ulimit -n) above 4096");
    socket.bind("127.0.0.2:0".parse().expect("an address")).expect("an address of this machine");
    let mut peer = timeout(BOUND, socket.connect(to)).await.expect("in time").ok()?;
    // Where there is no place it is closed at once.
    peer.write_all(&hello()).await.ok()?;
    let mut settings = [0; 9];
    timeout(BOUND, peer.read_exact(&mut settings)).await.expect("in time").ok().map(|_| peer)
}

#[test]
fn a_crowd_from_one_address_has_its_places_and_no_more() {
    attack("a crowd", async |target| {
        let mut inside = Vec::new();
        let mut outside = 0;
        for _ in 0..CROWD {
            match enter(target.address).await {
                Some(peer) => inside.push(peer),
                None => outside += 1,
            }
        }
        assert_eq!((inside.len(), outside), (FROM_ONE_ADDRESS, CROWD - FROM_ONE_ADDRESS));
        drop(inside);
    });
}
