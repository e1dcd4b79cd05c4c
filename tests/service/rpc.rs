//! The services as a client sees them: a server in this process, generated stubs, a store on disk.

mod batches;
mod failures;
mod history;
mod idempotence;
mod limits;
mod lists;
mod moves;
mod order;
mod races;
mod reasons;
mod retention;
mod session_batches;
mod stopping;
mod transport;
