//! Changing sessions: replay by request id first, then the version, then the command itself.

use super::create::players;
use super::live::{Answered, Live};
use super::request::{command_digest, digest, request};
use super::{RequestId, ServiceError, Sessions};
use crate::game::observer::Step;
use crate::session::{Command, Event, Session, View};
use crate::store::{self, Append, Appended, Deleted, Request};

/// Which session a command is for, and under what conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The session.
    pub session_id: String,
    /// The version that it must have.
    pub expected_version: Option<u32>,
    /// The caller's id of the request.
    pub request_id: RequestId,
}

/// What a command did.
#[derive(Debug)]
pub struct Applied<T> {
    /// The events that it brought about.
    pub events: Vec<Event>,
    /// The steps of its move, if they were asked for.
    pub steps: Vec<Step>,
    /// What was looked at in the session as it was after these events.
    pub after: T,
    /// It was done before, by the same request.
    pub replayed: bool,
}

/// A session to remove.
pub type Delete = Target;

/// How often a command is decided again because somebody else was faster.
const ATTEMPTS: u32 = 8;

impl Sessions {
    /// Carries out a command: stores what it brings about, and then looks at the session. Asked again with the same request id
    /// it changes nothing and answers as the first time.
    ///
    /// # Errors
    /// In this order: [`ServiceError::NotFound`], [`ServiceError::RequestIdReused`], [`ServiceError::StaleVersion`],
    /// [`ServiceError::Rejected`], the store's.
    pub async fn apply<T: Send + 'static>(
        &self,
        target: Target,
        command: Command,
        want_steps: bool,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<Applied<T>, ServiceError> {
        // In a task of its own: a caller that goes away must not leave a slot that knows less than the store.
        let sessions = self.clone();
        let task = tokio::spawn(async move { sessions.apply_now(target, command, want_steps, look).await });
        task.await.map_err(|_| ServiceError::Stopping)?
    }

    async fn apply_now<T>(
        &self,
        target: Target,
        command: Command,
        want_steps: bool,
        look: impl FnOnce(&Session) -> T,
    ) -> Result<Applied<T>, ServiceError> {
        let request = request(&target.request_id, || command_digest(&command, target.expected_version));
        let slot = self.slots.get(&target.session_id);
        let mut slot = slot.lock().await;
        for _ in 0..ATTEMPTS {
            let live = self.fill(&target.session_id, &mut slot).await?;
            if let Some(answered) = request.as_ref().and_then(|request| live.answered(&request.id)) {
                check_same(request.as_ref(), answered)?;
                return self.repeat(&target.session_id, answered, want_steps, look).await;
            }
            check_version(&live.session, target.expected_version)?;
            let events = live.session.decide(&command)?;
            let mut steps = Vec::new();
            if want_steps {
                watch(&live.session, &events, &mut steps);
            }
            match self.store_events(live, &events, request.clone()).await {
                Ok(Appended::Done) => return Ok(Applied { events, steps, after: look(&live.session), replayed: false }),
                // Whatever happened, the store knows it, and the copy here no longer does.
                failed => {
                    *slot = None;
                    if failed? == Appended::NotFound {
                        self.slots.forget(&target.session_id);
                        return Err(ServiceError::NotFound);
                    }
                }
            }
        }
        Err(ServiceError::Contended)
    }

    /// Takes events in and stores them. Unless it answers [`Appended::Done`], the slot must be emptied.
    pub(super) async fn store_events(
        &self,
        live: &mut Live,
        events: &[Event],
        request: Option<Request>,
    ) -> Result<Appended, ServiceError> {
        let expected_version = live.session.version();
        // A clock that is set back must not turn the order of events round.
        let time = self.clock.now().max(live.session.updated());
        for event in events {
            live.take_in(event, time, request.as_ref())?;
        }
        let append = Append {
            session_id: live.session.id().to_owned(),
            expected_version,
            time,
            request,
            events: events.iter().map(Event::to_json).collect(),
            state: live.session.state(),
            players: players(&live.session),
            expires: live.session.expires(),
            summary: View::of(&live.session).to_json(),
        };
        Ok(self.store.append(append).await?)
    }

    /// The answer that the request was given, made again from its events.
    async fn repeat<T>(
        &self,
        session_id: &str,
        answered: Answered,
        want_steps: bool,
        look: impl FnOnce(&Session) -> T,
    ) -> Result<Applied<T>, ServiceError> {
        let mut live = self.load(session_id, answered.first - 1).await?;
        let count = (answered.last + 1 - answered.first) as usize;
        let stored = self.store.read(session_id, answered.first - 1, count).await?.ok_or(ServiceError::NotFound)?;
        let events: Vec<_> = stored.iter().map(|event| super::live::read_event(session_id, event)).collect::<Result<_, _>>()?;
        let mut steps = Vec::new();
        if want_steps {
            watch(&live.session, &events, &mut steps);
        }
        for (event, stored) in events.iter().zip(&stored) {
            live.take_in(event, stored.time, None)?;
        }
        Ok(Applied { events, steps, after: look(&live.session), replayed: true })
    }

    /// Removes a session. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::RequestIdReused`], [`ServiceError::StaleVersion`], or the store's.
    pub async fn delete(&self, delete: Delete) -> Result<(), ServiceError> {
        let sessions = self.clone();
        tokio::spawn(async move { sessions.delete_now(delete).await }).await.map_err(|_| ServiceError::Stopping)?
    }

    async fn delete_now(&self, Target { session_id, expected_version, request_id }: Delete) -> Result<(), ServiceError> {
        let request = request(&request_id, || {
            let version = expected_version.map_or("-".to_owned(), |version| version.to_string());
            digest(&[&"delete", &session_id, &version])
        });
        let slot = self.slots.get(&session_id);
        let mut slot = slot.lock().await;
        *slot = None;
        let time = self.clock.now();
        let delete = store::Delete { session_id: session_id.clone(), expected_version, request: request.clone(), time };
        let deleted = self.store.delete(delete).await?;
        self.slots.forget(&session_id);
        match (deleted, request) {
            (Deleted::Done, _) => Ok(()),
            (Deleted::Conflict(current), _) => {
                Err(ServiceError::StaleVersion { expected: expected_version.unwrap_or_default(), current })
            }
            (Deleted::Gone(Some(by)), Some(request)) if by.id == request.id => {
                if by.digest == request.digest {
                    Ok(())
                } else {
                    Err(ServiceError::RequestIdReused)
                }
            }
            (Deleted::Gone(_) | Deleted::NotFound, _) => Err(ServiceError::NotFound),
        }
    }
}

fn check_same(request: Option<&Request>, answered: Answered) -> Result<(), ServiceError> {
    let same = request.is_some_and(|request| request.digest == answered.digest);
    if same { Ok(()) } else { Err(ServiceError::RequestIdReused) }
}

fn check_version(session: &Session, expected: Option<u32>) -> Result<(), ServiceError> {
    let current = session.version();
    match expected {
        Some(expected) if expected != current => Err(ServiceError::StaleVersion { expected, current }),
        _ => Ok(()),
    }
}

/// Collects the steps of the move among these events, which were decided on this session.
pub(super) fn watch(session: &Session, events: &[Event], steps: &mut Vec<Step>) {
    for event in events {
        if let Event::MovePlayed { mv, .. } = event {
            session.record().preview(*mv, steps).expect("a decided move is legal");
        }
    }
}
