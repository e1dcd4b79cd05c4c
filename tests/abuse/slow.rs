//! Peers that take their time.

use super::form::by_form;
use super::frames::{CONTINUATION, END_STREAM, HEADERS, PREFACE, call, frame, hello};
use super::target::{BOUND, Target, attack};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Says the first part, and then one of the others every now and then, until it is closed, which must be in time.
async fn drip(target: &Target, first: Vec<u8>, others: Vec<u8>) -> impl Future<Output = ()> + Send + 'static {
    let mut peer = target.connect().await.expect("a place");
    async move {
        let (mut reads, mut writes) = peer.split();
        let dripping = async {
            writes.write_all(&first).await?;
            loop {
                sleep(Duration::from_millis(250)).await;
                writes.write_all(&others).await?;
            }
        };
        let mut sink = Vec::new();
        let closed = async { while reads.read_buf(&mut sink).await.is_ok_and(|count| count > 0) {} };
        let closed = async {
            tokio::select! {
                () = closed => {}
                failed = dripping => drop::<std::io::Result<()>>(failed),
            }
        };
        timeout(BOUND, closed).await.unwrap_or_else(|_| panic!("it is still open"));
    }
}

#[test]
fn silence_and_slow_headers() {
    attack("slow peers", async |target| {
        let headers = call("/grpc.health.v1.Health/Check");
        let kinds: [(Vec<u8>, Vec<u8>); 7] = [
            // Silence, before and after the preface.
            (Vec::new(), Vec::new()),
            (PREFACE.to_vec(), Vec::new()),
            // The first line and headers of HTTP/1, bit by bit.
            (b"POST /grpc".to_vec(), b".".to_vec()),
            (b"POST / HTTP/1.1\r\nhost: a\r\n".to_vec(), b"a: b\r\n".to_vec()),
            // The preface, a frame and headers of HTTP/2, bit by bit.
            (PREFACE[..10].to_vec(), b"".to_vec()),
            ([hello(), frame(HEADERS, END_STREAM, 1, &headers)[..20].to_vec()].concat(), vec![0]),
            ([hello(), frame(HEADERS, END_STREAM, 1, &headers)].concat(), frame(CONTINUATION, 0, 1, &[])),
        ];
        let mut peers = JoinSet::new();
        for _ in 0..by_form(20, 130) {
            for (first, others) in kinds.clone() {
                peers.spawn(drip(target, first, others).await);
            }
        }
        while let Some(ended) = peers.join_next().await {
            ended.expect("it is closed in time");
        }
    });
}
