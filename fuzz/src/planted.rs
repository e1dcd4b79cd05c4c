//! Laws that are wrong, to show that a law which does not hold is found. `fuzz/run` switches them on for a moment.

use std::sync::LazyLock;

static PLANTED: LazyLock<bool> = LazyLock::new(|| std::env::var_os("MANCALA_FUZZ_PLANTED").is_some());

/// Claims that what begins so never happens, which is wrong, if wrong laws are planted.
pub fn never(what: &str, happens: bool) {
    assert!(!(*PLANTED && happens), "planted: {what}");
}
