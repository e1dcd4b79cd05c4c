//! How long streams live, and why they end.

use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tonic::Status;

/// What all streams have in common.
#[derive(Debug, Clone)]
pub struct StreamSettings {
    /// A watch of which nothing is to be told says so this often.
    pub heartbeat: Duration,
    /// So long a stream lives at most.
    pub longest: Duration,
    /// When the server stops, streams end spread over this time.
    pub stop_within: Duration,
    /// Watches that one session may have.
    pub watches_per_session: usize,
    /// Watches of single sessions that the bearer of a seat's token may have, and each address of those without one.
    pub watches_per_caller: usize,
    /// Becomes true when the server stops.
    pub stopping: watch::Receiver<bool>,
}

impl StreamSettings {
    /// The settings that a server has unless told otherwise.
    #[must_use]
    pub fn new(stopping: watch::Receiver<bool>) -> StreamSettings {
        StreamSettings {
            heartbeat: Duration::from_secs(15),
            longest: Duration::from_secs(3600),
            stop_within: Duration::from_secs(2),
            watches_per_session: 10_000,
            watches_per_caller: 20,
            stopping,
        }
    }
}

/// Why a stream waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// There may be news.
    News,
    /// A sign of life is due.
    Beat,
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is as old as streams may be.
    Aged,
    /// The server stops.
    Stopping,
    /// Its caller waits no longer than this.
    Deadline(Duration),
}

impl End {
    /// The status that a stream ends with, and what to resume after.
    pub fn status(self, resume_after: impl ToString) -> Status {
        let resume_after = || vec![("resume_after", resume_after.to_string())];
        let of = |why: Reason| Refused::new(why, why.description(), resume_after());
        match self {
            End::Aged => of(Reason::StreamAged),
            End::Stopping => of(Reason::StreamStopping),
            End::Deadline(limit) => {
                let limit = limit.as_millis().to_string();
                let text = format!("the stream has lasted {limit} ms, its caller's own limit");
                Refused::new(Reason::DeadlineExceeded, text, vec![("limit_ms", limit)])
            }
        }
        .into_status()
    }
}

/// The life of one stream.
pub struct Life {
    heartbeat: Duration,
    stop_within: Duration,
    stopping: watch::Receiver<bool>,
    /// When it ends, and why.
    end: Instant,
    why: End,
    beat: Instant,
}

impl Life {
    /// Begins now, and ends by the time that its caller gives it.
    pub fn new(settings: &StreamSettings, given: Option<Instant>) -> Life {
        let now = Instant::now();
        let longest = now + settings.longest;
        let (end, why) = match given {
            Some(given) if given < longest => (given, End::Deadline(given.saturating_duration_since(now))),
            _ => (longest, End::Aged),
        };
        Life {
            heartbeat: settings.heartbeat,
            stop_within: settings.stop_within,
            stopping: settings.stopping.clone(),
            end,
            why,
            beat: now + settings.heartbeat,
        }
    }

    /// Whether it goes on.
    ///
    /// # Errors
    /// Why it ends.
    pub fn check(&mut self) -> Result<(), End> {
        let now = Instant::now();
        if self.why != End::Stopping && *self.stopping.borrow() {
            self.stop(now);
        }
        if now >= self.end { Err(self.why) } else { Ok(()) }
    }

    /// A message goes out, and until the next beat none need.
    pub fn beat(&mut self) {
        self.beat = Instant::now() + self.heartbeat;
    }

    /// Whether a sign of life is due.
    pub fn is_beat_due(&self) -> bool {
        Instant::now() >= self.beat
    }

    /// Waits for news or for what else is due.
    ///
    /// # Errors
    /// Why it ends.
    pub async fn wait(&mut self, news: impl Future<Output = ()>) -> Result<Wake, End> {
        tokio::pin!(news);
        loop {
            let runs = self.why != End::Stopping;
            let stop = async {
                // Without a sender nobody stops it.
                if self.stopping.wait_for(|stopping| *stopping).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = &mut news => return Ok(Wake::News),
                () = sleep_until(self.beat.min(self.end)) => {
                    return if self.end <= self.beat { Err(self.why) } else { Ok(Wake::Beat) };
                }
                () = stop, if runs => self.stop(Instant::now()),
            }
        }
    }

    fn stop(&mut self, now: Instant) {
        self.why = End::Stopping;
        self.end = self.end.min(now + self.stop_within.mul_f64(spread()));
    }
}

/// Numbers from 0 to 1, evenly spread however many are asked for: multiples of the golden ratio.
fn spread() -> f64 {
    static STREAMS: AtomicU32 = AtomicU32::new(0);
    (f64::from(STREAMS.fetch_add(1, Ordering::Relaxed)) * 0.618_033_988_749_894_9).fract()
}
