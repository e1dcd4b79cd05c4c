//! Follows the frames of an HTTP/2 connection as they are read, for two things that h2 leaves open: it waits without end for
//! the rest of a frame or of a request's headers, and it answers any number of frames that ask for nothing.

use crate::server::first_bytes::{FRAME_HEADER, PREFACE};
use crate::server::overdue::Overdue;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// What frames that ask for nothing may cost in a second. Clients that measure the delay of a connection send thousands.
const BUDGET: u32 = 10_000;
/// From here on the connection has shorter turns.
const SUSPECT: u32 = BUDGET / 20;
const BUDGET_TIME: Duration = Duration::from_secs(1);
/// What a reset costs: the call before it has been begun.
const RESET_COST: u32 = 10;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// See the module.
pub struct Frames {
    patience: Duration,
    header: [u8; FRAME_HEADER],
    /// Bytes of the header that are there.
    filled: usize,
    /// Bytes of the payload that are to come; before the first frame, of the preface.
    left: usize,
    /// Whether headers have begun that more frames are to complete.
    in_headers: bool,
    /// Whether the headers of a first call have been complete.
    has_called: bool,
    /// Since when a frame or headers have been incomplete.
    begun: Option<Instant>,
    overdue: Overdue,
    spent: u32,
    spent_since: Instant,
}

/// There were too many frames that ask for nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Flood;

impl Frames {
    /// Of a connection of which nothing has been read. A frame or headers may take `patience` until they are complete.
    pub fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            patience,
            header: [0; FRAME_HEADER],
            filled: 0,
            left: PREFACE.len(),
            in_headers: false,
            has_called: false,
            begun: Some(now),
            overdue: Overdue::default(),
            spent: 0,
            spent_since: now,
        }
    }

    /// Follows what has been read.
    pub fn follow(&mut self, mut bytes: &[u8]) -> Result<(), Flood> {
        let now = Instant::now();
        let mut completed = false;
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
            } else {
                let taken = (FRAME_HEADER - self.filled).min(bytes.len());
                self.header[self.filled..][..taken].copy_from_slice(&bytes[..taken]);
                self.filled += taken;
                bytes = &bytes[taken..];
                if self.filled < FRAME_HEADER {
                    continue;
                }
                self.filled = 0;
                self.begin_frame(now)?;
            }
            completed |= self.left == 0 && !self.in_headers;
        }
        let complete = self.left == 0 && self.filled == 0 && !self.in_headers;
        self.begun = match self.begun {
            _ if complete => None,
            Some(begun) if !completed => Some(begun),
            _ => Some(now),
        };
        Ok(())
    }

    fn begin_frame(&mut self, now: Instant) -> Result<(), Flood> {
        let [a, b, c, kind, flags, ..] = self.header;
        self.left = u32::from_be_bytes([0, a, b, c]) as usize;
        let cost = match kind {
            HEADERS | CONTINUATION => {
                self.in_headers = flags & END_HEADERS == 0;
                self.has_called |= !self.in_headers;
                0
            }
            WINDOW_UPDATE => 0,
            DATA if self.left > 0 || flags & END_STREAM != 0 => 0,
            RST_STREAM => RESET_COST,
            // SETTINGS, PING, PRIORITY, empty DATA and what nobody knows.
            _ => 1,
        };
        if now - self.spent_since >= BUDGET_TIME {
            (self.spent, self.spent_since) = (0, now);
        }
        self.spent += cost;
        if self.spent > BUDGET { Err(Flood) } else { Ok(()) }
    }

    /// Whether nothing has been called yet, much of what was read lately asks for nothing, or it is headers that take more than a
    /// frame.
    pub fn is_suspect(&self) -> bool {
        !self.has_called || self.spent > SUSPECT || self.in_headers
    }

    /// Completes when a frame or headers have been incomplete for too long.
    pub fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.begun {
            Some(begun) => self.overdue.poll(begun + self.patience, context),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let [_, a, b, c] = (payload as u32).to_be_bytes();
        [&[a, b, c, kind, flags, 0, 0, 0, 1][..], &vec![7; payload]].concat()
    }

    async fn overdue(frames: &mut Frames, after: Duration) -> bool {
        tokio::time::timeout(after, poll_fn(|context| frames.poll_overdue(context))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_complete_may_be_silent_and_what_is_not_must_go_on() {
        let said =
            [PREFACE, &frame(4, 0, 6), &frame(HEADERS, 0, 20), &frame(CONTINUATION, END_HEADERS, 3), &frame(DATA, 0, 5)].concat();
        // Where the preface, the settings, the headers and the data end.
        let complete = [24, 39, said.len() - 14, said.len()];
        for cut in 1..=said.len() {
            let mut frames = Frames::new(PATIENCE);
            let (first, second) = said[..cut].split_at(cut / 2);
            frames.follow(first).expect("no flood");
            frames.follow(second).expect("no flood");
            assert_eq!(overdue(&mut frames, PATIENCE * 2).await, !complete.contains(&cut), "{cut} bytes");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn drops_of_headers_do_not_renew_the_time_but_each_frame_has_its_own() {
        let mut frames = Frames::new(PATIENCE);
        frames.follow(PREFACE).expect("no flood");
        assert!(frames.is_suspect(), "it has not called yet");
        frames.follow(&frame(HEADERS, END_HEADERS, 1)).expect("no flood");
        for _ in 0..4 {
            frames.follow(&frame(DATA, 0, 10)[..15]).expect("no flood");
            assert!(!overdue(&mut frames, PATIENCE - Duration::from_secs(1)).await);
            frames.follow(&frame(DATA, 0, 10)[15..]).expect("no flood");
        }
        assert!(!frames.is_suspect());
        frames.follow(&frame(HEADERS, 0, 1)).expect("no flood");
        for _ in 0..4 {
            assert!(!overdue(&mut frames, Duration::from_secs(1)).await);
            assert!(frames.is_suspect());
            frames.follow(&frame(CONTINUATION, 0, 1)).expect("no flood");
        }
        assert!(overdue(&mut frames, Duration::from_secs(2)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_ask_for_nothing_are_so_many_a_second() {
        for (kind, many) in [(6, BUDGET), (4, BUDGET), (DATA, BUDGET), (99, BUDGET), (RST_STREAM, BUDGET / RESET_COST)] {
            let mut frames = Frames::new(PATIENCE);
            frames.follow(PREFACE).expect("no flood");
            let one = frame(kind, 0, 0);
            for _ in 0..2 {
                frames.follow(&one.repeat(many as usize)).expect("no flood");
                tokio::time::advance(BUDGET_TIME).await;
            }
            frames.follow(&one.repeat(many as usize)).expect("no flood");
            assert_eq!(frames.follow(&one), Err(Flood), "kind {kind}");
        }
        let mut frames = Frames::new(PATIENCE);
        frames.follow(PREFACE).expect("no flood");
        let call = [frame(HEADERS, END_HEADERS, 4), frame(DATA, END_STREAM, 0), frame(WINDOW_UPDATE, 0, 4)].concat();
        frames.follow(&call.repeat(20_000)).expect("calls are no flood");
    }
}
