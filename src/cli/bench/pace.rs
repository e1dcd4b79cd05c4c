//! When calls are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Gives out tickets, one for each call that may begin.
///
/// With a rate a ticket is due at a time that does not depend on how fast calls are answered, and a call's latency counts
/// from there. So a stall is seen in the latencies of all calls that it held up, and not in one.
#[derive(Clone)]
pub struct Pace {
    tickets: Arc<Semaphore>,
    taken: Arc<AtomicU64>,
    schedule: Option<Schedule>,
}

#[derive(Clone, Copy)]
struct Schedule {
    start: Instant,
    rate: u32,
}

impl Schedule {
    /// When the ticket of this number, from 0, is due.
    fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_secs_f64(number as f64 / f64::from(self.rate))
    }

    /// How many are due by now.
    fn due_by(&self, now: Instant) -> u64 {
        (now.duration_since(self.start).as_secs_f64() * f64::from(self.rate)) as u64 + 1
    }
}

impl Pace {
    /// Begins now: at so many calls per second, or with no limit.
    pub fn start(rate: Option<u32>) -> Pace {
        let schedule = rate.map(|rate| Schedule { start: Instant::now(), rate });
        let at_once = if schedule.is_some() { 0 } else { Semaphore::MAX_PERMITS };
        let pace = Pace { tickets: Arc::new(Semaphore::new(at_once)), taken: Arc::default(), schedule };
        if let Some(schedule) = schedule {
            let tickets = pace.tickets.clone();
            // A thread of its own: tokio's timers are a millisecond apart, which would be seen in the latencies.
            thread::spawn(move || hand_out(schedule, &tickets));
        }
        pace
    }

    /// Waits for a ticket; gives the time from which its call's latency counts, or `None` when time is up.
    pub async fn next(&self) -> Option<Instant> {
        self.tickets.acquire().await.ok()?.forget();
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        Some(self.schedule.map_or_else(Instant::now, |schedule| schedule.due(number)))
    }

    /// Gives out no more tickets. Returns how many were due and not taken.
    pub fn stop(&self) -> u64 {
        self.tickets.close();
        if self.schedule.is_some() { self.tickets.available_permits() as u64 } else { 0 }
    }
}

/// Adds tickets as they fall due, until they are no longer wanted.
fn hand_out(schedule: Schedule, tickets: &Semaphore) {
    let mut given = 0;
    while !tickets.is_closed() {
        let due = schedule.due_by(Instant::now());
        tickets.add_permits((due - given) as usize);
        given = due;
        thread::sleep(schedule.due(given).saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tickets_are_due_at_the_rate_however_late_they_are_taken() {
        let pace = Pace::start(Some(1_000));
        let first = pace.next().await.expect("a ticket");
        // Nobody takes any for a while.
        while pace.tickets.available_permits() < 20 {
            tokio::task::yield_now().await;
        }
        for number in 1..20 {
            let due = pace.next().await.expect("a ticket");
            assert_eq!(due - first, Duration::from_millis(number));
            assert!(due <= Instant::now());
        }
        assert!(pace.stop() >= 1);
        assert_eq!(pace.next().await, None);
    }

    #[tokio::test]
    async fn without_a_rate_tickets_are_there_until_the_stop() {
        let pace = Pace::start(None);
        let before = Instant::now();
        assert!(pace.next().await.is_some_and(|from| from >= before));
        assert_eq!(pace.stop(), 0);
        assert_eq!(pace.next().await, None);
    }
}
