//! Connections: how many there may be, what they must say and take and by when, how old they grow, and how they end.

#![cfg(feature = "server")]

mod age;
mod caps;
mod descriptors;
mod first_bytes;
#[path = "../support/listening.rs"]
mod listening;
#[path = "../support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
mod stall;
