//! Very many peers.

use super::form::by_form;
use super::frames::hello;
use super::target::{BOUND, Target, attack};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// As many as one address may have, by default.
const FROM_ONE_ADDRESS: usize = 1_000;
const CROWD: usize = 2_000;
/// What a crowd may leave in memory: a quarter of what one needs.
const LEFT_OVER: u64 = 8 << 20;

/// A connection, if it is let in.
async fn enter(target: &Target) -> Option<TcpStream> {
    let mut peer = target.connect().await.ok()?;
    // Where there is no place it is closed at once.
    peer.write_all(&hello()).await.ok()?;
    let mut settings = [0; 9];
    timeout(BOUND, peer.read_exact(&mut settings)).await.expect("in time").ok().map(|_| peer)
}

/// Comes, and leaves.
async fn crowd(target: &Target) {
    let mut inside = Vec::new();
    for _ in 0..CROWD {
        inside.extend(enter(target).await);
    }
    assert_eq!(inside.len(), FROM_ONE_ADDRESS);
    // Places are what they are after: they stay for a while.
    sleep(by_form(Duration::ZERO, Duration::from_secs(1))).await;
    drop(inside);
    // Their places are free again when the server has noticed.
    let start = Instant::now();
    while enter(target).await.is_none() {
        assert!(start.elapsed() < BOUND, "there is no place");
    }
}

#[test]
fn a_crowd_from_one_address_has_its_places_and_no_more() {
    attack("a crowd", async |target| {
        let twice = async || {
            for _ in 0..2 {
                crowd(target).await;
            }
            target.memory()
        };
        // What the first ones needed may be kept; the next ones must need no more.
        let (first, last) = (twice().await, twice().await);
        assert!(last < first + LEFT_OVER, "{last} bytes of memory, {first} after the first crowds");
    });
}
