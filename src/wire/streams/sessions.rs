//! WatchSessions.

use super::Source;
use super::life::{Life, Wake};
use crate::service::{Cursor, Feed, FeedPage, Filter, SessionChange};
use crate::session::check_labels;
use crate::wire::SessionHandlers;
use crate::wire::convert::{event, game_in, listed, session as session_out, timestamp};
use crate::wire::fields::Fields;
use crate::wire::filter;
use crate::wire::proto;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;

/// After a change, others are waited for so long: one read then serves them all.
const GATHER: Duration = Duration::from_millis(5);
/// The longest cursor that is read, in bytes. A store's own is shorter: one of Postgres has the ids of the database and of a session.
const MAX_CURSOR: usize = 256;

/// One who watches many sessions.
pub struct Follower {
    handlers: SessionHandlers,
    include_sessions: bool,
    feed: Feed,
    life: Life,
    /// The watcher has everything up to here.
    cursor: Cursor,
    caught_up: bool,
    /// The first message was sent.
    greeted: bool,
}

impl Follower {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the request is malformed, or the cursor is not of this store.
    pub async fn begin(
        handlers: &SessionHandlers,
        until: Option<Instant>,
        request: proto::WatchSessionsRequest,
    ) -> Result<Follower, Status> {
        let proto::WatchSessionsRequest { game, labels, filter, cursor, from_start, include_sessions } = request;
        let mut fields = Fields::new();
        let filter = filter_in(&mut fields, &game, labels, &filter);
        if cursor.len() > MAX_CURSOR {
            fields.fault("cursor", format_args!("at most {MAX_CURSOR} bytes, as a message of a watch bore it"));
        }
        if from_start && !cursor.is_empty() {
            fields.fault("from_start", "not with a cursor, which says where to begin");
        }
        let filter = fields.done(Some(filter))?;
        // Registered before anything is read, so that no change falls between.
        let mut feed = handlers.sessions.follow(filter);
        let cursor = match cursor {
            cursor if !cursor.is_empty() => Cursor(cursor),
            _ if from_start => Cursor::start(),
            _ => handlers.sessions.latest_change().await?,
        };
        // So that a cursor that can't be used is refused at once.
        feed.news(&cursor).await?;
        let (handlers, life) = (handlers.clone(), Life::new(&handlers.streams, until));
        Ok(Follower { handlers, include_sessions, feed, life, cursor, caught_up: false, greeted: false })
    }

    async fn message(&mut self, changes: Vec<SessionChange>) -> Result<proto::WatchSessionsResponse, Status> {
        let mut out = Vec::with_capacity(changes.len());
        for change in changes {
            out.push(self.change(change).await?);
        }
        self.greeted = true;
        self.life.beat();
        let server_time = Some(timestamp(self.handlers.sessions.now()));
        Ok(proto::WatchSessionsResponse { changes: out, cursor: self.cursor.0.clone(), caught_up: self.caught_up, server_time })
    }

    async fn change(&self, change: SessionChange) -> Result<proto::SessionChange, Status> {
        let SessionChange { session_id, events, version, shown } = change;
        let deleted = shown.is_none();
        let mut out = Vec::with_capacity(events.len());
        for record in events {
            let made = match record.version {
                1 => self.made(&session_id).await?,
                _ => None,
            };
            out.push(event(record, made));
        }
        let session = shown.filter(|_| self.include_sessions).map(|(head, view, position)| listed(head, view, &position));
        Ok(proto::SessionChange { session_id, events: out, version, deleted, session })
    }

    /// A session as it was made; none if it has been deleted since it was read.
    async fn made(&self, session_id: &str) -> Result<Option<proto::Session>, Status> {
        match self.handlers.sessions.look_at(session_id, 1, session_out).await {
            Ok(session) => Ok(Some(session)),
            Err(crate::service::ServiceError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The sessions that a request asks for. Whatever changes with what is watched is no filter: the change that leads out of it would
/// be missed.
fn filter_in(fields: &mut Fields, game: &str, labels: std::collections::BTreeMap<String, String>, text: &str) -> Filter {
    let game = if game.is_empty() { None } else { fields.take("game", game_in(game)) };
    if let Err(faults) = check_labels(&labels) {
        faults.into_iter().for_each(|fault| fields.fault("labels", fault));
    }
    let comparisons = fields.take("filter", filter::parse(text)).unwrap_or_default();
    let mut filter = Filter { game: game.map(|game| game.id().to_owned()), labels, ..Filter::default() };
    if !comparisons.into_iter().all(|comparison| filter::narrow(&mut filter, comparison)) {
        fields.fault("filter", "comparisons that don't contradict each other: no session could be so");
    }
    if filter.state.is_some() || filter.updated != crate::service::Span::default() {
        fields.fault("filter", "neither state nor update_time: they change with what is watched");
    }
    filter
}

impl Source for Follower {
    type Message = proto::WatchSessionsResponse;

    async fn look(&mut self) -> Result<Option<proto::WatchSessionsResponse>, Status> {
        loop {
            self.life.check().map_err(|end| end.status(&self.cursor.0))?;
            let FeedPage { changes, cursor, caught_up } = self.feed.news(&self.cursor).await?;
            self.cursor = cursor;
            self.caught_up = caught_up;
            if !changes.is_empty() || !self.greeted {
                return self.message(changes).await.map(Some);
            }
            // What is not caught up may go on to something that is wanted. On a long way there the watcher is told now and then how far
            // it has come.
            if caught_up || self.life.is_beat_due() {
                return Ok(None);
            }
        }
    }

    async fn wait(&mut self) -> Result<(), Status> {
        match self.life.wait(self.feed.changed()).await {
            Ok(Wake::News) => tokio::time::sleep(GATHER).await,
            Ok(Wake::Beat) => self.greeted = false,
            Err(end) => return Err(end.status(&self.cursor.0)),
        }
        Ok(())
    }
}
