//! Accepting connections: as many as there may be, and in peace when the system has no more to give.

use crate::server::counts::Counts;
use crate::server::places::{Full, Place, Places};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Pause when there are no descriptors or no memory left. Without it a full file table keeps a core busy with failing.
const BACK_OFF: Duration = Duration::from_millis(75);
/// So many connections are accepted before calls have their turn. Without it those of a crowd are accepted a hundred at a time.
const IN_A_ROW: u32 = 4;
/// What goes wrong with every connection is logged no more often than that.
const LOG_EVERY: Duration = Duration::from_secs(1);
/// A peer that acknowledges nothing of what it was sent for so long is gone.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);

/// Accepts connections without end and hands over those that there is a place for.
pub async fn accept(
    listener: &TcpListener,
    places: &Places,
    counts: &Counts,
    hand_over: impl Fn(TcpStream, SocketAddr, Place),
) -> Infallible {
    let (mut refusals, mut failures) = (Seldom::default(), Seldom::default());
    let mut in_a_row = 0;
    loop {
        in_a_row += 1;
        if in_a_row > IN_A_ROW {
            in_a_row = 0;
            tokio::task::yield_now().await;
        }
        match listener.accept().await {
            Ok((stream, peer)) => match places.take(peer.ip()) {
                Ok(place) => {
                    counts.accepted.up();
                    prepare(&stream);
                    hand_over(stream, peer, place);
                }
                Err(full) => {
                    refuse(stream);
                    let (count, setting) = match full {
                        Full::InTotal => (&counts.refused_in_total, "server.max_connections"),
                        Full::ByAddress => (&counts.refused_by_address, "server.max_connections_per_address"),
                    };
                    count.up();
                    if refusals.now() {
                        tracing::warn!(%peer, setting, refused = count.get(), "a connection was refused: there are too many");
                    }
                }
            },
            Err(error) if is_exhaustion(&error) => {
                counts.back_offs.up();
                if failures.now() {
                    tracing::warn!(%error, "connections can't be accepted for now");
                }
                tokio::time::sleep(BACK_OFF).await;
            }
            // The peer has left before it was accepted.
            Err(error) => tracing::debug!(%error, "a connection was not accepted"),
        }
    }
}

fn prepare(stream: &TcpStream) {
    // Without TCP_NODELAY a reply of more than one segment waits for the peer's delayed acknowledgement, 40 ms.
    let prepared = stream.set_nodelay(true);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let prepared = prepared.and_then(|()| socket2::SockRef::from(stream).set_tcp_user_timeout(Some(TCP_USER_TIMEOUT)));
    if let Err(error) = prepared {
        // The peer has left already, which reading will show.
        tracing::debug!(%error, "a connection could not be prepared");
    }
}

/// Closes at once: with a reset the system keeps nothing of the connection.
fn refuse(stream: TcpStream) {
    // Where that fails it is closed in the ordinary way.
    let _ = stream.set_zero_linger();
}

/// Whether accepting failed for want of something that trying again at once does not bring back.
fn is_exhaustion(error: &io::Error) -> bool {
    let codes = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Says whether it is time to log again.
#[derive(Default)]
struct Seldom(Option<Instant>);

impl Seldom {
    fn now(&mut self) -> bool {
        let now = Instant::now();
        let due = self.0.is_none_or(|last| now - last >= LOG_EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}
