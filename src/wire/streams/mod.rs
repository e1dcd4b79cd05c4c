//! Streams: watching one session, watching many, and playing.

mod life;
mod play;
mod session;
mod sessions;

pub use life::StreamSettings;
pub(super) use play::play;
pub(super) use session::Watcher;
pub(super) use sessions::Follower;

use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::pin::Pin;
use tonic::Status;

/// The messages of an answer.
pub type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What a stream takes its messages from.
pub(super) trait Source: Send + 'static {
    /// A message.
    type Message: Send + 'static;

    /// Waits for the next message. An error is the last one.
    fn next(&mut self) -> impl Future<Output = Result<Self::Message, Status>> + Send;
}

/// The messages of a source.
pub(super) fn messages<S: Source>(source: S) -> Messages<S::Message> {
    // Boxed, as it is moved to and fro and room for it would be kept at both places.
    Box::pin(try_unfold(Box::new(source), |mut source| async move {
        let message = source.next().await?;
        Ok(Some((message, source)))
    }))
}
