//! What peers can do to a server that anybody can reach: whatever it is, it is bounded or closed, others are served meanwhile,
//! and nothing of it stays in memory. With `MANCALA_TEST_LONG=1` for longer, by more peers, and held to tighter bounds.

#![cfg(all(feature = "server", target_os = "linux"))]

#[macro_use]
#[path = "../support/form.rs"]
mod form;

mod crowds;
mod floods;
mod frames;
mod malformed;
mod slow;
mod target;
