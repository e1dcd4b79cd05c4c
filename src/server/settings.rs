//! How a server behaves.

use crate::server::counts::Counts;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A call that hasn't answered by then fails with DEADLINE_EXCEEDED, unless its caller gives it another time.
    pub request_timeout: Duration,
    /// The longest time that a caller may give.
    pub longest_timeout: Duration,
    /// Time between reporting NOT_SERVING and refusing connections, for balancers to take notice.
    pub drain_delay: Duration,
    /// Time that calls in flight have to finish once connections are refused.
    pub drain_timeout: Duration,
    /// What is asked of connections.
    pub connections: ConnectionSettings,
    /// Encryption; without it connections are plain.
    pub tls: Option<TlsSettings>,
    /// gRPC-Web; without it HTTP/1 is refused.
    pub web: Option<WebSettings>,
    /// Where connections are counted.
    pub counts: Arc<Counts>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(5),
            longest_timeout: Duration::from_secs(30),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(8),
            connections: ConnectionSettings::default(),
            tls: None,
            web: None,
            counts: Arc::default(),
        }
    }
}

/// What is asked of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Most connections at once.
    pub max_connections: usize,
    /// Most connections at once from one address (of IPv6: from one /64 network); 0: as many as there are in all.
    pub max_connections_per_address: usize,
    /// Most calls in flight on one connection.
    pub max_streams: u32,
    /// By then a TLS handshake must be done and the first line or frame be there, by then a request's headers must be whole, and
    /// so must a frame of HTTP/2 that has begun.
    pub header_timeout: Duration,
    /// A connection without traffic is asked so often whether it is still there...
    pub keepalive_interval: Duration,
    /// ...and is closed if it hasn't answered by then.
    pub keepalive_timeout: Duration,
    /// A connection is told to go when it is about so old (a tenth more or less, so that not all go at once); zero: never.
    pub connection_age: Duration,
    /// Time that calls in flight then have until it is closed.
    pub connection_grace: Duration,
    /// A stream of which the peer takes nothing for so long is given up.
    pub stall_timeout: Duration,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            max_streams: 128,
            header_timeout: Duration::from_secs(5),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            connection_age: Duration::from_secs(30 * 60),
            connection_grace: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
        }
    }
}

/// How connections are encrypted. All files are PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities of clients' certificates; without them clients are not asked for any.
    pub client_ca: Option<PathBuf>,
    /// Whether a client may come without a certificate all the same.
    pub client_optional: bool,
    /// How often the files are looked at for a change.
    pub check_every: Duration,
    /// A client whose certificate is for one of these DNS names may do everything.
    pub operators: Vec<String>,
}

/// How browsers are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    /// Origins, such as `https://play.example`, whose pages may call; `*`: all.
    pub allow_origins: Vec<String>,
    /// So long a browser may remember that it may.
    pub max_age: Duration,
}
