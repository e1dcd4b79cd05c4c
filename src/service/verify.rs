//! Stored sessions checked from end to end: their chains, their rules, and what lists are made from.

use super::ServiceError;
use super::create::{CREATOR, head};
use super::live::{self, Live};
use super::records::UNKNOWN_DIGEST;
use crate::session::{Session, View};
use crate::store::archive::Making;
use crate::store::{Head, Request, StoredEvent};
use std::collections::HashSet;

/// The history of one session, replayed event by event as it is read.
pub struct History {
    session_id: String,
    live: Option<Live>,
    /// The request of the last event.
    last: Option<Request>,
    /// The requests of those before it.
    used: HashSet<String>,
}

impl History {
    /// Before the first event.
    #[must_use]
    pub fn new(session_id: &str) -> History {
        History { session_id: session_id.to_owned(), live: None, last: None, used: HashSet::new() }
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Takes in the next event: it must follow on the one before by number and by hash, be what the rules allow, and bear no request
    /// that is over.
    ///
    /// # Errors
    /// [`ServiceError::Damaged`]. Nothing that follows makes sense then.
    pub fn take_in(&mut self, stored: &StoredEvent) -> Result<(), ServiceError> {
        let version = self.session().map_or(0, Session::version);
        if stored.seq != version + 1 {
            return Err(self.damaged(format!("event {} follows on event {version}", stored.seq)));
        }
        self.take_in_request(stored)?;
        self.live = Some(live::append(&self.session_id, self.live.take(), stored)?);
        Ok(())
    }

    fn take_in_request(&mut self, stored: &StoredEvent) -> Result<(), ServiceError> {
        let (new, last) = (stored.request.as_ref(), self.last.as_ref());
        if new == last {
            return Ok(());
        }
        if let Some(new) = new
            && (last.is_some_and(|last| last.id == new.id) || self.used.contains(&new.id))
        {
            return Err(self.damaged(format!("event {}: request {} was another one before", stored.seq, new.id)));
        }
        self.used.extend(self.last.take().map(|last| last.id));
        self.last.clone_from(&stored.request);
        Ok(())
    }

    /// The session as far as it has come.
    fn session(&self) -> Option<&Session> {
        self.live.as_ref().map(|live| &live.session)
    }

    /// Compares what the store keeps for lists with what all of the events make.
    ///
    /// # Errors
    /// [`ServiceError::Damaged`], with the first field that is different.
    pub fn compare(&self, kept: &Head) -> Result<(), ServiceError> {
        let Some(session) = self.session() else { return Err(self.damaged("it has no events")) };
        // Only the store knows who asked for the session.
        let made = head(session, kept.labels.get(CREATOR).map(String::as_str));
        let Head { session_id, game, labels, created, updated, state, version, players, expires, deadline, summary } = kept;
        let Ok(kept_view) = View::from_json(summary) else { return Err(self.damaged("its summary in lists can't be read")) };
        // It has not changed since before there were hashes and, later, deadlines.
        let is_old = kept_view.head_hash.is_empty();
        let view = View::of(session);
        let view = if is_old { View { head_hash: String::new(), ..view } } else { view };
        let fields = [
            ("session id", *session_id == made.session_id),
            ("version", *version == made.version),
            ("game", *game == made.game),
            ("labels", *labels == made.labels),
            ("time of creation", *created == made.created),
            ("time of the last change", *updated == made.updated),
            ("state", *state == made.state),
            ("players", *players == made.players),
            ("time of deletion", *expires == made.expires),
            ("deadline", *deadline == made.deadline || (is_old && deadline.is_none())),
            ("summary", kept_view == view),
        ];
        match fields.iter().find(|(_, right)| !right) {
            None => Ok(()),
            Some((field, _)) => Err(self.damaged(format!("its {field} in lists is not what its {} events make", made.version))),
        }
    }

    fn damaged(&self, what: impl ToString) -> ServiceError {
        ServiceError::damaged(&self.session_id, what)
    }
}

/// The id of the request that a session with this first event was made by, if there was one and the store must remember it: that of
/// a session which came as a record is a request of elsewhere.
#[must_use]
pub fn made_by(first: &StoredEvent) -> Option<&Request> {
    first.request.as_ref().filter(|request| request.digest != UNKNOWN_DIGEST)
}

/// Whether a store's memory of what requests have made says that this one has made the session.
#[must_use]
pub fn is_remembered(making: Option<&Making>, request: &Request, session_id: &str) -> bool {
    making.is_some_and(|making| making.request == *request && making.sessions.iter().any(|made| made.session_id == session_id))
}
