//! How many calls the server takes on at once. Beyond that it is quicker to say no than to have everybody wait.

use crate::wire::access::is_of_server;
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for calls in flight. Clones are the same room.
#[derive(Debug, Clone)]
pub struct Room {
    places: Option<Arc<Semaphore>>,
    size: usize,
}

impl Room {
    /// For so many calls; 0: for any number.
    pub fn new(size: usize) -> Room {
        let places = (size > 0).then(|| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS))));
        Room { places, size }
    }

    /// A place for a call of a method, which is to be kept until its answer begins; `None` if it needs none. Health and reflection
    /// don't: a server that has its hands full is not to be taken for dead.
    ///
    /// # Errors
    /// OVERLOADED.
    pub fn enter(&self, path: &str) -> Result<Option<OwnedSemaphorePermit>, Refused> {
        let Some(places) = self.places.as_ref().filter(|_| !is_of_server(path)) else { return Ok(None) };
        let place = places.clone().try_acquire_owned();
        place.map(Some).map_err(|_| {
            let limit = self.size.to_string();
            let text =
                format!("{limit} calls are in flight, which is all that the server takes on; repeat the call a little later");
            Refused::new(Reason::Overloaded, text, vec![("limit", limit)])
        })
    }
}
