//! Changes that others forestall, and stores that fail: what callers are told of it, and what they are not.

use crate::app::{App, Refusal, apply, body, refusal};
use crate::wrapped_store::{Wrap, Wrapped};
use async_trait::async_trait;
use mancala::store::{Append, Appended, Create, Created, Store, StoreError};
use mancala::wire::proto;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

/// When whoever meets something that passes is told to come again.
const SOON: Duration = Duration::from_millis(100);

/// What a call was refused for, and when it may be repeated, if that would help.
fn refusal_and_wait<T>(answer: Result<Response<T>, Status>) -> (Refusal, Option<Duration>) {
    let wait = answer.as_ref().err().and_then(StatusExt::get_details_retry_info).and_then(|info| info.retry_delay);
    (refusal(answer), wait)
}

/// Finds the first changes forestalled by others.
struct Forestalling {
    inner: Arc<dyn Store>,
    forestalled: usize,
    tries: Arc<AtomicUsize>,
}

#[async_trait]
impl Wrap for Forestalling {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let tries = self.tries.fetch_add(1, Ordering::SeqCst);
        if tries < self.forestalled { Ok(Appended::Conflict) } else { self.inner.append(append).await }
    }
}

/// A server whose first changes are forestalled so often, and how often it has tried.
async fn forestalled(times: usize) -> (App, Arc<AtomicUsize>) {
    let tries = Arc::<AtomicUsize>::default();
    let counted = tries.clone();
    let app = App::wrapped(|inner| Arc::new(Wrapped(Forestalling { inner, forestalled: times, tries: counted }))).await;
    (app, tries)
}

#[tokio::test]
async fn who_is_forestalled_eight_times_is_told_to_come_again_and_may() {
    let (app, tries) = forestalled(8).await;
    let id = app.create("gore").await;
    let request = proto::ApplyMoveRequest { request_id: "once".to_owned(), ..apply(&id, "0") };
    let (refused, wait) = refusal_and_wait(app.sessions().apply_move(request.clone()).await);
    assert_eq!((refused.code, refused.reason.as_str(), wait), (Code::Unavailable, "CONTENDED", Some(SOON)));
    assert_eq!(refused.facts, BTreeMap::new());
    assert_eq!((tries.load(Ordering::SeqCst), app.session(&id).await.version), (8, 1));
    let reply = body(app.sessions().apply_move(request).await);
    assert_eq!((reply.version, reply.replayed), (2, false));
}

#[tokio::test]
async fn who_is_forestalled_seven_times_has_their_turn() {
    let (app, tries) = forestalled(7).await;
    let id = app.create("gore").await;
    assert_eq!(app.play(&id, "0").await.version, 2);
    assert_eq!(tries.load(Ordering::SeqCst), 8);
}

/// Fails as long as it is told how.
struct Failing {
    inner: Arc<dyn Store>,
    failure: Arc<Mutex<Option<StoreError>>>,
}

impl Failing {
    fn works(&self) -> Result<(), StoreError> {
        self.failure.lock().expect("no panic").clone().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Wrap for Failing {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.works()?;
        self.inner.create(create).await
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.works()?;
        self.inner.append(append).await
    }
}

/// What a failure is told as. The match makes a new kind fail to compile until it stands here.
fn told(failure: &StoreError) -> (Code, &'static str, Option<Duration>) {
    match failure {
        StoreError::Full(_) => (Code::ResourceExhausted, "STORE_FULL", None),
        StoreError::Unwritable(_) => (Code::Unavailable, "STORE_UNWRITABLE", Some(SOON)),
        StoreError::Unavailable(_) => (Code::Unavailable, "STORE_UNAVAILABLE", Some(SOON)),
        StoreError::Unknown(_) => (Code::Unavailable, "OUTCOME_UNKNOWN", Some(SOON)),
        StoreError::Damaged(_) => (Code::DataLoss, "STORE_DAMAGED", None),
    }
}

/// Fails unless a call was refused for this failure, in words that don't say what went wrong.
fn assert_told<T>(answer: Result<Response<T>, Status>, failure: &StoreError, cause: &str) {
    let status = answer.err().unwrap_or_else(|| panic!("{failure:?} is no success"));
    assert!(!status.message().contains(cause), "{status:?}");
    let details = status.details();
    assert!(!details.windows(cause.len()).any(|part| part == cause.as_bytes()), "{status:?}");
    let (refused, wait) = refusal_and_wait::<()>(Err(status));
    assert_eq!((refused.code, refused.reason.as_str(), wait), told(failure));
    assert_eq!(refused.facts, BTreeMap::new());
}

#[tokio::test]
async fn a_change_that_the_store_fails_at_is_told_its_reason_and_not_its_cause() {
    let failure = Arc::<Mutex<Option<StoreError>>>::default();
    let said = failure.clone();
    let app = App::wrapped(|inner| Arc::new(Wrapped(Failing { inner, failure: said }))).await;
    let id = app.create("gore").await;
    let cause = "/srv/games.db";
    let kinds = [StoreError::Full, StoreError::Unwritable, StoreError::Unavailable, StoreError::Unknown, StoreError::Damaged];
    for kind in kinds {
        let now = kind(cause.to_owned());
        *failure.lock().expect("no panic") = Some(now.clone());
        let mut sessions = app.sessions();
        let create = proto::CreateSessionRequest { game: "gore".to_owned(), ..Default::default() };
        assert_told(sessions.create_session(create).await, &now, cause);
        // What is damaged where one session is changed may be that session alone.
        if !matches!(now, StoreError::Damaged(_)) {
            assert_told(sessions.apply_move(apply(&id, "0")).await, &now, cause);
        }
    }
    *failure.lock().expect("no panic") = None;
    assert_eq!(app.play(&id, "0").await.version, 2, "and nothing has happened");
}
