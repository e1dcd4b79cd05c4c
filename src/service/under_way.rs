//! Changes that are under way: a caller that goes away must not leave a half-done call behind, nor a slot that knows less than the
//! store.
//!
//! A change is carried out where its caller waits for it, which takes no task and no wake-up of its own. If the caller goes away
//! meanwhile, what is left of it becomes a task. Such changes outlive their calls. So they are counted by themselves: a store that
//! hangs would gather more and more of them, however few calls are in flight.

use super::ServiceError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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

    /// Carries a change out to its end, whether or not anybody waits for it. It is boxed, so that it can move to a task of its own.
    ///
    /// # Errors
    /// [`ServiceError::Overloaded`].
    pub(super) async fn carry_out<T: Send + 'static>(&self, change: Boxed<T>) -> Result<T, ServiceError> {
        let overloaded = |_| ServiceError::Overloaded { limit: self.size };
        let place = self.places.clone().map(|places| places.try_acquire_owned().map_err(overloaded)).transpose()?;
        Ok(Change(Some((change, place))).await)
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A change with its place, until it is done.
struct Change<T: Send + 'static>(Option<(Boxed<T>, Option<OwnedSemaphorePermit>)>);

impl<T: Send + 'static> Future for Change<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Out of its place while it runs: one that panics is not carried on.
        let (mut change, place) = self.0.take().expect("it is not done yet");
        let polled = change.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some((change, place));
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Change<T> {
    fn drop(&mut self) {
        let Some((change, place)) = self.0.take() else { return };
        // Without a runtime the whole server is ending.
        if let Ok(runtime) = Handle::try_current() {
            let rest = async move {
                let _place = place;
                change.await;
            };
            runtime.spawn(rest.in_current_span());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_change_goes_on_without_its_caller_and_keeps_its_place_until_it_is_done() {
        let under_way = UnderWay::new(1);
        let (go, wait) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let change = Box::pin(async move {
            wait.await.expect("a word");
            done.send(()).expect("it is waited for");
        });
        let mut caller = Box::pin(under_way.carry_out(change));
        let begun = std::future::poll_fn(|context| Poll::Ready(caller.as_mut().poll(context))).await;
        assert!(begun.is_pending());
        drop(caller);
        let other = under_way.carry_out(Box::pin(async {}));
        assert_eq!(other.await, Err(ServiceError::Overloaded { limit: 1 }));
        go.send(()).expect("it goes on");
        is_done.await.expect("it is done");
        while under_way.places.as_ref().is_some_and(|places| places.available_permits() == 0) {
            yield_now().await;
        }
        assert_eq!(under_way.carry_out(Box::pin(async { 7 })).await, Ok(7));
    }

    #[tokio::test]
    async fn a_change_that_panics_is_not_carried_on() {
        let under_way = UnderWay::new(1);
        let carried = under_way.clone();
        let caller = tokio::spawn(async move { carried.carry_out(Box::pin(async { panic!("on purpose") })).await });
        let panicked: Result<Result<(), _>, _> = caller.await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(under_way.carry_out(Box::pin(async { 7 })).await, Ok(7), "its place is free");
    }
}
