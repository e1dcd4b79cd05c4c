//! Those who follow many sessions by a cursor, and begin again with an older one as after a crash.

use crate::app::PATIENCE;
use crate::place::Place;
use crate::truth::Truth;
use crate::watcher::Failure;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{Event, GetSessionRequest, SessionChange, WatchSessionsRequest, WatchSessionsResponse};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::timeout;
use tonic::{Code, Response, Streaming};

/// What one knows of the sessions it follows.
#[derive(Debug, Default, Clone)]
pub struct Copy {
    /// By session: the version before the first event that it was told of, and the events.
    pub known: BTreeMap<String, (u32, Vec<Event>)>,
    pub deleted: BTreeSet<String>,
    /// Where changes ended, as it was told.
    pub ends: BTreeSet<(String, u32)>,
    /// It began before everything.
    pub from_start: bool,
    /// Events that came again.
    pub again: usize,
}

/// What is wrong with what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    #[error("{0}: version {2} came where {1} was due")]
    Order(String, u32, u32),
    #[error("{0}: version {1} was another before")]
    Changed(String, u32),
    #[error("{0}: its version is said to be {1}, the last event is {2}")]
    Version(String, u32, u32),
    #[error("{0} was deleted, and something happens to it")]
    Risen(String),
    #[error("{0}: events of a deletion")]
    DeletedWithEvents(String),
}

impl Copy {
    /// Takes in what is said of a session, some of which may have been said before.
    pub fn take(&mut self, change: SessionChange) -> Result<(), Objection> {
        let SessionChange { session_id: id, events, version, deleted, session: _ } = change;
        if deleted {
            self.known.remove(&id);
            self.deleted.insert(id.clone());
            return if events.is_empty() { Ok(()) } else { Err(Objection::DeletedWithEvents(id)) };
        }
        if self.deleted.contains(&id) {
            return Err(Objection::Risen(id));
        }
        let last = events.last().map_or(0, |event| event.version);
        if last != version {
            return Err(Objection::Version(id, version, last));
        }
        let start = if self.from_start { 0 } else { events[0].version - 1 };
        let (start, known) = self.known.entry(id.clone()).or_insert((start, Vec::new()));
        let mut due = None;
        for event in events {
            // Whatever comes again comes from there on in order.
            let expected = due.unwrap_or_else(|| event.version.min(*start + known.len() as u32 + 1));
            if event.version != expected || event.version <= *start {
                return Err(Objection::Order(id, expected, event.version));
            }
            match known.get((event.version - *start) as usize - 1) {
                Some(before) if *before != event => return Err(Objection::Changed(id, event.version)),
                Some(_) => self.again += 1,
                None => known.push(event),
            }
            due = Some(expected + 1);
        }
        self.ends.insert((id, version));
        Ok(())
    }
}

/// One who follows.
pub struct Follower {
    pub place: Place,
    pub truth: Truth,
    pub dice: SeededDice,
    pub game: String,
    pub from_start: bool,
}

/// What came of it.
pub struct Followed {
    pub game: String,
    pub copy: Copy,
    /// How far sessions had come, at most, when it began.
    pub begun: BTreeMap<String, u32>,
}

impl Follower {
    pub async fn run(mut self, sessions: &[String]) -> Followed {
        let mut copy = Copy { from_start: self.from_start, ..Copy::default() };
        let mut begun = BTreeMap::new();
        // Cursors with what was known by each, the last one last.
        let mut kept: Vec<String> = Vec::new();
        loop {
            let last = self.truth.finished().is_some();
            // As if it had crashed before it could keep the newest.
            let back = (self.dice.below(3) as usize).min(kept.len().saturating_sub(1));
            let cursor = kept.len().checked_sub(back + 1).map(|at| kept[at].clone());
            let request = WatchSessionsRequest {
                game: self.game.clone(),
                from_start: cursor.is_none() && self.from_start,
                cursor: cursor.unwrap_or_default(),
                include_sessions: self.dice.below(2) == 0,
                ..Default::default()
            };
            let mut client = SessionServiceClient::new(self.place.connect().await);
            let Ok(mut feed) = client.watch_sessions(request).await.map(Response::into_inner) else { continue };
            let to_drop = if last { u64::MAX } else { 1 + self.dice.below(30) };
            for _ in 0..to_drop {
                let Some(message) = self.next(&mut feed, last).await else { break };
                if begun.is_empty() {
                    // As whoever begins is told to do: what is read now, and all that follows, is everything.
                    begun = self.versions(sessions).await;
                }
                for change in message.changes {
                    copy.take(change).unwrap_or_else(|objection| panic!("{objection}"));
                }
                kept.push(message.cursor);
                if last && message.caught_up {
                    return Followed { game: self.game, copy, begun };
                }
                tokio::time::sleep(Duration::from_millis(self.dice.below(20))).await;
            }
        }
    }

    /// How far these sessions have come; 0 for those that are not there.
    async fn versions(&mut self, sessions: &[String]) -> BTreeMap<String, u32> {
        let mut versions = BTreeMap::new();
        while let Some(id) = sessions.get(versions.len()) {
            let mut client = SessionServiceClient::new(self.place.connect().await);
            let request = GetSessionRequest { session_id: id.clone(), ..Default::default() };
            match client.get_session(request).await {
                Ok(found) => versions.insert(id.clone(), found.into_inner().session.expect("a session").version),
                Err(status) if status.code() == Code::NotFound => versions.insert(id.clone(), 0),
                // The server is being started again.
                Err(_) => continue,
            };
        }
        versions
    }

    /// The next message; none when the stream has ended, or all has.
    async fn next(&self, feed: &mut Streaming<WatchSessionsResponse>, last: bool) -> Option<WatchSessionsResponse> {
        let message = tokio::select! {
            message = timeout(PATIENCE, feed.message()) => message.expect("a sign of life"),
            () = self.truth.wait_for_end(), if !last => return None,
        };
        match message {
            Ok(message) => message,
            Err(status) => {
                if let Some((reason, _)) = Failure::from(status).reason {
                    assert!(["STREAM_AGED", "STREAM_STOPPING", "STORE_UNAVAILABLE"].contains(&reason.as_str()), "{reason}");
                }
                None
            }
        }
    }
}

/// A checker that can't fail proves nothing.
#[test]
fn each_damage_to_a_feed_is_objected_to_as_what_it_is() {
    let events = |from: u32, to: u32| (from..=to).map(|version| Event { version, ..Default::default() }).collect::<Vec<_>>();
    let change = |from: u32, to: u32| SessionChange {
        session_id: "a".to_owned(),
        events: events(from, to),
        version: to,
        ..Default::default()
    };
    let deleted = SessionChange { session_id: "a".to_owned(), version: 5, deleted: true, ..Default::default() };
    let id = || "a".to_owned();
    let take = |changes: Vec<SessionChange>| {
        let mut copy = Copy { from_start: true, ..Copy::default() };
        changes.into_iter().try_for_each(|change| copy.take(change)).map(|()| copy)
    };
    let fine = take(vec![change(1, 2), change(3, 5), change(1, 2), change(3, 5), change(6, 6)]).expect("repeats are fine");
    assert_eq!((fine.known[&id()].1.len(), fine.again), (6, 5));
    let err = |changes| take(changes).expect_err("damaged");
    assert_eq!(err(vec![change(1, 2), change(4, 5)]), Objection::Order(id(), 3, 4));
    assert_eq!(err(vec![change(2, 2)]), Objection::Order(id(), 1, 2));
    let mut swapped = change(1, 3);
    swapped.events.swap(0, 1);
    assert_eq!(err(vec![swapped]), Objection::Order(id(), 1, 2));
    let mut doubled = change(1, 3);
    doubled.events.insert(1, doubled.events[0].clone());
    assert_eq!(err(vec![doubled]), Objection::Order(id(), 2, 1));
    let mut other = change(1, 2);
    other.events[1].hash = "x".to_owned();
    assert_eq!(err(vec![change(1, 2), other]), Objection::Changed(id(), 2));
    assert_eq!(err(vec![SessionChange { version: 3, ..change(1, 2) }]), Objection::Version(id(), 3, 2));
    assert_eq!(err(vec![change(1, 5), deleted.clone(), change(6, 6)]), Objection::Risen(id()));
    assert_eq!(err(vec![SessionChange { events: events(1, 1), ..deleted }]), Objection::DeletedWithEvents(id()));
}
