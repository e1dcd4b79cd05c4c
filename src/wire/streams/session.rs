//! WatchSession.

use super::Source;
use super::life::{Life, Wake};
use super::owner::{Held, Owner};
use crate::service::{EventRecord, News, ServiceError, Watch};
use crate::session::Credential;
use crate::wire::SessionHandlers;
use crate::wire::access::Caller;
use crate::wire::convert::{event, session as session_out, timestamp};
use crate::wire::fields::Fields;
use crate::wire::proto;
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use crate::wire::session_service::note;
use prost::Message;
use tokio::time::Instant;
use tonic::Status;

/// A message is complete when its events have grown to this many bytes: steps of long relays are large.
const MESSAGE_BYTES: usize = 256 << 10;

/// One who watches a session.
pub struct Watcher {
    handlers: SessionHandlers,
    caller: Caller,
    _held: Held,
    session_id: String,
    include_steps: bool,
    watch: Watch,
    life: Life,
    /// The watcher has everything up to here.
    version: u32,
    snapshot: Option<Box<proto::Session>>,
    /// The first message was sent.
    greeted: bool,
    /// When it looked last, and nothing has woken it since, there was no more than the watcher has.
    at_end: bool,
}

impl Watcher {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the request is malformed, or the caller may not see the session as it asks to.
    pub async fn begin(
        handlers: &SessionHandlers,
        owner: &Owner,
        until: Option<Instant>,
        request: proto::WatchSessionRequest,
    ) -> Result<Watcher, Status> {
        let caller = owner.caller.clone();
        let proto::WatchSessionRequest { session_id, after_version, include_snapshot, include_steps } = request;
        let mut fields = Fields::new();
        let session_id = fields.session_id(session_id);
        if include_snapshot && after_version == Some(0) {
            fields.fault(
                "after_version",
                "1 or more with include_snapshot, or left out: before its first event there is no session",
            );
        }
        let session_id = fields.done(Some(session_id))?;
        note(&session_id);
        let most = handlers.streams.watches_per_caller;
        let held = handlers.holders.hold(owner, most).ok_or(ServiceError::TooManyWatches { most })?;
        // Before anything is read, so that no change falls between.
        let watch = handlers.sessions.watch(&session_id, handlers.streams.watches_per_session)?;
        let sight = handlers.watch_sight(&caller, &session_id).await?;
        let stored = handlers.sessions.version(&session_id).await?;
        let current = sight.map_or(stored, |seen| seen.min(stored));
        let version = match after_version {
            Some(asked) if asked > current => return Err(ServiceError::VersionAhead { asked, current }.into()),
            Some(after) => after,
            None if include_snapshot => current,
            None => 0,
        };
        let snapshot = if include_snapshot {
            Some(handlers.sessions.look_at(&session_id, version, |seen| Box::new(session_out(seen))).await?)
        } else {
            None
        };
        let (handlers, life) = (handlers.clone(), Life::new(&handlers.streams, until));
        Ok(Watcher {
            handlers,
            caller,
            _held: held,
            session_id,
            include_steps,
            watch,
            life,
            version,
            snapshot,
            greeted: false,
            at_end: false,
        })
    }

    fn message(&mut self, events: Vec<proto::Event>, current_version: u32) -> proto::WatchSessionResponse {
        self.greeted = true;
        self.life.beat();
        self.version = events.last().map_or(self.version, |event| event.version);
        let server_time = Some(timestamp(self.handlers.sessions.now()));
        let session = self.snapshot.take().map(|session| *session);
        proto::WatchSessionResponse { session, events, version: self.version, current_version, server_time }
    }

    /// The events up to a version, as many whole changes as make a message.
    async fn events(&self, news: &News, current: u32) -> Result<Vec<proto::Event>, Status> {
        let mut events = Vec::new();
        let mut bytes = 0;
        for change in news.events.chunk_by(|one, next| one.is_of_one_change(next)) {
            if change.last().is_some_and(|last| last.version > current) {
                break;
            }
            let start = events.len();
            for record in change {
                let event = self.event(EventRecord::clone(record)).await?;
                bytes += event.encoded_len();
                events.push(event);
            }
            if bytes > MESSAGE_BYTES {
                if start > 0 {
                    events.truncate(start);
                }
                break;
            }
        }
        Ok(events)
    }

    async fn event(&self, record: EventRecord) -> Result<proto::Event, Status> {
        let made = match record.version {
            1 => Some(self.handlers.sessions.look_at(&self.session_id, 1, session_out).await?),
            _ => None,
        };
        Ok(event(record, made))
    }
}

impl Source for Watcher {
    type Message = proto::WatchSessionResponse;

    async fn look(&mut self) -> Result<Option<proto::WatchSessionResponse>, Status> {
        self.life.check().map_err(|end| end.status(self.version))?;
        if self.at_end && !self.watch.is_behind(self.version) {
            return Ok(None);
        }
        // What may be seen is asked first: what is stored later than that may be more. And before it is this watcher's turn, since it may
        // wait for a change of the session that is being stored.
        let sight = self.handlers.watch_sight(&self.caller, &self.session_id).await?;
        let _turn = self.watch.turn(self.version).await;
        let news = self.watch.news(self.version, self.include_steps).await?;
        let current = sight.map_or(news.version, |seen| seen.min(news.version)).max(self.version);
        let events = self.events(&news, current).await?;
        let due = !events.is_empty() || self.snapshot.is_some() || !self.greeted;
        let message = due.then(|| self.message(events, current));
        self.at_end = self.version == current;
        Ok(message)
    }

    async fn wait(&mut self) -> Result<(), Status> {
        self.at_end = false;
        match self.life.wait(self.watch.changed()).await {
            Ok(Wake::News) => {}
            // A beat looks into the store too, so that nothing depends on being told.
            Ok(Wake::Beat) => self.greeted = false,
            Err(end) => return Err(end.status(self.version)),
        }
        Ok(())
    }
}

impl SessionHandlers {
    /// As [`SessionHandlers::sight`], for a caller whose token may have been replaced or revoked since it began to watch.
    pub(super) async fn watch_sight(&self, caller: &Caller, session_id: &str) -> Result<Option<u32>, Status> {
        self.check_still_admitted(caller).await?;
        self.sight(caller, session_id).await
    }

    /// Whether a caller's token is still in force.
    pub(super) async fn check_still_admitted(&self, caller: &Caller) -> Result<(), Status> {
        let Caller::Seat { session_id, seat, hash } = caller else { return Ok(()) };
        let credential = Credential::Token { seat: *seat, hash: *hash };
        match self.sessions.accepts(session_id, &credential).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(ServiceError::NotFound { .. }) => Err(Refused::plain(Reason::TokenInvalid).into_status()),
            Err(error) => Err(error.into()),
        }
    }
}
