//! What fuzzing looks for: one function a target, which takes bytes and panics if something does not hold that must.
//!
//! Plain Rust, so that `tests/fuzz.rs` runs the same functions on the seeds without a fuzzer.

pub mod laws;
pub mod memory_store;
pub mod moves;
pub mod planted;
pub mod positions;
pub mod records;
pub mod requests;
