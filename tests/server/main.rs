//! The server over real sockets: who may do what, connections, encryption, limits and browsers.
#![cfg(feature = "server")]

mod access;
mod connections;
mod limits;
mod tls;
mod web;

#[path = "../abuse/frames.rs"]
#[allow(dead_code)]
mod frames;
#[path = "../support/listening.rs"]
mod listening;
#[path = "../support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
