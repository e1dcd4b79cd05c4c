//! Turns of those whom the server does not know yet, so that however many they are, calls of others hardly wait for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Between two turns. What a peer can make of one, a connection or half a kilobyte of the most costly frames, takes a fraction of that.
const PACE: Duration = Duration::from_micros(50);
/// So many come at once after a pause.
const AT_ONCE: u64 = 20;
/// Nobody waits longer.
const LONGEST: Duration = Duration::from_secs(1);

/// Turns of all connections that have not called yet, or may be flooding.
#[derive(Debug)]
pub struct Turns {
    begun: Instant,
    /// When the next one is, after that.
    next: AtomicU64,
}

impl Turns {
    /// Of nobody yet.
    pub fn new() -> Turns {
        Turns { begun: Instant::now(), next: AtomicU64::new(0) }
    }

    /// A turn: when it comes, or `None` if it is there.
    pub fn take(&self) -> Option<Instant> {
        let micros = |time: Duration| time.as_micros() as u64;
        let now = micros(self.begun.elapsed());
        let place = |next: u64| next.clamp(now, now + micros(LONGEST));
        let following = |next| Some(place(next) + micros(PACE));
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, following).expect("there is always one");
        let turn = place(next);
        (turn >= now + AT_ONCE * micros(PACE)).then(|| self.begun + Duration::from_micros(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn some_come_at_once_and_the_others_one_after_the_other() {
        let turns = Turns::new();
        for _ in 0..2 {
            let now = Instant::now();
            for _ in 0..AT_ONCE {
                assert_eq!(turns.take(), None);
            }
            for place in 0..100 {
                assert_eq!(turns.take(), Some(now + PACE * (AT_ONCE as u32 + place)));
            }
            tokio::time::advance(PACE * 100).await;
            assert!(turns.take().is_some(), "the last of them have not come yet");
            tokio::time::advance(LONGEST).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let turns = Turns::new();
        let last = (0..1_000_000).fold(None, |_, _| turns.take());
        assert_eq!(last, Some(Instant::now() + LONGEST));
    }
}
