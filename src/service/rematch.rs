//! Rematches: a new session, linked to the one before.

use super::create::CREATOR;
use super::error::of_session;
use super::{NewSession, ServiceError, Sessions};
use crate::session::{Event, Session};

impl Sessions {
    async fn creator_of(&self, session_id: &str) -> Result<Option<String>, ServiceError> {
        let head = self.store.head(session_id).await.map_err(of_session(session_id))?;
        Ok(head.and_then(|mut head| head.labels.remove(CREATOR)))
    }

    /// Makes the session of a rematch that is among these events, before they are stored: whoever reads of it must find it. Its id
    /// follows from the old session's, so that doing this again makes no second one.
    pub(super) async fn make_rematch(&self, old: &Session, events: &[Event]) -> Result<(), ServiceError> {
        let made = events.iter().find_map(|event| match event {
            Event::RematchMade { session_id } => Some(session_id),
            _ => None,
        });
        match made {
            Some(session_id) => Box::pin(self.make_next(old, session_id)).await,
            None => Ok(()),
        }
    }

    async fn make_next(&self, old: &Session, session_id: &str) -> Result<(), ServiceError> {
        let origin = self.load(old.id(), 1).await?.session;
        let new = NewSession {
            session_id: Some(session_id.to_owned()),
            rules: *old.rules(),
            guards: old.guards(),
            start: *origin.position(),
            labels: old.labels().clone(),
            rounds: old.rounds(),
            clock: old.clock().map(|clock| *clock.setting()),
            previous_session_id: Some(old.id().to_owned()),
            seats: old.seats().swapped(),
            spectators: old.spectators(),
            creator: self.creator_of(old.id()).await?,
            request_id: None,
        };
        match Box::pin(self.create(new)).await {
            Ok(_) => Ok(()),
            Err(ServiceError::IdTaken { session_id }) => {
                let ours = match self.load(&session_id, 1).await {
                    Ok(there) => there.session.previous_session_id() == Some(old.id()),
                    // It was made, and deleted before anybody was told of it.
                    Err(ServiceError::NotFound { .. }) => false,
                    Err(error) => return Err(error),
                };
                if ours { Ok(()) } else { Err(ServiceError::IdTaken { session_id }) }
            }
            Err(error) => Err(error),
        }
    }
}
