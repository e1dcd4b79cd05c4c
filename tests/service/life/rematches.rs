//! Rematches: linked both ways, one only, also when something fails in between.

use super::clocks::{SECOND, total};
use super::servers::{Pair, ask, made};
use super::table::{Table, request};
use crate::app::{App, body, refusal};
use async_trait::async_trait;
use mancala::service::ServiceError;
use mancala::session::{Command, Event, ProposalKind, Session};
use mancala::store::{
    Append, Appended, Census, Changes, Create, CreateAll, Created, CreatedAll, Creation, Cursor, Delete, Deleted, Expirable,
    Filter, Head, HeadPage, Health, IdleQuery, Import, Micros, Place, Query, State, Store, StoreError, StoredEvent,
};
use mancala::wire::proto::{self, ProposalKind as Kind, Seat, SessionState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

#[tokio::test]
async fn a_rematch_is_a_session_like_the_one_before() {
    let app = App::start().await;
    let set_up = proto::CreateSessionRequest {
        labels: [("table".to_owned(), "7".to_owned())].into(),
        options: [("bonus".to_owned(), "optional".to_owned())].into(),
        guards: Some(proto::Guards { repetition: Some(5), quiet: Some(0), max_plies: Some(77) }),
        position: "ali_guli_mane 0,0,0,1,0,0,0/0,1,0,0,0,0,0 28-40 N sow".to_owned(),
        ..request("ali_guli_mane", 3, Some(total(60 * SECOND, SECOND)))
    };
    let table = Table::new(&app, set_up).await;
    let first = table.session().await;
    table.play_any(1).await;
    body(table.resign(Seat::South, true).await);
    body(table.propose(Seat::North, Kind::Rematch).await);
    app.clock.advance(SECOND);
    let answer = body(table.answer(Seat::South, Kind::Rematch, true).await);
    let old = table.session().await;
    assert_eq!((&old.next_session_id, old.state()), (&answer.next_session_id, SessionState::Finished));
    assert_eq!(old.version, answer.version);
    let new = app.session(&answer.next_session_id).await;
    let same_but_its_place = proto::Session {
        session_id: new.session_id.clone(),
        previous_session_id: table.id.clone(),
        create_time: old.update_time,
        update_time: old.update_time,
        head_hash: new.head_hash.clone(),
        ..first
    };
    assert_eq!(new, same_but_its_place);
    let impossible = refusal(table.propose(Seat::South, Kind::Rematch).await);
    assert_eq!((impossible.reason.as_str(), impossible.fact("why")), ("PROPOSAL_IMPOSSIBLE", "there is a rematch already"));
    let again = Table { app: &app, id: new.session_id };
    body(again.resign(Seat::South, true).await);
    let third = again.agree(Kind::Rematch).await.next_session_id;
    assert_ne!(third, table.id);
    assert_eq!(app.session(&third).await.previous_session_id, again.id);
}

#[tokio::test]
async fn a_declined_rematch_makes_nothing_and_a_repeated_answer_one() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.resign(Seat::South, false).await);
    body(table.propose(Seat::South, Kind::Rematch).await);
    let declined = body(table.answer(Seat::North, Kind::Rematch, false).await);
    assert_eq!(declined.next_session_id, "");
    body(table.propose(Seat::North, Kind::Rematch).await);
    let reply = proto::AnswerProposalRequest { request_id: "yes".to_owned(), ..table.reply(Seat::South, Kind::Rematch, true) };
    let first = body(app.sessions().answer_proposal(reply.clone()).await);
    let again = body(app.sessions().answer_proposal(reply).await);
    assert!(again.replayed && again.next_session_id == first.next_session_id);
    let listed = body(app.sessions().list_sessions(proto::ListSessionsRequest::default()).await).sessions;
    assert_eq!(listed.len(), 2);
}

/// A store whose next append fails, before or after it is made.
struct Failing {
    inner: Arc<dyn Store>,
    before: AtomicBool,
    after: AtomicBool,
}

#[async_trait]
impl Store for Failing {
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.inner.create(create).await
    }
    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError> {
        self.inner.create_all(batch).await
    }
    async fn import(&self, import: Import) -> Result<Created, StoreError> {
        self.inner.import(import).await
    }
    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError> {
        self.inner.creation(request_id).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        if self.before.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unavailable("for a test".to_owned()));
        }
        let appended = self.inner.append(append).await;
        if self.after.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unknown("for a test".to_owned()));
        }
        appended
    }
    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.inner.delete(delete).await
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.inner.read(session_id, after, limit).await
    }
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.inner.head(session_id).await
    }
    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        self.inner.heads(session_ids).await
    }
    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.inner.versions(session_ids).await
    }
    async fn list(&self, query: Query) -> Result<HeadPage, StoreError> {
        self.inner.list(query).await
    }
    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError> {
        self.inner.idle(query).await
    }
    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
        self.inner.due(state, by, limit).await
    }
    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        self.inner.overdue(before, after, limit).await
    }
    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError> {
        self.inner.count(filter, most).await
    }
    async fn census(&self) -> Result<Census, StoreError> {
        self.inner.census().await
    }
    async fn latest_change(&self) -> Result<Cursor, StoreError> {
        self.inner.latest_change().await
    }
    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
        self.inner.changes(after, limit).await
    }
    fn health(&self) -> watch::Receiver<Health> {
        self.inner.health()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}

const REMATCH: ProposalKind = ProposalKind::Rematch;
const AGREE: Command = Command::Answer { seat: None, kind: REMATCH, accept: true };

/// Two servers, a store that fails when told to, and a session that has ended and whose rematch is proposed.
async fn proposed() -> (Pair, Arc<Failing>, String) {
    let mut failing = None;
    let pair = Pair::over(|inner| {
        let store = Arc::new(Failing { inner, before: AtomicBool::new(false), after: AtomicBool::new(false) });
        failing = Some(store.clone());
        store
    });
    let id = made(&pair.one, 2, None).await;
    ask(&pair.one, &id, Command::Resign { seat: None, whole_match: true }, None, "").await.expect("an end");
    ask(&pair.one, &id, Command::Propose { seat: None, kind: REMATCH, to_version: None }, None, "").await.expect("a proposal");
    (pair, failing.expect("the store"), id)
}

async fn sessions_in(pair: &Pair) -> usize {
    pair.store.list(Query { limit: 100, ..Query::default() }).await.expect("a store").heads.len()
}

#[tokio::test]
async fn a_server_that_dies_between_the_new_session_and_its_link_leaves_one_rematch() {
    let (pair, failing, id) = proposed().await;
    failing.before.store(true, Ordering::SeqCst);
    assert!(matches!(ask(&pair.one, &id, AGREE, None, "yes").await, Err(ServiceError::Store(StoreError::Unavailable(_)))));
    assert_eq!(sessions_in(&pair).await, 2, "the new session is there");
    assert_eq!(pair.one.look(&id, |session| session.next_session_id().is_none()).await, Ok(true), "nobody was told of it");
    // The other server has never heard of any of it.
    let (events, version, replayed) = ask(&pair.other, &id, AGREE, None, "yes").await.expect("an agreement");
    assert!(!replayed);
    let [Event::Answered { .. }, Event::RematchMade { session_id }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(sessions_in(&pair).await, 2, "no second one");
    let previous = pair.one.look(session_id, |session| session.previous_session_id().map(str::to_owned)).await;
    assert_eq!(previous, Ok(Some(id.clone())));
    assert_eq!(ask(&pair.one, &id, AGREE, None, "yes").await, Ok((events, version, true)));
}

#[tokio::test]
async fn an_answer_whose_outcome_was_unknown_is_repeated() {
    let (pair, failing, id) = proposed().await;
    failing.after.store(true, Ordering::SeqCst);
    assert!(matches!(ask(&pair.one, &id, AGREE, None, "yes").await, Err(ServiceError::Store(StoreError::Unknown(_)))));
    let (events, _, replayed) = ask(&pair.one, &id, AGREE, None, "yes").await.expect("an agreement");
    assert!(replayed && matches!(events[1], Event::RematchMade { .. }));
    assert_eq!(sessions_in(&pair).await, 2);
}

#[tokio::test]
async fn an_id_that_somebody_else_has_is_not_taken_for_the_rematch() {
    for deleted in [false, true] {
        let (pair, _, id) = proposed().await;
        let rematch = pair.one.look(&id, Session::rematch_id).await.expect("a session");
        let strange = mancala::service::NewSession { session_id: Some(rematch.clone()), ..super::servers::new_session(1, None) };
        pair.one.create(strange).await.expect("a session");
        if deleted {
            let delete = mancala::service::Delete {
                session_id: rematch.clone(),
                expected_version: None,
                request_id: None,
                credential: mancala::session::Credential::Trusted,
            };
            pair.one.delete(delete).await.expect("it goes");
        }
        assert_eq!(ask(&pair.one, &id, AGREE, None, "").await, Err(ServiceError::IdTaken { session_id: rematch }));
        assert_eq!(pair.one.look(&id, |session| session.proposals().open().len()).await, Ok(1), "nothing has changed");
    }
}

/// A store that can't be written keeps nobody from reading: what can't be stored has not happened.
#[tokio::test]
async fn a_lost_round_that_cannot_be_stored_has_not_ended() {
    let (pair, failing, _) = proposed().await;
    let limit = 1_000;
    let id = made(&pair.one, 1, Some(mancala::session::ClockSetting::PerMove { limit })).await;
    for _ in 0..2 {
        let mv = pair.one.look(&id, |session| session.rules().legal_moves(session.position())[0]).await.expect("a session");
        ask(&pair.one, &id, Command::Play { seat: None, mv }, None, "").await.expect("a move");
    }
    pair.clock.advance(limit + 1);
    failing.before.store(true, Ordering::SeqCst);
    assert_eq!(pair.one.look(&id, Session::version).await, Ok(3));
    assert_eq!(pair.one.look(&id, Session::version).await, Ok(6), "once it can be stored, it has");
}
