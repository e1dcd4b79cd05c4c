//! Changing sessions: replay by request id first, then the version, then the command itself.

use super::create::players;
use super::error::of_session;
use super::live::{Answered, Live, read_event};
use super::request::{command_digest, digest, request};
use super::{RequestId, ServiceError, Sessions};
use crate::game::observer::Step;
use crate::session::{Command, Credential, Event, Micros, Rejection, Session, View};
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
    /// What the caller shows for it. It is checked again when the command's turn comes, so that nothing is done on a token after
    /// the reply that revoked it.
    pub credential: Credential,
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
    /// In this order: [`ServiceError::NotFound`], [`ServiceError::NotAdmitted`], [`ServiceError::RequestIdReused`],
    /// [`ServiceError::StaleVersion`], [`ServiceError::Rejected`], the store's.
    pub fn apply<T: Send + 'static>(
        &self,
        target: Target,
        command: Command,
        want_steps: bool,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> impl Future<Output = Result<Applied<T>, ServiceError>> {
        // Boxed at once: whatever is handed from future to future is copied each time.
        let change = Box::pin(self.clone().apply_now(target, command, want_steps, look));
        async move { self.under_way.carry_out(change).await? }
    }

    pub(super) async fn apply_now<T>(
        self,
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
            if !live.session.seats().accept(&target.credential) {
                if !self.store.is_shared() || Box::pin(self.is_current(&live.session)).await? {
                    return Err(ServiceError::NotAdmitted);
                }
                // Another server may have given it out.
                *slot = None;
                continue;
            }
            if let Some((request, answered)) =
                request.as_ref().and_then(|it| live.answered(&it.id).map(|answered| (it, answered)))
            {
                check_same(request, answered)?;
                return Box::pin(self.repeat(&target.session_id, answered, want_steps, look)).await;
            }
            let now = self.time_of_next(&live.session);
            // Time that is out comes before whatever else is wanted, unless that is what is claimed.
            if command != Command::ClaimTimeout
                && let Some(events) = live.session.timed_out(now)
            {
                let meant = target.expected_version.unwrap_or(live.session.version());
                if let Some(live) = Box::pin(self.commit(&mut slot, &events, None, now)).await?
                    && live.session.result().is_none()
                    && !matches!(command, Command::Seat(_))
                {
                    // What was meant for the round that is lost must not happen to the next one.
                    return Err(ServiceError::StaleVersion { expected: meant, current: live.session.version() });
                }
                continue;
            }
            let decided = check_version(&live.session, target.expected_version)
                .and_then(|()| Ok(decide(&live.session, &command, now, want_steps)?));
            let (events, steps) = match decided {
                Ok(decided) => decided,
                Err(refusal) if Box::pin(self.is_current(&live.session)).await? => return Err(refusal),
                // Another server has changed the session, perhaps by this very request.
                Err(_) => {
                    *slot = None;
                    continue;
                }
            };
            self.make_rematch(&live.session, &events).await?;
            if let Some(live) = self.commit(&mut slot, &events, request.clone(), now).await? {
                return Ok(Applied { events, steps, after: look(&live.session), replayed: false });
            }
        }
        Err(ServiceError::Contended)
    }

    /// Whether a session in memory is what the store has.
    async fn is_current(&self, session: &Session) -> Result<bool, ServiceError> {
        Ok(self.stored_version(session.id()).await? == Some(session.version()))
    }

    /// The time that it is for a session. A clock that is set back must not turn the order of events round.
    #[must_use]
    pub fn time_for(&self, session: &Session) -> Micros {
        self.clock.now().max(session.updated())
    }

    /// The time of an event that is to be stored now: the clock's, or the [step](super::Clock::step) after the event before if the clock is
    /// behind that.
    pub(super) fn time_of_next(&self, session: &Session) -> Micros {
        let (now, updated) = (self.clock.now(), session.updated());
        if now < updated { updated.saturating_add(self.clock.step()) } else { now }
    }

    /// Stores what was decided on the session of a slot, and takes it in; `None`: somebody else was faster, and the slot is empty.
    pub(super) async fn commit<'a>(
        &self,
        slot: &'a mut Option<Box<Live>>,
        events: &[Event],
        request: Option<Request>,
        time: Micros,
    ) -> Result<Option<&'a Live>, ServiceError> {
        // Out of its slot while it knows more than the store: it goes back only once both know the same.
        let Some(mut live) = slot.take() else { return Ok(None) };
        let mut append = advance(&mut live, events, request, time)?;
        append.summary = View::of(&live.session).to_json();
        self.store_row(slot, live, vec![append]).await
    }

    /// Stores what a session has taken in, which is out of its slot, and puts it back; `None`: somebody else was faster, and the slot stays
    /// empty.
    pub(super) async fn store_row<'a>(
        &self,
        slot: &'a mut Option<Box<Live>>,
        live: Box<Live>,
        appends: Vec<Append>,
    ) -> Result<Option<&'a Live>, ServiceError> {
        let count = appends.iter().map(|append| append.events.len()).sum();
        let stored = match <[Append; 1]>::try_from(appends) {
            Ok([append]) => self.store.append(append).await,
            Err(row) => self.store.append_all(row).await,
        };
        if stored.is_err() {
            // They may be stored all the same, and those who watch are not to wait for the next change to learn of it.
            self.tell(live.session.id(), 0);
        }
        match stored? {
            Appended::Done => {
                self.counts.events.add(count);
                self.tell(live.session.id(), live.session.version());
                Ok(Some(slot.insert(live)))
            }
            Appended::Conflict => Ok(None),
            Appended::NotFound => {
                self.slots.forget(live.session.id());
                Err(ServiceError::not_found(live.session.id()))
            }
        }
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
        let stored = self
            .store
            .read(session_id, answered.first - 1, count)
            .await
            .map_err(of_session(session_id))?
            .ok_or_else(|| ServiceError::not_found(session_id))?;
        let mut events = Vec::with_capacity(count);
        let mut steps = Vec::new();
        for stored in &stored {
            let event = read_event(session_id, stored)?;
            if want_steps {
                live.take_in(&event, stored.time, None, &mut steps)?;
            } else {
                live.take_in(&event, stored.time, None, &mut ())?;
            }
            live.seal_stored(stored)?;
            events.push(event);
        }
        Ok(Applied { events, steps, after: look(&live.session), replayed: true })
    }

    /// Removes a session, for a trusted caller. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::RequestIdReused`], [`ServiceError::StaleVersion`], or the store's.
    pub async fn delete(&self, delete: Delete) -> Result<(), ServiceError> {
        let sessions = self.clone();
        self.under_way.carry_out(Box::pin(async move { sessions.delete_now(delete).await })).await?
    }

    pub(super) async fn delete_now(
        &self,
        Target { session_id, expected_version, request_id, credential: _ }: Delete,
    ) -> Result<(), ServiceError> {
        let request = request(&request_id, || {
            let version = expected_version.map_or("-".to_owned(), |version| version.to_string());
            digest(&[&"delete", &session_id, &version])
        });
        let slot = self.slots.get(&session_id);
        let mut slot = slot.lock().await;
        if let Some(request) = &request {
            self.check_unused(&session_id, &request.id, &mut slot).await?;
        }
        *slot = None;
        let time = self.clock.now();
        let delete = store::Delete { session_id: session_id.clone(), expected_version, request: request.clone(), time };
        let deleted = self.store.delete(delete).await.map_err(of_session(&session_id))?;
        self.slots.forget(&session_id);
        if deleted == Deleted::Done {
            self.tell(&session_id, 0);
        }
        match (deleted, request) {
            (Deleted::Done, _) => Ok(()),
            (Deleted::Conflict(current), _) => {
                Err(ServiceError::StaleVersion { expected: expected_version.unwrap_or_default(), current })
            }
            (Deleted::Gone(Some(by)), Some(request)) if by.id == request.id => {
                if by.digest == request.digest {
                    Ok(())
                } else {
                    Err(ServiceError::RequestIdReused { request_id: request.id })
                }
            }
            (Deleted::Gone(_) | Deleted::NotFound, _) => Err(ServiceError::NotFound { session_id }),
        }
    }

    /// Refuses to remove a session by a request id that has changed it. One whose events can't be read may be removed all the same.
    async fn check_unused(&self, session_id: &str, request_id: &str, slot: &mut Option<Box<Live>>) -> Result<(), ServiceError> {
        match self.current(session_id, slot).await {
            Ok(live) if live.answered(request_id).is_some() => {
                Err(ServiceError::RequestIdReused { request_id: request_id.to_owned() })
            }
            Ok(_) | Err(ServiceError::NotFound { .. } | ServiceError::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn check_same(request: &Request, answered: Answered) -> Result<(), ServiceError> {
    let same = request.digest == answered.digest;
    if same { Ok(()) } else { Err(ServiceError::RequestIdReused { request_id: request.id.clone() }) }
}

/// What a command brings about, and the steps of its move if they are wanted.
pub(super) fn decide(
    session: &Session,
    command: &Command,
    now: Micros,
    want_steps: bool,
) -> Result<(Vec<Event>, Vec<Step>), Rejection> {
    let mut steps = Vec::new();
    let events = if want_steps { session.decide(command, now, &mut steps) } else { session.decide(command, now, &mut ()) };
    Ok((events?, steps))
}

/// Takes events in, and gives what is to be stored of them but the summary. Unless that is stored, the copy is worth nothing any more.
pub(super) fn advance(live: &mut Live, events: &[Event], request: Option<Request>, time: Micros) -> Result<Append, ServiceError> {
    let expected_version = live.session.version();
    let mut bodies = Vec::with_capacity(events.len());
    let mut hashes = Vec::with_capacity(events.len());
    for event in events {
        live.take_in(event, time, request.as_ref(), &mut ())?;
        let body = event.to_json();
        hashes.push(live.seal(time, request.as_ref(), &body));
        bodies.push(body);
    }
    Ok(Append {
        session_id: live.session.id().to_owned(),
        expected_version,
        time,
        request,
        events: bodies,
        hashes,
        state: live.session.state(),
        players: players(&live.session),
        expires: live.session.expires(),
        deadline: live.session.deadline(),
        summary: String::new(),
    })
}

pub(super) fn check_version(session: &Session, expected: Option<u32>) -> Result<(), ServiceError> {
    let current = session.version();
    match expected {
        Some(expected) if expected != current => Err(ServiceError::StaleVersion { expected, current }),
        _ => Ok(()),
    }
}
