//! One session that the store can't make sense of: the others are not concerned.

use super::servers::{Pair, made, play};
use crate::wrapped_store::{Wrap, Wrapped};
use mancala::service::{Delete, RequestId, Retention, ServiceError, Swept};
use mancala::session::{Credential, Session};
use mancala::store::{Head, Store, StoreError, StoredEvent};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store in which the rows of one session are damaged.
struct Damaged {
    inner: Arc<dyn Store>,
    session: Arc<Mutex<String>>,
}

impl Damaged {
    fn meet(&self, session_id: &str) -> Result<(), StoreError> {
        let damaged = self.session.lock().expect("no panic");
        if damaged.as_str() == session_id { Err(StoreError::Damaged("a checksum".to_owned())) } else { Ok(()) }
    }
}

#[async_trait::async_trait]
impl Wrap for Damaged {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.meet(session_id)?;
        self.inner.read(session_id, after, limit).await
    }
    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.meet(session_id)?;
        self.inner.head(session_id).await
    }
    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        session_ids.iter().try_for_each(|session_id| self.meet(session_id))?;
        self.inner.heads(session_ids).await
    }
}

/// Two servers, and three sessions of which nothing is in the other one's memory; the second is damaged.
async fn start() -> (Pair, [String; 3]) {
    let session = Arc::new(Mutex::new(String::new()));
    let damaged = session.clone();
    let pair = Pair::over(|inner| Arc::new(Wrapped(Damaged { inner, session: damaged })));
    let mut ids = [const { String::new() }; 3];
    for id in &mut ids {
        *id = made(&pair.one, 1, None).await;
        play(&pair.one, id, "first").await;
        pair.clock.advance(1_000_000);
    }
    session.lock().expect("no panic").clone_from(&ids[1]);
    (pair, ids)
}

fn is_damaged<T>(answer: &Result<T, ServiceError>, id: &str) -> bool {
    matches!(answer, Err(ServiceError::Damaged { session_id, .. }) if session_id == id)
}

#[tokio::test]
async fn a_call_on_it_says_which_it_is_and_calls_on_others_are_answered() {
    let (pair, ids) = start().await;
    assert!(is_damaged(&pair.other.look(&ids[1], Session::version).await, &ids[1]));
    assert!(is_damaged(&pair.other.look_at(&ids[1], 1, Session::version).await, &ids[1]));
    assert!(is_damaged(&pair.other.events(&ids[1], 0, 10, false).await, &ids[1]));
    assert!(is_damaged(&pair.other.history(&ids[1], None).await, &ids[1]));
    assert_eq!(pair.other.look(&ids[0], Session::version).await, Ok(2));

    let found = pair.other.get_all(&ids).await.expect("an answer for each");
    assert!(is_damaged(&found[1], &ids[1]));
    for place in [0, 2] {
        assert_eq!(found[place].as_ref().map(|(head, ..)| &head.session_id), Ok(&ids[place]));
    }
}

#[tokio::test]
async fn retention_passes_it_over_though_it_is_not_the_last() {
    let (pair, ids) = start().await;
    let hour = Some(Duration::from_secs(3_600));
    let retention = Retention { finished: hour, aborted: hour, abandoned: hour, notice: Duration::from_secs(60) };
    pair.clock.advance(2 * 3_600_000_000);
    assert_eq!(pair.other.sweep(&retention).await, Ok(Swept { announced: 2, deleted: 0 }));
    pair.clock.advance(120_000_000);
    assert_eq!(pair.other.sweep(&retention).await, Ok(Swept { announced: 0, deleted: 2 }));
    assert_eq!(pair.other.look(&ids[0], Session::version).await, Err(ServiceError::not_found(&ids[0])));
}

#[tokio::test]
async fn it_is_deleted_by_a_request_with_an_id_as_by_one_without() {
    let (pair, ids) = start().await;
    let request_id = RequestId::from(Some("removes".to_owned()));
    let delete = Delete { session_id: ids[1].clone(), expected_version: None, request_id, credential: Credential::Trusted };
    assert_eq!(pair.other.delete(delete.clone()).await, Ok(()));
    assert_eq!(pair.other.delete(delete).await, Ok(()), "a repetition");
}
