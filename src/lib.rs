//! Five traditional mancala games as a library and as a gRPC service.
//!
//! The library is made of layers that only look down. [`game`] is the rules, and all there is with default features off.

pub mod game;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod session;
#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "server")]
pub mod telemetry;
#[cfg(feature = "server")]
pub mod wire;
