//! Five traditional mancala games as a library and as a gRPC service.
//!
//! The library is made of layers that only look down:
//!
//! | layer | what it holds |
//! |---|---|
//! | [`game`] | the rules of the five games: pure, and all there is with default features off |
//! | `session` | one match between two seats, as the fold of its events: pure |
//! | `store` | durable event logs |
//! | `service` | running sessions |
//! | `wire` | gRPC: handlers and conversions |
//! | `server` | connections, TLS, limits, health, metrics, a stop that ends |
//! | `config`, `telemetry`, `cli` | the program `mancala` |

pub mod game;

#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "random")]
pub mod random;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod session;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "server")]
pub mod telemetry;
#[cfg(feature = "server")]
pub mod wire;
