//! Accepted connections, as HTTP is served on them.

use crate::server::counts::Counts;
use crate::server::first_bytes::Protocol;
use crate::server::frames::Frames;
use crate::server::overdue::Overdue;
use crate::server::settings::ConnectionSettings;
use bytes::{Buf, Bytes};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// So much, and the rest of a buffer, is read of a peer that sends without pause before others have their turn, in bytes. What it says is
/// worked through as it is read, and thousands of frames fit into what the system holds ready.
const TURN: usize = 32 * 1024;
/// The same of a peer that may be flooding: some thirty frames.
const SHORT_TURN: usize = 512;

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
    pub fn new(stream: Stream, protocol: Protocol, first: Bytes, settings: &ConnectionSettings, counts: Arc<Counts>) -> Self {
        let frames = (protocol == Protocol::Http2).then(|| Frames::new(settings.header_timeout));
        let (blocked, overdue) = (None, Overdue::default());
        Self { stream, first, read: 0, frames, stall_timeout: settings.stall_timeout, blocked, overdue, counts }
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

    /// Reads at most so much of the stream, which is no more than [`SHORT_TURN`], or whatever fills the buffer. A buffer is not cut to the
    /// rest of a turn: the piece would have to be filled with zeros first, up to 32 KiB for each time that something is read.
    fn read_stream(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        at_most: Option<usize>,
    ) -> Poll<io::Result<()>> {
        let stream = Pin::new(&mut self.stream);
        let Some(room) = at_most else { return stream.poll_read(context, buffer) };
        let mut bytes = [0; SHORT_TURN];
        let mut said = ReadBuf::new(&mut bytes[..room]);
        let read = stream.poll_read(context, &mut said);
        buffer.put_slice(said.filled());
        read
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
        let room = buffer.remaining().min(turn - this.read);
        let before = buffer.filled().len();
        if this.first.has_remaining() {
            buffer.put_slice(&this.first.split_to(this.first.len().min(room)));
        } else if let Poll::Ready(read) = this.read_stream(context, buffer, is_suspect.then_some(room)) {
            read?;
        } else {
            this.read = 0;
            let Some(frames) = &mut this.frames else { return Poll::Pending };
            return frames.poll_overdue(context).map(|()| {
                this.counts.unruly.up();
                Err(io::Error::new(ErrorKind::TimedOut, "a frame or headers without end"))
            });
        }
        let said = &buffer.filled()[before..];
        this.read += said.len();
        let flood = this.frames.as_mut().is_some_and(|frames| frames.follow(said).is_err());
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

    /// A plain connection is closed by being dropped, which is at once, unless its peer is held for what it did. It is not to know that its
    /// next connection would be worth more.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.stream {
            Either::Left(plain) => Pin::new(plain).poll_flush(context),
            Either::Right(encrypted) => Pin::new(encrypted).poll_shutdown(context),
        };
        self.written(shut, context)
    }
}
