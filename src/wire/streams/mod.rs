//! Streams: watching one session, watching many, and playing.

mod life;
mod owner;
mod play;
mod play_commands;
mod play_watches;
mod session;
mod sessions;

pub use life::StreamSettings;
pub use owner::Origin;
pub(super) use owner::{Holders, Owner};
pub(super) use play::play;
pub(super) use session::Watcher;
pub(super) use sessions::Follower;

use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::future::pending;
use std::panic::resume_unwind;
use std::pin::Pin;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tracing::Instrument;

/// The messages of an answer.
pub type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What a stream takes its messages from.
pub(super) trait Source: Send + 'static {
    /// A message.
    type Message: Send + 'static;

    /// The message that is due now, if one is. An error is the last one.
    fn look(&mut self) -> impl Future<Output = Result<Option<Self::Message>, Status>> + Send;

    /// Waits until one may be due. An error is the last one.
    fn wait(&mut self) -> impl Future<Output = Result<(), Status>> + Send;
}

/// The messages of a source.
pub(super) fn messages<S: Source>(source: S) -> Messages<S::Message> {
    // Boxed, as it is moved to and fro and room for it would be kept at every place.
    Box::pin(try_unfold(Box::new(source), |mut source| async move {
        loop {
            let (looked, found) = look(source).await;
            source = looked;
            if let Some(message) = found? {
                return Ok(Some((message, source)));
            }
            source.wait().await?;
        }
    }))
}

/// Looks in a task of its own. A stream is carried on only while its peer grants room, and whoever looks may hold what others wait
/// for: a peer that grants none must not keep it from them. While it waits, a stream keeps no room for looking either. Looking ends with
/// the stream.
async fn look<S: Source>(mut source: Box<S>) -> (Box<S>, Result<Option<S::Message>, Status>) {
    let looking = async move {
        let found = source.look().await;
        (source, found)
    };
    match AbortOnDropHandle::new(tokio::spawn(looking.in_current_span())).await {
        Ok(looked) => looked,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Nobody cancels it while it is waited for but a runtime that stops, with which this ends too.
            Err(_cancelled) => pending().await,
        },
    }
}
