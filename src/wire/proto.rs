//! What is generated from `proto/mancala/v1`: messages, and for each service a server trait and a client.
//!
//! The documentation of every message, field and method is its comment in the proto file.

// Generated: the comments are written for readers of the proto files, and the shapes are those of the generator.
#![allow(missing_docs, clippy::all, clippy::pedantic, rustdoc::all)]

tonic::include_proto!("mancala.v1");

pub use super::step_items::{Item, Items, StepPositionsRequest};
pub use super::step_results::{Results, StepPositionsResponse};

/// `mancala.v1` and what it imports as an encoded `google.protobuf.FileDescriptorSet`, with comments.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mancala.v1.bin"));
