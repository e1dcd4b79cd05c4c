//! Watchers against all that can happen to them: movers, cuts, restarts, deletions, and thousands of each other.

#![cfg(feature = "server")]

#[macro_use]
#[path = "support/form.rs"]
mod form;

#[path = "support/app.rs"]
mod app;
#[path = "watchers/crowd.rs"]
mod crowd;
#[path = "watchers/follower.rs"]
mod follower;
#[path = "watchers/hogs.rs"]
mod hogs;
#[path = "watchers/mover.rs"]
mod mover;
#[path = "watchers/place.rs"]
mod place;
#[path = "watchers/player.rs"]
mod player;
#[path = "support/program.rs"]
mod program;
#[path = "support/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;
#[path = "watchers/seen.rs"]
mod seen;
#[path = "watchers/storm.rs"]
mod storm;
#[path = "watchers/truth.rs"]
mod truth;
#[path = "watchers/watcher.rs"]
mod watcher;

use form::long_form;
