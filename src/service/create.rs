//! Making sessions.

use super::live::Live;
use super::request::{digest, request};
use super::{RequestId, ServiceError, Sessions};
use crate::game::{Guards, Position, Rules, Seat};
use crate::session::{
    ClockSetting, Created as CreatedEvent, Event, Micros, SeatStart, SecretHash, Session, SpectatorPolicy, Spectators, View,
};
use crate::store::{self, Create, Created, Head, Players, Request, StoreError};
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
    /// The seats about which something is known.
    pub seats: Vec<SeatStart>,
    /// Who else may watch.
    pub spectators: Spectators,
    /// The operator who asks for it, if one does.
    pub creator: Option<String>,
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
            seats: self.seats.clone(),
            spectators: self.spectators,
        }
    }

    /// What is the same in two requests for the same session. Secrets differ every time, so that only which there are counts.
    pub(super) fn digest(&self) -> [u8; 32] {
        let blank = |hash: Option<SecretHash>| hash.map(|_| SecretHash::new([0; 32]));
        let mut created = self.event();
        for seat in &mut created.seats {
            (seat.token, seat.join_code) = (blank(seat.token), blank(seat.join_code));
        }
        let id = self.session_id.as_deref().unwrap_or_default();
        digest(&[&"create", &id, &Event::Created(created).to_json()])
    }

    /// The session as it is to be made now by this request, and what is to be stored of it. The request is not in it yet.
    pub(super) fn prepare(&self, now: Micros, request: Option<&Request>) -> Result<(Session, Create), ServiceError> {
        let created = self.event();
        let id = self.session_id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let mut session = Session::new(id.clone(), &created, now).map_err(|error| ServiceError::diverged(&id, &error))?;
        let more = end_at_start(&mut session, now)?;
        let events = std::iter::once(&Event::Created(created)).chain(&more).map(Event::to_json).collect();
        let mut create = Create { head: head(&session, self.creator.as_deref()), events, request: None };
        if let Some(&hash) = create.hashes(request).last() {
            session.seal(hash);
            create.head.summary = View::of(&session).to_json();
        }
        Ok((session, create))
    }
}

impl Sessions {
    /// Makes a session. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::IdTaken`], [`ServiceError::RequestIdReused`], [`ServiceError::NotFound`] when it was made by the same request
    /// and deleted since, or the store's.
    pub async fn create(&self, new: NewSession) -> Result<Made, ServiceError> {
        let request = request(&new.request_id, || new.digest());
        let (session, mut create) = new.prepare(self.clock.now(), request.as_ref())?;
        create.request.clone_from(&request);
        let session_id = session.id().to_owned();
        // Held until the outcome is known, so that what is kept in it then is not older than what the store has. It is held before room
        // is taken, as by a rematch, whose session's place is held when it asks for room.
        let slot = self.slots.get(&session_id);
        let mut slot = slot.lock().await;
        let made = self.create_in(&mut slot, session, create, new.creator.as_deref(), request).await;
        if slot.is_none() {
            // A place for which there is no session would take that of another one.
            self.slots.forget(&session_id);
        }
        made
    }

    /// Makes a session, and keeps it in its slot if that is all there is of it.
    async fn create_in(
        &self,
        slot: &mut Option<Box<Live>>,
        session: Session,
        create: Create,
        creator: Option<&str>,
        request: Option<Request>,
    ) -> Result<Made, ServiceError> {
        let events = create.events.len();
        let reserved = self.reserve(creator, 1, request.as_ref()).await?;
        let (this, made) = (self.clone(), (session.id().to_owned(), session.version()));
        let make = async move {
            let _reserved = reserved;
            let created = this.store.create(create).await;
            this.tell_made(created.as_ref().map(|created| *created == Created::Done), &[made], events);
            created
        };
        match self.under_way.carry_out(Box::pin(make)).await?? {
            Created::Done => {
                if events == 1 {
                    *slot = Some(Box::new(Live::new(session.clone(), request.as_ref())));
                }
                Ok(Made { session, replayed: false })
            }
            Created::IdTaken => Err(ServiceError::IdTaken { session_id: session.id().to_owned() }),
            Created::Repeated(creation) => self.made_before(creation, request, None).await,
        }
    }

    /// Counts sessions that were made, with so many events, and tells those who watch of them, by id and version; whether or not the
    /// caller still waits. Where making them failed they may be there all the same.
    pub(super) fn tell_made(&self, made: Result<bool, &StoreError>, sessions: &[(String, u32)], events: usize) {
        if made == Ok(true) {
            self.counts.created.add(sessions.len());
            self.counts.events.add(events);
        }
        for (session_id, version) in sessions {
            match made {
                Ok(true) => self.tell(session_id, *version),
                Ok(false) => {}
                Err(_) => self.tell(session_id, 0),
            }
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
        let session = match events {
            Some(events) => self.load(&creation.session_id, events).await?.session,
            None => self.as_made(&creation.session_id).await?,
        };
        Ok(Made { session, replayed: true })
    }

    /// A session as it was when it was made.
    pub(super) async fn as_made(&self, session_id: &str) -> Result<Session, ServiceError> {
        let session = self.load(session_id, 1).await?.session;
        match session.end_at_start().len() as u32 {
            0 => Ok(session),
            more => Ok(self.load(session_id, 1 + more).await?.session),
        }
    }
}

/// Takes in what follows at once when a session starts in a position that is over.
fn end_at_start(session: &mut Session, time: Micros) -> Result<Vec<Event>, ServiceError> {
    let events = session.end_at_start();
    for event in &events {
        session.evolve(event, time, &mut ()).map_err(|error| ServiceError::diverged(session.id(), &error))?;
    }
    Ok(events)
}

/// The label that public sessions have in the store: its name is one that callers can't give.
pub(super) const PUBLIC: &str = "";

/// The label that bears in the store which operator has made a session: a name that callers can't give either.
pub(super) const CREATOR: &str = "\u{1}";

/// Whether a label of this name is the service's own: no session has it, as far as callers are concerned.
#[must_use]
pub fn is_reserved_label(name: &str) -> bool {
    name == PUBLIC || name == CREATOR
}

/// What the store keeps of a session for lists.
pub(super) fn head(session: &Session, creator: Option<&str>) -> Head {
    let mut labels = session.labels().clone();
    if session.spectators().policy == SpectatorPolicy::Public {
        labels.insert(PUBLIC.to_owned(), String::new());
    }
    labels.extend(creator.map(|creator| (CREATOR.to_owned(), creator.to_owned())));
    Head {
        session_id: session.id().to_owned(),
        game: session.rules().game().id().to_owned(),
        labels,
        created: session.created(),
        updated: session.updated(),
        state: session.state(),
        version: session.version(),
        players: players(session),
        expires: session.expires(),
        deadline: session.deadline(),
        summary: View::of(session).to_json(),
    }
}

/// Who holds the seats, as far as lists are to find sessions by it.
pub(super) fn players(session: &Session) -> Players {
    Seat::BOTH.map(|seat| {
        let player = session.seats().of(seat).player()?;
        (!player.reference.is_empty()).then(|| player.reference.clone())
    })
}
