//! Encrypted connections: whom clients trust, whom the server trusts, and certificates that are renewed.

mod authority;
mod clients;
mod handshakes;
#[cfg(unix)]
mod healthcheck;
#[cfg(unix)]
mod program;
mod renewal;
