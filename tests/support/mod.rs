//! What the tests of the store share.

// Each test binary uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod sandbox;
pub mod store_conformance;
