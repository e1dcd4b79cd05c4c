//! Encrypted connections: whom clients trust, whom the server trusts, and certificates that are renewed.

#![cfg(feature = "server")]

mod authority;
mod clients;
mod handshakes;
#[path = "../support/listening.rs"]
mod listening;
#[cfg(unix)]
mod program;
mod renewal;
