//! The embedded store and the program on disks that fail: the power is cut, bits flip, the disk is full, read-only or slow, and
//! the clock jumps. A ledger of what was acknowledged is the judge. With `MANCALA_TEST_LONG=1` at thousands of places.

#![cfg(all(feature = "server", target_os = "linux"))]

#[macro_use]
#[path = "../support/form.rs"]
mod form;

mod bit_flips;
mod census;
mod chance;
mod clock;
mod drive;
mod judge;
mod players;
mod power_cut;
mod slow;
mod story;
mod trace;
mod unwritable;
mod writer;

#[path = "../support/app.rs"]
mod app;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/mod.rs"]
mod support;

use support::sandbox;
