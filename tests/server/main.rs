//! The server over real sockets: who may do what, connections, encryption, limits, browsers, and how it stops.
#![cfg(feature = "server")]

mod access;
mod connections;
mod limits;
mod serving;
mod tls;
mod web;

#[path = "../support/listening.rs"]
mod listening;
#[path = "../support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
