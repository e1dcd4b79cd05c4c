//! Sessions as records: what one was, and making one from what it was elsewhere.

use super::create::head;
use super::error::of_session;
use super::live::{PAGE, read_event};
use super::request::{digest, request};
use super::{Made, RequestId, ServiceError, Sessions};
use crate::session::record::{self, Record, RecordedEvent, Replay};
use crate::session::{EventHash, Micros, Session, State};
use crate::store::{self, Created, Request, StoredEvent};

/// What was asked for by a request of which a record tells only the id. No digest is equal to it, so that repeating such a
/// request is refused, and nothing is done twice.
pub(super) const UNKNOWN_DIGEST: [u8; 32] = [0; 32];

/// How far ahead of this server's clock the one of the server that wrote a record may be.
const CLOCK_AHEAD: Micros = 60_000_000;

/// A record to make a session of, which has been verified.
pub struct Import {
    /// The record.
    pub record: Record,
    /// The session that it makes, under the id that it is to have.
    pub session: Session,
    /// The hashes of its events.
    pub hashes: Vec<EventHash>,
    /// The operator who asks for it, if one does.
    pub creator: Option<String>,
    /// The caller's id of the request.
    pub request_id: RequestId,
}

impl Sessions {
    /// The events of a session until a version at least, or all of them, to be made a record of by [`record_of`].
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::VersionAhead`], [`ServiceError::RecordTooLarge`], or the store's.
    pub async fn history(&self, session_id: &str, version: Option<u32>) -> Result<Vec<StoredEvent>, ServiceError> {
        // Time that is out belongs to how the session stands.
        let current = self.look(session_id, Session::version).await?;
        if let Some(asked) = version.filter(|&version| version > current) {
            return Err(ServiceError::VersionAhead { asked, current });
        }
        let mut events: Vec<StoredEvent> = Vec::new();
        loop {
            let after = events.len() as u32;
            let page = self
                .store
                .read(session_id, after, PAGE)
                .await
                .map_err(of_session(session_id))?
                .ok_or_else(|| ServiceError::not_found(session_id))?;
            let is_last = page.len() < PAGE;
            events.extend(page);
            // A page more than is asked for, since what happened at once is not torn apart.
            let enough = version.is_some_and(|version| after >= version);
            if is_last || enough {
                return Ok(events);
            }
            if events.len() > record::MAX_EVENTS {
                return Err(ServiceError::RecordTooLarge);
            }
        }
    }

    /// Makes a session of a record. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::InFuture`], [`ServiceError::IdTaken`], [`ServiceError::RequestIdReused`], [`ServiceError::NotFound`] when it
    /// was made by the same request and deleted since, or the store's.
    pub async fn import(&self, import: Import) -> Result<Made, ServiceError> {
        let Import { record, session, hashes, creator, request_id } = import;
        if session.updated() > self.now().saturating_add(CLOCK_AHEAD) {
            return Err(ServiceError::InFuture);
        }
        let version = session.version();
        let request = request(&request_id, || digest(&[&"import", &session.id(), &session.head_hash()]));
        let events = record.events.into_iter().zip(hashes).map(|(recorded, hash)| StoredEvent {
            seq: recorded.version,
            time: recorded.time,
            request: recorded.request_id.map(|id| Request { id, digest: UNKNOWN_DIGEST }),
            body: recorded.event.to_json(),
            hash: Some(hash),
        });
        let import =
            store::Import { head: head(&session, creator.as_deref()), events: events.collect(), request: request.clone() };
        // One that has ended needs no room.
        let sessions = usize::from(session.state() == State::Active);
        let reserved = self.reserve(creator.as_deref(), sessions, request.as_ref()).await?;
        let (this, made) = (self.clone(), (session.id().to_owned(), version));
        let make = async move {
            let _reserved = reserved;
            let created = this.store.import(import).await;
            this.tell_made(created.as_ref().map(|created| *created == Created::Done), &[made], version as usize);
            created
        };
        match self.under_way.carry_out(Box::pin(make)).await?? {
            Created::Done => Ok(Made { session, replayed: false }),
            Created::IdTaken => Err(ServiceError::IdTaken { session_id: session.id().to_owned() }),
            Created::Repeated(creation) => self.made_before(creation, request, Some(version)).await,
        }
    }
}

/// The record of stored events, until `version` and the end of what happened at once with it, or of all of them.
///
/// # Errors
/// [`ServiceError::Damaged`] when they are not what the rules and the chain bring about.
pub fn record_of(session_id: &str, stored: &[StoredEvent], version: Option<u32>) -> Result<Record, ServiceError> {
    let mut replay = Replay::new(session_id.to_owned());
    let mut events = Vec::with_capacity(stored.len());
    let mut head_hash = EventHash::START;
    for stored in stored {
        if replay.is_settled() && version.is_some_and(|version| stored.seq > version) {
            break;
        }
        let event = read_event(session_id, stored)?;
        let request_id = stored.request.as_ref().map(|request| request.id.clone());
        let mut recorded = RecordedEvent { version: stored.seq, time: stored.time, request_id, event, short_hash: None };
        head_hash = replay.take_in(&recorded).map_err(|difference| ServiceError::damaged(session_id, difference))?;
        if stored.hash.is_some_and(|kept| kept != head_hash) {
            return Err(ServiceError::damaged(session_id, format!("event {}: its hash is not that of its content", stored.seq)));
        }
        recorded.short_hash = Some(head_hash.short());
        events.push(recorded);
    }
    Ok(Record { session_id: session_id.to_owned(), events, head_hash: Some(head_hash) })
}
