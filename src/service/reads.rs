//! Reading sessions: as they were, event by event, and in lists.

use super::create::{PUBLIC, is_reserved_label};
use super::error::of_session;
use super::live::{check_link, read_event};
use super::{ServiceError, Sessions};
use crate::game::Position;
use crate::game::observer::Step;
use crate::session::{Event, EventHash, Micros, Session, View};
use crate::store::{Filter, Head, HeadPage, Place, Query, StoreError, StoredEvent};

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// The session's version with it.
    pub version: u32,
    /// When it was taken in.
    pub time: Micros,
    /// The caller's id of the request that caused it.
    pub request_id: Option<String>,
    /// What happened.
    pub event: Event,
    /// Its hash in the chain.
    pub hash: EventHash,
    /// The steps of its move, if they were asked for.
    pub steps: Vec<Step>,
}

impl EventRecord {
    fn new(stored: StoredEvent, event: Event, hash: EventHash) -> EventRecord {
        let request_id = stored.request.map(|request| request.id);
        EventRecord { version: stored.seq, time: stored.time, request_id, event, hash, steps: Vec::new() }
    }

    /// Of an event that was stored with its hash.
    pub(super) fn of(session_id: &str, stored: StoredEvent) -> Result<EventRecord, ServiceError> {
        let hash = stored.hash.ok_or_else(|| ServiceError::damaged(session_id, format!("event {} has no hash", stored.seq)))?;
        let event = read_event(session_id, &stored)?;
        Ok(EventRecord::new(stored, event, hash))
    }
}

/// Some events of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// In order.
    pub events: Vec<EventRecord>,
    /// The session's version, which may be further on.
    pub version: u32,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Those that are like this.
    pub filter: Filter,
    /// Only those after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

/// What the store knows of a session, what it shows, and its position.
pub type Shown = (Head, View, Position);

/// Sessions of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Newest first.
    pub sessions: Vec<Shown>,
    /// Where to go on after, if more may follow, which they may after a short page too.
    pub next: Option<Place>,
}

impl Sessions {
    /// Looks at a session as it was at a version.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::VersionAhead`], or the store's.
    pub async fn look_at<T>(&self, session_id: &str, version: u32, look: impl FnOnce(&Session) -> T) -> Result<T, ServiceError> {
        let session = self.load(session_id, version).await?.session;
        let current = session.version();
        if current < version { Err(ServiceError::VersionAhead { asked: version, current }) } else { Ok(look(&session)) }
    }

    /// Events after a version, at most `limit`.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::VersionAhead`], or the store's.
    pub async fn events(&self, session_id: &str, after: u32, limit: usize, want_steps: bool) -> Result<Events, ServiceError> {
        if self.time_is_out(&self.head(session_id).await?) {
            match self.settle_time(session_id).await {
                // What can't be replayed, or not be stored at present, can be read all the same.
                Ok(_) | Err(ServiceError::Damaged { .. } | ServiceError::Store(_) | ServiceError::Overloaded { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.stored_events(session_id, after, limit, want_steps).await
    }

    /// Events after a version as they are stored, at most `limit`, whether or not time is out.
    pub(super) async fn stored_events(
        &self,
        session_id: &str,
        after: u32,
        limit: usize,
        want_steps: bool,
    ) -> Result<Events, ServiceError> {
        let (stored, hashes) = self.chained(session_id, after, limit).await?;
        let version = self.version(session_id).await?;
        if after > version {
            return Err(ServiceError::VersionAhead { asked: after, current: version });
        }
        let mut replay = if want_steps && after > 0 { Some(self.load(session_id, after).await?.session) } else { None };
        let mut events = Vec::with_capacity(stored.len());
        for (stored, hash) in stored.into_iter().zip(hashes) {
            let event = read_event(session_id, &stored)?;
            let mut steps = Vec::new();
            if want_steps {
                replay = Some(step(session_id, replay, &event, stored.time, &mut steps)?);
            }
            events.push(EventRecord { steps, ..EventRecord::new(stored, event, hash) });
        }
        Ok(Events { events, version })
    }

    /// Stored events after a version, at most `limit`, with their hashes, which are right.
    async fn chained(
        &self,
        session_id: &str,
        after: u32,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, Vec<EventHash>), ServiceError> {
        // With the one before them, whose hash the first one covers.
        let before = usize::from(after > 0);
        let read = self
            .store
            .read(session_id, after - before as u32, limit.saturating_add(before))
            .await
            .map_err(of_session(session_id))?;
        let mut stored = read.ok_or_else(|| ServiceError::not_found(session_id))?;
        let prior = stored.drain(..before.min(stored.len())).next();
        let kept = prior.and_then(|prior| prior.hash);
        let mut head = match kept {
            Some(hash) => hash,
            None if after == 0 || stored.is_empty() => EventHash::START,
            None => self.load(session_id, after).await?.session.head_hash(),
        };
        let mut chained = kept.is_some();
        let mut hashes = Vec::with_capacity(stored.len());
        for event in &stored {
            head = check_link(session_id, head, chained, event)?;
            chained = event.hash.is_some();
            hashes.push(head);
        }
        Ok((stored, hashes))
    }

    /// A session's version as it is stored.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], or the store's.
    pub async fn version(&self, session_id: &str) -> Result<u32, ServiceError> {
        self.stored_version(session_id).await?.ok_or_else(|| ServiceError::not_found(session_id))
    }

    /// The same; none if it is not there.
    pub(super) async fn stored_version(&self, session_id: &str) -> Result<Option<u32>, ServiceError> {
        let versions = self.store.versions(vec![session_id.to_owned()]).await.map_err(of_session(session_id))?;
        Ok(versions.into_iter().next().flatten())
    }

    async fn head(&self, session_id: &str) -> Result<Head, ServiceError> {
        self.store.head(session_id).await.map_err(of_session(session_id))?.ok_or_else(|| ServiceError::not_found(session_id))
    }

    /// Whether the seat to act is out of time, by what the store keeps of a session for lists. If that can't be read it says nothing.
    fn time_is_out(&self, head: &Head) -> bool {
        let clock = View::from_json(&head.summary).ok().and_then(|view| view.clock);
        let deadline = clock.and_then(|clock| clock.deadline);
        deadline.is_some_and(|deadline| deadline < self.now().max(head.updated))
    }

    /// A page of sessions as they are stored, newest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, page: Page) -> Result<Listed, ServiceError> {
        let Page { filter, after, limit } = page;
        let HeadPage { heads, next } = self.store.list(Query { filter, after, limit }).await?;
        Ok(Listed { sessions: heads.into_iter().map(shown).collect::<Result<_, _>>()?, next })
    }

    /// Sessions as they are stored, each for itself: it may not be there, or what is stored of it may make no sense.
    ///
    /// # Errors
    /// The store's.
    pub async fn get_all(&self, session_ids: &[String]) -> Result<Vec<Result<Shown, ServiceError>>, ServiceError> {
        let heads = match self.store.heads(session_ids.to_vec()).await {
            Ok(heads) => heads,
            // Which of them it is, they say one by one.
            Err(StoreError::Damaged(_)) => return self.get_each(session_ids).await,
            Err(error) => return Err(error.into()),
        };
        let found = session_ids.iter().zip(heads);
        Ok(found.map(|(id, head)| shown(head.ok_or_else(|| ServiceError::not_found(id))?)).collect())
    }

    async fn get_each(&self, session_ids: &[String]) -> Result<Vec<Result<Shown, ServiceError>>, ServiceError> {
        let mut found = Vec::with_capacity(session_ids.len());
        for id in session_ids {
            found.push(match self.head(id).await {
                Ok(head) => shown(head),
                Err(error @ ServiceError::Store(_)) => return Err(error),
                Err(error) => Err(error),
            });
        }
        Ok(found)
    }
}

impl Page {
    /// Leaves only those sessions that everybody may find.
    pub fn only_public(&mut self) {
        self.filter.labels.insert(PUBLIC.to_owned(), String::new());
    }
}

pub(super) fn shown(mut head: Head) -> Result<Shown, ServiceError> {
    head.labels.retain(|name, _| !is_reserved_label(name));
    let view = View::from_json(&head.summary).map_err(|why| ServiceError::damaged(&head.session_id, why))?;
    let position = view.read_position(&head.game).map_err(|why| ServiceError::damaged(&head.session_id, why))?;
    Ok((head, view, position))
}

/// Takes an event in on a session that is replayed for its steps.
fn step(
    session_id: &str,
    session: Option<Session>,
    event: &Event,
    time: Micros,
    steps: &mut Vec<Step>,
) -> Result<Session, ServiceError> {
    let diverged = |divergence| ServiceError::diverged(session_id, &divergence);
    match (session, event) {
        (None, Event::Created(created)) => Session::new(session_id.to_owned(), created, time).map_err(diverged),
        (None, _) => Err(ServiceError::damaged(session_id, "its first event does not make it")),
        (Some(mut session), _) => {
            session.evolve(event, time, steps).map_err(diverged)?;
            Ok(session)
        }
    }
}
