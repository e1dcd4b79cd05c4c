//! Making many sessions at once, all or none.

use super::request::{digest, request};
use super::{NewSession, RequestId, ServiceError, Sessions};
use crate::session::Session;
use crate::store::{CreateAll, CreatedAll, Creation, Request};
use std::fmt::Display;

/// Sessions that were made.
pub struct MadeAll {
    /// As they were at first, in the order of the request.
    pub sessions: Vec<Session>,
    /// They were made before, by the same request.
    pub replayed: bool,
}

impl Sessions {
    /// Makes sessions of one creator, all or none; at least one, each without a request id and those with an id of their own with
    /// different ones. Asked again with the same request id it answers as the first time.
    ///
    /// # Errors
    /// [`ServiceError::IdsTaken`], [`ServiceError::RequestIdReused`], [`ServiceError::NotFound`] when they were made by
    /// the same request and one has been deleted since, or the store's.
    pub async fn create_all(&self, news: Vec<NewSession>, request_id: RequestId) -> Result<MadeAll, ServiceError> {
        let now = self.clock.now();
        let request = request(&request_id, || {
            let each: Vec<_> = news.iter().map(|new| format!("{:?}", new.digest())).collect();
            let parts = each.iter().map(|part| part as &dyn Display);
            digest(&std::iter::once(&"create all" as &dyn Display).chain(parts).collect::<Vec<_>>())
        });
        let prepared: Vec<_> = news.iter().map(|new| new.prepare(now, request.as_ref())).collect::<Result<_, _>>()?;
        let (sessions, creates): (Vec<_>, Vec<_>) = prepared.into_iter().unzip();
        let ids: Vec<_> = sessions.iter().map(|session| session.id().to_owned()).collect();
        let batch = CreateAll { sessions: creates, request: request.clone() };
        let events = batch.sessions.iter().map(|create| create.events.len()).sum();
        let creator = news.first().and_then(|new| new.creator.as_deref());
        let reserved = self.reserve(creator, news.len(), request.as_ref()).await?;
        let made: Vec<_> = sessions.iter().map(|session| (session.id().to_owned(), session.version())).collect();
        let this = self.clone();
        let make = async move {
            let _reserved = reserved;
            let created = this.store.create_all(batch).await;
            this.tell_made(created.as_ref().map(|created| *created == CreatedAll::Done), &made, events);
            created
        };
        match self.under_way.carry_out(Box::pin(make)).await?? {
            CreatedAll::Done => Ok(MadeAll { sessions, replayed: false }),
            CreatedAll::IdsTaken(places) => {
                let taken = places.into_iter().map(|place| (place, ids[place].clone()));
                Err(ServiceError::IdsTaken(taken.collect()))
            }
            CreatedAll::Repeated(creations) => self.all_made_before(&creations, request).await,
        }
    }

    async fn all_made_before(&self, creations: &[Creation], request: Option<Request>) -> Result<MadeAll, ServiceError> {
        for Creation { session_id, request: before, deleted } in creations {
            if request.as_ref().is_none_or(|request| before.digest != request.digest) {
                return Err(ServiceError::RequestIdReused { request_id: before.id.clone() });
            }
            if *deleted {
                return Err(ServiceError::not_found(session_id));
            }
        }
        let mut sessions = Vec::with_capacity(creations.len());
        for creation in creations {
            sessions.push(self.as_made(&creation.session_id).await?);
        }
        Ok(MadeAll { sessions, replayed: true })
    }
}
