//! How many sessions that are being played each operator may have.
//!
//! Counting them for every new one would cost more than making it. So a count says how many more there is room for, and the next
//! count is due when that room is used up. Sessions that end meanwhile only make for more room than is known.

use super::create::CREATOR;
use super::{ServiceError, Sessions};
use crate::session::State;
use crate::store::{Filter, Request, Store};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// The quota of each operator, and what is known of its use.
pub(super) struct Quota {
    limit: usize,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
}

/// What is known of an operator's room.
#[derive(Default)]
struct Room {
    /// Held for reading while sessions are made, and for writing while they are counted: what is being made is neither counted nor
    /// forgotten.
    making: Arc<RwLock<()>>,
    /// How many more there is room for at least.
    left: AtomicUsize,
}

/// Room for sessions to make; to be kept until they are stored.
pub(super) struct Reserved {
    _making: Option<OwnedRwLockReadGuard<()>>,
}

impl Quota {
    /// Of so many sessions; 0: any number.
    pub(super) fn new(limit: usize) -> Quota {
        Quota { limit, rooms: Mutex::default() }
    }

    fn room(&self, creator: &str) -> Arc<Room> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(creator) {
            return room.clone();
        }
        rooms.entry(creator.to_owned()).or_default().clone()
    }

    /// Reserves room for sessions; `None` if there is not enough.
    async fn reserve(&self, store: &dyn Store, creator: &str, sessions: usize) -> Result<Option<Reserved>, ServiceError> {
        let room = self.room(creator);
        let making = room.making.clone().read_owned().await;
        if room.take(sessions) {
            return Ok(Some(Reserved { _making: Some(making) }));
        }
        drop(making);
        let counting = room.making.clone().write_owned().await;
        if !room.take(sessions) {
            let labels = [(CREATOR.to_owned(), creator.to_owned())].into();
            let filter = Filter { state: Some(State::Active), labels, ..Filter::default() };
            let active = store.count(filter, self.limit).await?;
            room.left.store(self.limit.saturating_sub(active), Ordering::Relaxed);
            if !room.take(sessions) {
                return Ok(None);
            }
        }
        Ok(Some(Reserved { _making: Some(counting.downgrade()) }))
    }
}

impl Room {
    /// Takes room for so many, if there is.
    fn take(&self, sessions: usize) -> bool {
        let less = |left: usize| left.checked_sub(sessions);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl Sessions {
    /// Room for sessions that an operator makes. A request that has made them before needs none.
    ///
    /// # Errors
    /// [`ServiceError::QuotaExceeded`], or the store's.
    pub(super) async fn reserve(
        &self,
        creator: Option<&str>,
        sessions: usize,
        request: Option<&Request>,
    ) -> Result<Reserved, ServiceError> {
        let Some(creator) = creator.filter(|_| self.quota.limit > 0) else { return Ok(Reserved { _making: None }) };
        if let Some(reserved) = self.quota.reserve(&*self.store, creator, sessions).await? {
            return Ok(reserved);
        }
        if let Some(request) = request
            && self.store.creation(&request.id).await?.is_some()
        {
            return Ok(Reserved { _making: None });
        }
        Err(ServiceError::QuotaExceeded { operator: creator.to_owned(), limit: self.quota.limit })
    }
}
