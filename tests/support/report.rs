//! What a battery says of a run: seeds, figures, and which planted faults it has found. `println!` is shown of tests that fail alone.

/// Writes a line that is shown whatever becomes of the test.
macro_rules! report {
    ($($line:tt)*) => {{
        use std::io::Write;
        // Nobody may read it.
        let _ = writeln!(std::io::stderr(), $($line)*);
    }};
}
