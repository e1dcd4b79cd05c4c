//! The service through its API: calls, streams, sessions over a life of many calls, and records.
#![cfg(feature = "server")]

mod life;
mod records;
mod rpc;
mod streams;

#[path = "../support/app.rs"]
mod app;
#[path = "../support/wrapped_store.rs"]
mod wrapped_store;
