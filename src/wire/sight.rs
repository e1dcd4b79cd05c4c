//! What a caller may see of a session, and whether it may act in it.

use super::SessionHandlers;
use super::access::Caller;
use super::convert::{listed, session};
use super::proto;
use super::reason::Reason;
use super::refuse::Refused;
use crate::game::{Position, Seat};
use crate::service::{RequestId, ServiceError, Target};
use crate::session::{Credential, Session, SpectatorPolicy, View};
use crate::store::Head;
use tonic::{Code, Status};

/// Which session a change is for, well formed but not yet allowed.
pub struct Change {
    pub session_id: String,
    pub expected_version: Option<u32>,
    pub request_id: RequestId,
}

impl Change {
    /// For a caller that shows this.
    pub fn with(self, credential: Credential) -> Target {
        let Change { session_id, expected_version, request_id } = self;
        Target { session_id, expected_version, request_id, credential }
    }
}

impl SessionHandlers {
    /// The latest version of a session that a caller may see; `None`: all of it.
    ///
    /// # Errors
    /// SESSION_NOT_FOUND when it may see nothing of it, as if there were no such session.
    pub async fn sight(&self, caller: &Caller, session_id: &str) -> Result<Option<u32>, Status> {
        if caller.is_trusted() || caller.seat_in(session_id).is_some() {
            return Ok(None);
        }
        // Boxed: trusted callers need no room for it.
        Box::pin(self.sight_of_spectators(session_id)).await
    }

    async fn sight_of_spectators(&self, session_id: &str) -> Result<Option<u32>, Status> {
        let policy = |session: &Session| {
            let late = session.spectators().delay_plies > 0;
            (session.spectators().policy, late.then(|| session.spectator_version()))
        };
        match self.sessions.look(session_id, policy).await {
            Ok((SpectatorPolicy::Unlisted | SpectatorPolicy::Public, version)) => Ok(version),
            Ok((SpectatorPolicy::None, _)) => Err(ServiceError::not_found(session_id).into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Looks at a session as far as a caller may see it.
    pub async fn look_as<T>(&self, caller: &Caller, session_id: &str, look: impl FnOnce(&Session) -> T) -> Result<T, Status> {
        let looked = match self.sight(caller, session_id).await? {
            None => self.sessions.look(session_id, look).await,
            Some(version) => Box::pin(self.sessions.look_at(session_id, version, look)).await,
        };
        Ok(looked?)
    }

    /// A session of a list as a caller may see it; `None` if it has gone meanwhile.
    pub async fn listed_as(
        &self,
        caller: &Caller,
        (head, view, position): (Head, View, Position),
    ) -> Result<Option<proto::Session>, Status> {
        if caller.is_trusted() || view.spectators.delay_plies == 0 {
            return Ok(Some(listed(head, view, &position)));
        }
        match self.look_as(caller, &head.session_id, session).await {
            Ok(session) => Ok(Some(session)),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// A change that a caller wants to make for a seat, and that seat: for a trusted caller whichever it names, for a seat's
    /// token its own.
    ///
    /// # Errors
    /// When it may not act for that seat.
    pub async fn act_as(&self, caller: &Caller, change: Change, seat: Option<Seat>) -> Result<(Target, Option<Seat>), Status> {
        match caller {
            Caller::Trusted(_) => Ok((change.with(Credential::Trusted), seat)),
            Caller::Seat { session_id, seat: own, hash } if *session_id == change.session_id => match seat {
                Some(other) if other != *own => Err(seat_not_yours(other, *own).into_status()),
                _ => Ok((change.with(Credential::Token { seat: *own, hash: *hash }), Some(*own))),
            },
            Caller::Seat { .. } => {
                self.sight(caller, &change.session_id).await?;
                Err(Refused::plain(Reason::SessionNotYours).into_status())
            }
            Caller::Anonymous => Err(Refused::plain(Reason::TokenMissing).into_status()),
        }
    }
}

fn seat_not_yours(seat: Seat, yours: Seat) -> Refused {
    let facts = vec![("seat", seat.to_string()), ("yours", yours.to_string())];
    Refused::new(Reason::SeatNotYours, format_args!("your token is {yours}'s and can't act for {seat}"), facts)
}
