//! Streams as a client sees them: a server in this process, generated stubs, a store on disk.

#![cfg(feature = "server")]

#[path = "support/app.rs"]
mod app;
#[path = "streams/feed.rs"]
mod feed;
#[path = "streams/life.rs"]
mod life;
#[path = "streams/play.rs"]
mod play;
#[path = "streams/watch.rs"]
mod watch;
