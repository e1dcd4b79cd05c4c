//! What a peer must say, and by when.

use crate::listening::{Listening, check, closed, start};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

const HEADER_TIMEOUT: Duration = Duration::from_millis(300);
/// Time between two drops, which are so many that saying all of them takes twice [`LATEST`].
const PAUSE: Duration = Duration::from_millis(100);
const DROPS: usize = 100;
/// By then a peer is closed, on a machine that is busy with others, too: long before it has said its last drop.
const LATEST: Duration = Duration::from_secs(5);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

async fn hasty() -> Listening {
    start(|settings| settings.connections.header_timeout = HEADER_TIMEOUT).await
}

/// Says these pieces, with so much time between them, and is then silent. Gives the time until it was closed.
async fn say(server: &Listening, pieces: &[&[u8]], pause: Duration) -> Duration {
    let mut peer = server.peer().await;
    let start = Instant::now();
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(pause).await;
        }
        // It may have been closed already.
        if peer.write_all(piece).await.is_err() {
            break;
        }
    }
    closed(&mut peer).await;
    start.elapsed()
}

#[tokio::test]
async fn peers_that_do_not_say_what_they_want_are_closed() {
    let server = hasty().await;
    for said in [&b""[..], b"P", b"POST / HT", &PREFACE[..20], PREFACE, &[PREFACE, &SETTINGS[..8]].concat()] {
        let before = server.counts.silent.get();
        let time = say(&server, &[said], Duration::ZERO).await;
        assert!(time >= HEADER_TIMEOUT - Duration::from_millis(20), "{said:?} was closed after {time:?}");
        assert_eq!(server.counts.silent.get(), before + 1, "{said:?}");
    }
    // Drops do not renew the time.
    let drops: Vec<_> = PREFACE.chunks(1).collect();
    let time = say(&server, &drops, PAUSE).await;
    assert!(time < PAUSE * (drops.len() as u32 - 1), "{time:?}");
    assert_eq!(server.counts.unruly.get(), 0);
}

#[tokio::test]
async fn headers_and_frames_that_have_begun_must_be_complete_in_time() {
    let server = hasty().await;
    let begun = [PREFACE, SETTINGS].concat();
    // HEADERS of one byte, which are to be continued, and CONTINUATION.
    let headers = [&begun[..], &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]].concat();
    let continuation: &[u8] = &[0, 0, 1, 9, 0, 0, 0, 0, 1, 0x86];
    // PING without its payload.
    let ping = [&begun[..], &[0, 0, 8, 6, 0, 0, 0, 0, 0]].concat();
    let in_drops = |first, drop| [&[first][..], &[drop; DROPS]].concat();
    for (number, pieces) in [vec![&headers[..]], in_drops(&headers[..], continuation), vec![&ping]].into_iter().enumerate() {
        let time = say(&server, &pieces, PAUSE).await;
        assert!(time < LATEST, "{pieces:?} was closed after {time:?}");
        assert_eq!(server.counts.unruly.get(), number as u64 + 1, "{pieces:?}");
    }
    let line: &[u8] = b"POST / HTTP/1.1\r\n";
    let time = say(&server, &in_drops(line, b"a: b\r\n"), PAUSE).await;
    assert!(time < LATEST, "{time:?}");
    assert_eq!(server.counts.silent.get(), 0);
}

#[tokio::test]
async fn a_peer_that_has_said_what_it_wants_may_be_silent() {
    let server = hasty().await;
    let mut health = server.health().await;
    check(&mut health).await.expect("an answer");
    tokio::time::sleep(HEADER_TIMEOUT * 3).await;
    check(&mut health).await.expect("an answer on the same connection");
    assert_eq!(server.counts.accepted.get(), 1);
}
