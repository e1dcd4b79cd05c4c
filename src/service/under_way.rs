//! Changes that are under way. Each is a task of its own: a caller that goes away must not leave a half-done call behind, nor a slot
//! that knows less than the store.
//!
//! Such tasks outlive their calls. So they are counted by themselves: a store that hangs would gather more and more of them, however
//! few calls are in flight.

use super::ServiceError;
use super::error::join;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tracing::instrument::Instrument;

/// Room for changes under way. Clones are the same room.
#[derive(Clone)]
pub(super) struct UnderWay {
    places: Option<Arc<Semaphore>>,
    size: usize,
}

impl UnderWay {
    /// Room for so many; 0: for any number.
    pub(super) fn new(size: usize) -> UnderWay {
        let places = (size > 0).then(|| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS))));
        UnderWay { places, size }
    }

    /// Carries a change out to its end, whether or not anybody waits for it. It is boxed by whoever makes it: what it needs while it runs
    /// is some kilobytes, which would be copied at every step from there to its task.
    ///
    /// # Errors
    /// [`ServiceError::Overloaded`], or [`ServiceError::Stopping`].
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        change: Pin<Box<dyn Future<Output = T> + Send>>,
    ) -> Result<T, ServiceError> {
        let overloaded = |_| ServiceError::Overloaded { limit: self.size };
        let place = self.places.clone().map(|places| places.try_acquire_owned().map_err(overloaded)).transpose()?;
        let change = async move {
            let _place = place;
            change.await
        };
        join(tokio::spawn(change.in_current_span()).await)
    }
}
