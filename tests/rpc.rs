//! The services as a client sees them: a server in this process, generated stubs, a store on disk.

#![cfg(feature = "server")]

#[path = "support/app.rs"]
mod app;
#[path = "rpc/batches.rs"]
mod batches;
#[path = "rpc/history.rs"]
mod history;
#[path = "rpc/idempotence.rs"]
mod idempotence;
#[path = "rpc/limits.rs"]
mod limits;
#[path = "rpc/lists.rs"]
mod lists;
#[path = "rpc/moves.rs"]
mod moves;
#[path = "rpc/order.rs"]
mod order;
#[path = "rpc/races.rs"]
mod races;
#[path = "rpc/reasons.rs"]
mod reasons;
#[path = "rpc/retention.rs"]
mod retention;
#[path = "rpc/session_batches.rs"]
mod session_batches;
#[path = "rpc/transport.rs"]
mod transport;
