//! Whole stores: backed up while they are written, verified, and copied elsewhere.

#![cfg(all(feature = "server", unix))]

#[macro_use]
#[path = "../support/form.rs"]
mod form;

mod backup;
mod conformance;
mod copy;
mod databases;
mod filled;
#[path = "../support/histories.rs"]
mod histories;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../support/program.rs"]
mod program;
mod rates;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
mod verify;

use support::sandbox;
