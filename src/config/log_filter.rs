//! What is logged, as it is written in a configuration.

use tracing_subscriber::filter::{LevelFilter, Targets};

/// What a filter must be.
pub const EXPECTED: &str =
    "levels (off, error, warn, info, debug, trace), for all or by module, as in \"info\" or \"warn,mancala=debug\"";

/// Where log lines come from: this program, and the libraries that log. Any of them may stand without a level, which is all of it.
const TARGETS: [&str; 12] = [
    "mancala",
    "deadpool_postgres",
    "h2",
    "hyper",
    "hyper_util",
    "refinery_core",
    "rustls",
    "tokio_postgres",
    "tonic",
    "tonic_web",
    "tower",
    "tracing_opentelemetry",
];

/// Reads a filter; `None` if it is none.
///
/// More is refused than its parser refuses. To that a mistyped level is a target, so that nothing else is logged; so is what names spans
/// or fields; and no text is a level.
pub fn read(text: &str) -> Option<String> {
    let is_right = |part: &str| match part.split_once('=') {
        None => is_level(part) || is_target(part),
        Some((target, level)) => !target.is_empty() && is_level(level),
    };
    let is_plain = !text.contains(|c: char| matches!(c, '[' | '{') || c.is_whitespace());
    (is_plain && text.split(',').all(is_right) && text.parse::<Targets>().is_ok()).then(|| text.to_owned())
}

fn is_level(text: &str) -> bool {
    !text.is_empty() && text.parse::<LevelFilter>().is_ok()
}

fn is_target(text: &str) -> bool {
    TARGETS.contains(&text.split("::").next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_that_there_are_can_be_read() {
        for text in [
            "info",
            "OFF",
            "3",
            "mancala",
            "warn,mancala::server",
            "error,tokio_postgres=debug",
            "mancala=trace,hyper=warn,h2=off",
            // With a level nobody takes it for one.
            "info,elsewhere=debug",
        ] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn mistyped_levels_are_no_targets() {
        let wrong =
            ["warning", "inof", "debgu", "info,wran", "mancla", "man", "", "info,", ",info", "=info", "mancala=", "mancala=loud"];
        for text in
            wrong.into_iter().chain(["6", "info, mancala=debug", " info", "a=b=c", "mancala[call]=debug", "[{code}]=info"])
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn targets_are_libraries_that_are_used() {
        let lock = include_str!("../../Cargo.lock");
        for target in TARGETS {
            assert!(lock.contains(&format!("name = \"{}\"", target.replace('_', "-"))), "{target}");
        }
    }
}
