//! Accepted connections, as HTTP is served on them.

use crate::server::counts::Counts;
use crate::server::first_bytes::Protocol;
use crate::server::frames::Frames;
use crate::server::overdue::Overdue;
use crate::server::settings::ConnectionSettings;
use crate::server::turns::Turns;
use bytes::{Buf, Bytes};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// So much is read of a peer that sends without pause before others have their turn, in bytes. What it says is worked through as
/// it is read, and thousands of frames fit into what the system holds ready.
const TURN: usize = 32 * 1024;
/// The same of a peer that may be flooding: some thirty frames.
const SHORT_TURN: usize = 512;

/// When it comes; `None`: it is there.
type Turn = Option<Instant>;

/// A connection, plain or encrypted.
pub type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A connection that fails when its peer begins what it doesn't finish, floods it, or takes nothing of what it is sent.
///
/// It says that it can't write several buffers at once. It could. But where it can, h2 hands over every piece of an answer of
/// 256 bytes or more by itself, and ends up writing them one by one; where it can't, h2 copies pieces below 1 KiB together and
/// writes once. A copy is the cheaper by far.
pub struct Socket {
    stream: Stream,
    /// What was read before this was made.
    first: Bytes,
    /// What was read since the peer last had nothing to say, or others had their turn.
    read: usize,
    /// Where a peer that may be flooding takes its turns, and the one that it has, if it has read nothing in it.
    turns: Arc<Turns>,
    turn: Option<Turn>,
    until_turn: Overdue,
    /// Of HTTP/2.
    frames: Option<Frames>,
    stall_timeout: Duration,
    /// Since when the peer has taken nothing.
    blocked: Option<Instant>,
    overdue: Overdue,
    counts: Arc<Counts>,
}

impl Socket {
    /// Of a stream from which `first` has been read.
    pub fn new(
        stream: Stream,
        protocol: Protocol,
        first: Bytes,
        settings: &ConnectionSettings,
        turns: Arc<Turns>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            stream,
            first,
            read: 0,
            turns,
            turn: None,
            until_turn: Overdue::default(),
            frames: (protocol == Protocol::Http2).then(|| Frames::new(settings.header_timeout)),
            stall_timeout: settings.stall_timeout,
            blocked: None,
            overdue: Overdue::default(),
            counts,
        }
    }

    /// Waits for the turn of a peer that may be flooding. It has it until it says something.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let turn = self.turn.get_or_insert_with(|| self.turns.take());
        if let Some(time) = *turn {
            ready!(self.until_turn.poll(time, context));
            *turn = None;
        }
        Poll::Ready(())
    }

    /// What writing came to; an error when it has been waiting for too long.
    fn written<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        self.overdue.poll(since + self.stall_timeout, context).map(|()| {
            self.counts.stalled.up();
            Err(io::Error::new(ErrorKind::TimedOut, "the peer takes nothing"))
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let is_suspect = this.frames.as_ref().is_some_and(Frames::is_suspect);
        let turn = if is_suspect { SHORT_TURN } else { TURN };
        if this.read >= turn {
            this.read = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if is_suspect && this.read == 0 {
            ready!(this.poll_turn(context));
        }
        let room = buffer.remaining().min(turn - this.read);
        let mut said = ReadBuf::new(buffer.initialize_unfilled_to(room));
        if this.first.has_remaining() {
            said.put_slice(&this.first.split_to(this.first.len().min(room)));
        } else if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, &mut said) {
            read?;
        } else {
            this.read = 0;
            let Some(frames) = &mut this.frames else { return Poll::Pending };
            return frames.poll_overdue(context).map(|()| {
                this.counts.unruly.up();
                Err(io::Error::new(ErrorKind::TimedOut, "a frame or headers without end"))
            });
        }
        let said = said.filled();
        this.read += said.len();
        this.turn = None;
        let flood = this.frames.as_mut().is_some_and(|frames| frames.follow(said).is_err());
        let length = said.len();
        buffer.advance(length);
        Poll::Ready(if flood { Err(io::Error::new(ErrorKind::InvalidData, "a flood of frames")) } else { Ok(()) })
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        false
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.written(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(shut, context)
    }
}
