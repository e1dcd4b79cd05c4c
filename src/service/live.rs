//! Sessions in memory: what of them is kept, and how they are read from the store.

use super::error::of_session;
use super::{ServiceError, Sessions};
use crate::game::observer::Observer;
use crate::session::{Credential, Event, EventHash, Micros, Session};
use crate::store::{Request, StoredEvent};
use std::collections::HashMap;

/// A session in memory, and the requests that made it what it is.
pub(super) struct Live {
    pub(super) session: Session,
    /// Its last event was stored with its hash, and so must be whatever follows.
    chained: bool,
    requests: HashMap<String, Answered>,
}

/// A request that was answered, by the versions of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) digest: [u8; 32],
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Live {
    /// Of a session that this request has just made, by an event that has no hash yet.
    pub(super) fn new(session: Session, request: Option<&Request>) -> Live {
        let mut live = Live { session, chained: false, requests: HashMap::new() };
        live.remember(request, 1);
        live
    }

    /// The answer that a request was given.
    pub(super) fn answered(&self, request_id: &str) -> Option<Answered> {
        self.requests.get(request_id).copied()
    }

    /// Takes in an event, which has no hash yet.
    pub(super) fn take_in(
        &mut self,
        event: &Event,
        time: Micros,
        request: Option<&Request>,
        observer: &mut impl Observer,
    ) -> Result<(), ServiceError> {
        let evolved = self.session.evolve(event, time, observer);
        evolved.map_err(|divergence| ServiceError::diverged(self.session.id(), &divergence))?;
        self.remember(request, self.session.version());
        Ok(())
    }

    /// Gives the event that was just taken in its hash, by which it is to be stored.
    pub(super) fn seal(&mut self, time: Micros, request: Option<&Request>, body: &str) -> EventHash {
        let request_id = request.map(|request| request.id.as_str());
        let hash = self.session.head_hash().then(self.session.version(), time, request_id, body);
        self.session.seal(hash);
        self.chained = true;
        hash
    }

    /// Gives the event that was just taken in the hash that it is stored with, if that is right.
    pub(super) fn seal_stored(&mut self, stored: &StoredEvent) -> Result<(), ServiceError> {
        let hash = check_link(self.session.id(), self.session.head_hash(), self.chained, stored)?;
        self.session.seal(hash);
        self.chained = stored.hash.is_some();
        Ok(())
    }

    fn remember(&mut self, request: Option<&Request>, version: u32) {
        if let Some(request) = request {
            let new = Answered { digest: request.digest, first: version, last: version };
            self.requests.entry(request.id.clone()).or_insert(new).last = version;
        }
    }
}

/// Events that are read from the store at a time.
pub(super) const PAGE: usize = 1_000;

impl Sessions {
    /// Looks at a session as it stands. If the seat to act is out of time, the round ends by that first.
    ///
    /// # Errors
    /// When it is not there or can't be read.
    pub async fn look<T>(&self, session_id: &str, look: impl FnOnce(&Session) -> T) -> Result<T, ServiceError> {
        let slot = self.slots.get(session_id);
        let mut settled = true;
        loop {
            let mut slot = slot.lock().await;
            let session = &self.current(session_id, &mut slot).await?.session;
            // Where no clock runs, the time is of no matter.
            let out = settled && session.deadline().is_some() && session.timed_out(self.time_for(session)).is_some();
            if !out {
                return Ok(look(session));
            }
            drop(slot);
            settled = match Box::pin(self.settle_time(session_id)).await {
                Ok(_) => true,
                // What can't be stored has not happened, and nobody is kept from reading.
                Err(ServiceError::Store(_) | ServiceError::Overloaded { .. }) => false,
                Err(error) => return Err(error),
            };
        }
    }

    /// Whether a session's seats accept what a caller shows. Nothing else is looked at, time that is out neither: what the caller wants is
    /// to meet the round that it was meant for.
    ///
    /// # Errors
    /// When the session is not there or can't be read.
    pub async fn accepts(&self, session_id: &str, credential: &Credential) -> Result<bool, ServiceError> {
        let slot = self.slots.get(session_id);
        let mut slot = slot.lock().await;
        Ok(self.current(session_id, &mut slot).await?.session.seats().accept(credential))
    }

    /// Ends the round of a session whose seat to act is out of time. Whether it was this call that did it.
    ///
    /// # Errors
    /// When it is not there or can't be read, or the store's.
    pub async fn settle_time(&self, session_id: &str) -> Result<bool, ServiceError> {
        let (sessions, session_id) = (self.clone(), session_id.to_owned());
        self.under_way.carry_out(Box::pin(async move { sessions.settle_now(&session_id).await })).await?
    }

    /// The same, to be carried out to its end.
    pub(super) async fn settle_now(&self, session_id: &str) -> Result<bool, ServiceError> {
        let slot = self.slots.get(session_id);
        let mut slot = slot.lock().await;
        // Who has not heard of the last moves would find no clock running.
        let session = &self.current(session_id, &mut slot).await?.session;
        let now = self.time_of_next(session);
        match session.timed_out(now) {
            Some(events) => Ok(self.commit(&mut slot, &events, None, now).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The session of a slot as the store has it now. Where other servers write to the store too, what is in memory may be old,
    /// and an answer must not know less than one that was given elsewhere before.
    pub(super) async fn current<'a>(
        &self,
        session_id: &str,
        slot: &'a mut Option<Box<Live>>,
    ) -> Result<&'a mut Live, ServiceError> {
        if self.store.is_shared()
            && let Some(live) = slot.take()
        {
            match Box::pin(self.catch_up(*live)).await {
                Ok(live) => *slot = Some(Box::new(live)),
                Err(error) => {
                    self.slots.forget(session_id);
                    return Err(error);
                }
            }
        }
        self.fill(session_id, slot).await
    }

    /// A session in memory with what has been stored since.
    async fn catch_up(&self, live: Live) -> Result<Live, ServiceError> {
        let session_id = live.session.id().to_owned();
        match self.stored_version(&session_id).await? {
            None => Err(ServiceError::not_found(&session_id)),
            Some(version) if version == live.session.version() => Ok(live),
            Some(_) => self.load_on(&session_id, Some(live), u32::MAX).await,
        }
    }

    /// The session of a slot, read from the store if there is nothing in it. What is rare is boxed here and where this is used: otherwise
    /// every call would make room for it.
    pub(super) async fn fill<'a>(&self, session_id: &str, slot: &'a mut Option<Box<Live>>) -> Result<&'a mut Live, ServiceError> {
        if slot.is_some() {
            self.counts.cache_hits.add(1);
        } else {
            self.counts.cache_misses.add(1);
            match Box::pin(self.load(session_id, u32::MAX)).await {
                Ok(live) => *slot = Some(Box::new(live)),
                Err(error) => {
                    self.slots.forget(session_id);
                    return Err(error);
                }
            }
        }
        slot.as_deref_mut().ok_or_else(|| ServiceError::not_found(session_id))
    }

    /// Reads a session as it was at a version, or as it is now if it has not come that far.
    pub(super) async fn load(&self, session_id: &str, version: u32) -> Result<Live, ServiceError> {
        self.load_on(session_id, None, version).await
    }

    /// Reads a session up to a version, from what is in memory on.
    async fn load_on(&self, session_id: &str, mut live: Option<Live>, version: u32) -> Result<Live, ServiceError> {
        loop {
            let after = live.as_ref().map_or(0, |live| live.session.version());
            let limit = PAGE.min((version - after) as usize);
            let read = self.store.read(session_id, after, limit).await.map_err(of_session(session_id))?;
            let events = read.ok_or_else(|| ServiceError::not_found(session_id))?;
            let last_page = events.len() < PAGE;
            for event in &events {
                live = Some(append(session_id, live, event)?);
            }
            if last_page {
                return live.ok_or_else(|| ServiceError::damaged(session_id, "it has no events"));
            }
        }
    }
}

/// The session with one more stored event.
pub(super) fn append(session_id: &str, live: Option<Live>, stored: &StoredEvent) -> Result<Live, ServiceError> {
    let event = read_event(session_id, stored)?;
    let mut live = match (live, &event) {
        (None, Event::Created(created)) => {
            let session = Session::new(session_id.to_owned(), created, stored.time)
                .map_err(|divergence| ServiceError::diverged(session_id, &divergence))?;
            let mut live = Live::new(session, stored.request.as_ref());
            live.seal_stored(stored)?;
            return Ok(live);
        }
        (None, _) => return Err(ServiceError::damaged(session_id, "its first event does not make it")),
        (Some(live), _) => live,
    };
    live.take_in(&event, stored.time, stored.request.as_ref(), &mut ())?;
    live.seal_stored(stored)?;
    Ok(live)
}

/// The hash of a stored event after one with the hash `head`, if it is stored with this one. Events that are older than hashes
/// have none, but none follows on one that has (`chained`).
pub(super) fn check_link(
    session_id: &str,
    head: EventHash,
    chained: bool,
    stored: &StoredEvent,
) -> Result<EventHash, ServiceError> {
    let request_id = stored.request.as_ref().map(|request| request.id.as_str());
    let hash = head.then(stored.seq, stored.time, request_id, &stored.body);
    match stored.hash {
        Some(kept) if kept == hash => Ok(hash),
        None if !chained => Ok(hash),
        Some(_) | None => {
            let what = format!("event {}: its hash is not that of what is stored of it and of the events before it", stored.seq);
            Err(ServiceError::damaged(session_id, what))
        }
    }
}

pub(super) fn read_event(session_id: &str, stored: &StoredEvent) -> Result<Event, ServiceError> {
    Event::from_json(&stored.body).map_err(|why| ServiceError::damaged(session_id, format!("event {}: {why}", stored.seq)))
}
