//! Peers that say much and mean nothing. They come again and again.

use super::form::by_form;
use super::frames::{CONTINUATION, DATA, END_HEADERS, HEADERS, PING, RST_STREAM, SETTINGS, call, frame, header, hello};
use super::target::{BOUND, Target, attack};
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tokio::io::{AsyncWriteExt, copy, sink};
use tokio::time::timeout;

const PATH: &str = "/grpc.health.v1.Health/Check";

/// Says the first part, and then what follows without end, until the server closes, which must be in time.
async fn flood(target: &Target, first: &[u8], mut next: impl FnMut() -> Vec<u8>) {
    let Ok(mut peer) = target.connect().await else { return };
    let (mut reads, mut writes) = peer.split();
    let floods = async {
        writes.write_all(first).await?;
        loop {
            writes.write_all(&next()).await?;
        }
    };
    let mut nowhere = sink();
    let closed = async {
        tokio::select! {
            closed = copy(&mut reads, &mut nowhere) => drop(closed),
            failed = floods => drop::<std::io::Result<()>>(failed),
        }
    };
    timeout(BOUND, closed).await.unwrap_or_else(|_| panic!("it is still open"));
}

/// Does something again and again for a while, by several peers at once: whoever is held for what it did has others who come instead.
async fn repeatedly(target: &Target, once: impl AsyncFn(&Target)) {
    let start = Instant::now();
    let peer = async |_| {
        while start.elapsed() < by_form(Duration::from_secs(1), Duration::from_secs(10)) {
            once(target).await;
        }
    };
    join_all((0..4).map(peer)).await;
}

#[test]
fn headers_without_end_over_http_1() {
    attack("header flood, HTTP/1", async |target| {
        let lines = b"some-header: some value\r\n".repeat(100);
        repeatedly(target, async |target| flood(target, b"POST / HTTP/1.1\r\n", || lines.clone()).await).await;
    });
}

#[test]
fn headers_without_end_in_continuations() {
    attack("CONTINUATION flood", async |target| {
        let fields = header("some-header", "some value").repeat(500);
        let first = [hello(), frame(HEADERS, 0, 1, &call(PATH))].concat();
        repeatedly(target, async |target| flood(target, &first, || frame(CONTINUATION, 0, 1, &fields)).await).await;
        // They need have nothing in them.
        let empty = frame(CONTINUATION, 0, 1, &[]).repeat(1_000);
        repeatedly(target, async |target| flood(target, &first, || empty.clone()).await).await;
    });
}

#[test]
fn calls_that_are_reset_at_once() {
    attack("rapid reset", async |target| {
        let reset = async |target: &Target| {
            let mut stream = 1;
            let calls = || {
                let mut said = Vec::new();
                for _ in 0..100 {
                    said.extend(frame(HEADERS, END_HEADERS, stream, &call(PATH)));
                    said.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
                    stream += 2;
                }
                said
            };
            flood(target, &hello(), calls).await;
        };
        repeatedly(target, reset).await;
    });
}

#[test]
fn settings_pings_and_empty_data() {
    attack("SETTINGS, PING and DATA floods", async |target| {
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]).repeat(1_000);
        repeatedly(target, async |target| flood(target, &hello(), || settings.clone()).await).await;
        let pings = frame(PING, 0, 0, &[7; 8]).repeat(1_000);
        repeatedly(target, async |target| flood(target, &hello(), || pings.clone()).await).await;
        let first = [hello(), frame(HEADERS, END_HEADERS, 1, &call(PATH))].concat();
        let empty = frame(DATA, 0, 1, &[]).repeat(1_000);
        repeatedly(target, async |target| flood(target, &first, || empty.clone()).await).await;
    });
}
