//! What a battery is asked for, the short form or the long one and a seed, and what it says of a run.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a line that is shown whatever becomes of the test. `println!` is shown of tests that fail alone.
macro_rules! report {
    ($($line:tt)*) => {{
        use std::io::Write;
        // Nobody may read it.
        let _ = writeln!(std::io::stderr(), $($line)*);
    }};
}

/// Whether the large counts are run.
pub fn long_form() -> bool {
    std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1")
}

/// The first in the short form, the second in the long one.
pub fn by_form<T>(short: T, long: T) -> T {
    if long_form() { long } else { short }
}

/// The number that is in the environment by this name.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The seed that is asked for by MANCALA_TEST_SEED, or one of the time.
pub fn first_seed() -> u64 {
    let seed = number("MANCALA_TEST_SEED");
    let seed = seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64);
    report!("MANCALA_TEST_SEED={seed}");
    seed
}
