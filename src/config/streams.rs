//! How streams live, and how many there may be.

use super::duration;
use super::load::{Given, up_to_longest};
use crate::wire::StreamSettings;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;

/// How streams live, and how many there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsConfig {
    /// A watch of which nothing is to be told says so this often.
    pub heartbeat: Duration,
    /// So long a stream lives at most.
    pub longest: Duration,
    /// Watches that one session may have.
    pub watches_per_session: usize,
    /// Watches of single sessions that the bearer of a seat's token may have, and each address of those without one.
    pub watches_per_caller: usize,
}

/// The most watches of a kind.
const MOST: usize = 1_000_000;
/// The longest life of a stream.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl StreamsConfig {
    pub(super) fn defaults() -> Self {
        let (_, never) = watch::channel(false);
        let StreamSettings { heartbeat, longest, watches_per_session, watches_per_caller, .. } = StreamSettings::new(never);
        Self { heartbeat, longest, watches_per_session, watches_per_caller }
    }

    /// The settings of a server that stops when `stopping` becomes true.
    pub fn settings(&self, stopping: watch::Receiver<bool>) -> StreamSettings {
        let Self { heartbeat, longest, watches_per_session, watches_per_caller } = *self;
        StreamSettings { heartbeat, longest, watches_per_session, watches_per_caller, ..StreamSettings::new(stopping) }
    }

    pub(super) fn take(given: &mut Given, defaults: Self) -> Self {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=MOST).contains(number));
        let some = |time: &Duration| !time.is_zero();
        Self {
            heartbeat: given.take(
                "streams.heartbeat",
                defaults.heartbeat,
                "a time such as \"15s\", at most 1h, more than 0",
                |text| up_to_longest(text).filter(some),
            ),
            longest: given.take("streams.longest", defaults.longest, "a time such as \"1h\", at most 24h, more than 0", |text| {
                duration::parse(text).filter(|time| *time <= LONGEST).filter(some)
            }),
            watches_per_session: given.take(
                "streams.watches_per_session",
                defaults.watches_per_session,
                "a number from 1 to 1000000",
                number,
            ),
            watches_per_caller: given.take(
                "streams.watches_per_caller",
                defaults.watches_per_caller,
                "a number from 1 to 1000000",
                number,
            ),
        }
    }
}

/// As a section of a file.
impl fmt::Display for StreamsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heartbeat, longest, watches_per_session, watches_per_caller } = self;
        writeln!(f, "heartbeat = \"{}\"", duration::format(*heartbeat))?;
        writeln!(f, "longest = \"{}\"", duration::format(*longest))?;
        writeln!(f, "watches_per_session = {watches_per_session}")?;
        writeln!(f, "watches_per_caller = {watches_per_caller}")
    }
}
