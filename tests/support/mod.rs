//! What the tests of the store share.

pub mod store_conformance;
