//! Where the program under test is.

use std::ffi::OsString;

/// The one that MANCALA_BIN names, such as one that is built for speed, or the one that was built with the tests.
pub fn binary() -> OsString {
    std::env::var_os("MANCALA_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_mancala").into())
}
