//! Five traditional mancala games as a library and as a gRPC service.

#[cfg(feature = "server")]
pub mod store;
