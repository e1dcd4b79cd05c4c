//! Making sessions.

use super::error::join;
use super::request::{digest, request};
use super::{RequestId, ServiceError, Sessions};
use crate::game::{Guards, Position, Rules};
use crate::session::{ClockSetting, Created as CreatedEvent, Event, Session, View};
use crate::store::{self, Create, Created, Head, Request};
use std::collections::BTreeMap;

/// A session to make, checked already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Chosen by the client, or made here.
    pub session_id: Option<String>,
    /// Game and options.
    pub rules: Rules,
    /// Guards.
    pub guards: Guards,
    /// First position.
    pub start: Position,
    /// The caller's own marks.
    pub labels: BTreeMap<String, String>,
    /// The most rounds that are played, at least one.
    pub rounds: u32,
    /// How time is limited.
    pub clock: Option<ClockSetting>,
    /// The session that this one is the rematch of.
    pub previous_session_id: Option<String>,
    /// The caller's id of the request.
    pub request_id: RequestId,
}

/// A session that was made.
pub struct Made {
    /// As it was at first.
    pub session: Session,
    /// It was made before, by the same request.
    pub replayed: bool,
}

impl NewSession {
    fn event(&self) -> CreatedEvent {
        CreatedEvent {
            game: self.rules.game().id().to_owned(),
            options: self.rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            guards: self.guards.into(),
            position: self.start.to_string(),
            labels: self.labels.clone(),
            rounds: self.rounds,
            clock: self.clock,
            previous_session_id: self.previous_session_id.clone(),
        }
    }
}

impl Sessions {
    /// Makes a session. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::IdTaken`], [`ServiceError::RequestIdReused`], [`ServiceError::NotFound`] when it was made by the same request
    /// and deleted since, or the store's.
    pub async fn create(&self, new: NewSession) -> Result<Made, ServiceError> {
        let created = new.event();
        let id = new.session_id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let now = self.clock.now();
        let first = Event::Created(created.clone());
        let mut session = Session::new(id.clone(), &created, now).map_err(|error| ServiceError::diverged(&id, &error))?;
        let more = session.end_at_start();
        for event in &more {
            session.evolve(event, now, &mut ()).map_err(|error| ServiceError::diverged(&id, &error))?;
        }
        let bodies: Vec<_> = [first].iter().chain(&more).map(Event::to_json).collect();
        let request =
            request(&new.request_id, || digest(&[&"create", &new.session_id.as_deref().unwrap_or_default(), &bodies[0]]));
        let create = Create { head: head(&session), events: bodies, request: request.clone() };
        if let Some(&hash) = create.hashes().last() {
            session.seal(hash);
        }
        // In a task of its own: a caller that goes away must not leave a half-done call behind.
        let store = self.store.clone();
        let outcome = tokio::spawn(async move { store.create(create).await });
        match join(outcome.await)?? {
            Created::Done => Ok(Made { session, replayed: false }),
            Created::IdTaken => Err(ServiceError::IdTaken { session_id: id }),
            Created::Repeated(creation) => self.made_before(creation, request, None).await,
        }
    }

    /// The answer that a request was given which made a session, as it was with its first events: so many, or those that it begins
    /// with by itself.
    pub(super) async fn made_before(
        &self,
        creation: store::Creation,
        request: Option<Request>,
        events: Option<u32>,
    ) -> Result<Made, ServiceError> {
        if request.is_none_or(|request| request.digest != creation.request.digest) {
            return Err(ServiceError::RequestIdReused { request_id: creation.request.id });
        }
        if creation.deleted {
            return Err(ServiceError::not_found(&creation.session_id));
        }
        let events = match events {
            Some(events) => events,
            None => 1 + self.load(&creation.session_id, 1).await?.session.end_at_start().len() as u32,
        };
        Ok(Made { session: self.load(&creation.session_id, events).await?.session, replayed: true })
    }
}

/// What the store keeps of a session for lists.
pub(super) fn head(session: &Session) -> Head {
    Head {
        session_id: session.id().to_owned(),
        game: session.rules().game().id().to_owned(),
        labels: session.labels().clone(),
        created: session.created(),
        updated: session.updated(),
        state: session.state(),
        version: session.version(),
        summary: View::of(session).to_json(),
    }
}
