//! Streams as a client sees them: a server in this process, generated stubs, a store on disk.

mod feed;
mod life;
mod play;
mod watch;
