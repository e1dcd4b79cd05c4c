//! Commands in a row: each is answered as if it were alone, whatever becomes of those beside it.

use super::servers::{Pair, ask, made};
use crate::wrapped_store::{Wrap, Wrapped};
use async_trait::async_trait;
use mancala::service::{Asked, ServiceError, Sessions, Target};
use mancala::session::{Command, Credential, Rejection, Session};
use mancala::store::{Append, Appended, Store, StoreError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a store says instead of what it did.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It did nothing.
    Refuses,
    /// It did what it was asked for.
    DoesNotKnow,
}

/// Fails rows, and counts them.
struct Failing {
    inner: Arc<dyn Store>,
    fault: Arc<Mutex<Option<Fault>>>,
    rows: Arc<AtomicUsize>,
}

#[async_trait]
impl Wrap for Failing {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
    fn longest_row(&self) -> usize {
        4
    }
    async fn append_all(&self, appends: Vec<Append>) -> Result<Appended, StoreError> {
        assert!((2..=4).contains(&appends.len()));
        self.rows.fetch_add(1, Ordering::SeqCst);
        let fault = self.fault.lock().expect("no panic").take();
        match fault {
            None => self.inner.append_all(appends).await,
            Some(Fault::Refuses) => Err(StoreError::Unavailable("on purpose".into())),
            Some(Fault::DoesNotKnow) => {
                assert_eq!(self.inner.append_all(appends).await, Ok(Appended::Done));
                Err(StoreError::Unknown("on purpose".into()))
            }
        }
    }
}

struct Rows {
    pair: Pair,
    id: String,
    fault: Arc<Mutex<Option<Fault>>>,
    rows: Arc<AtomicUsize>,
}

/// A move of which the version is wanted.
type Move = Asked<fn(&Session) -> u32>;

type Outcome = Result<(u32, bool), ServiceError>;

impl Rows {
    async fn new() -> Rows {
        let (fault, rows) = (Arc::<Mutex<Option<Fault>>>::default(), Arc::<AtomicUsize>::default());
        let pair = Pair::over(|inner| Arc::new(Wrapped(Failing { inner, fault: fault.clone(), rows: rows.clone() })));
        let id = made(&pair.one, 1, None).await;
        Rows { pair, id, fault, rows }
    }

    fn asked(&self, command: Command, request_id: &str) -> Move {
        let request_id = Some(request_id.to_owned()).filter(|id| !id.is_empty());
        let target = Target { session_id: self.id.clone(), expected_version: None, request_id, credential: Credential::Trusted };
        Asked { target, command, want_steps: false, look: Session::version }
    }

    /// So many legal moves on end, without playing them.
    async fn line(&self, sessions: &Sessions, length: usize) -> Vec<Command> {
        let (rules, mut position) =
            sessions.look(&self.id, |session| (*session.rules(), *session.position())).await.expect("a session");
        let mut line = Vec::new();
        for _ in 0..length {
            let mv = rules.legal_moves(&position)[0];
            position = rules.check(&position, mv).expect("a legal move").play(&mut ()).0;
            line.push(Command::Play { seat: None, mv });
        }
        line
    }

    async fn apply(&self, row: Vec<Move>) -> Vec<Outcome> {
        let outcomes = self.pair.one.apply_row(row).await;
        outcomes.into_iter().map(|outcome| outcome.map(|applied| (applied.after, applied.replayed))).collect()
    }

    async fn version(&self) -> u32 {
        self.pair.one.version(&self.id).await.expect("a session")
    }

    fn rows(&self) -> usize {
        self.rows.load(Ordering::SeqCst)
    }
}

fn named(rows: &Rows, line: Vec<Command>) -> Vec<Move> {
    line.into_iter().enumerate().map(|(place, command)| rows.asked(command, &format!("r{place}"))).collect()
}

#[tokio::test]
async fn a_row_is_stored_in_as_few_pieces_as_can_be() {
    let rows = Rows::new().await;
    let line = rows.line(&rows.pair.one, 10).await;
    let outcomes = rows.apply(named(&rows, line.clone())).await;
    assert_eq!(outcomes, (2..12).map(|version| Ok((version, false))).collect::<Vec<_>>());
    assert_eq!((rows.rows(), rows.version().await), (3, 11), "of four, four and two");
    let again = rows.apply(named(&rows, line)).await;
    assert_eq!(again, (2..12).map(|version| Ok((version, true))).collect::<Vec<_>>());
    assert_eq!((rows.rows(), rows.version().await), (3, 11));
    assert_eq!(rows.apply(Vec::new()).await, []);
}

#[tokio::test]
async fn what_is_refused_in_a_row_is_refused_alone() {
    let rows = Rows::new().await;
    let mut row = named(&rows, rows.line(&rows.pair.one, 5).await);
    let first = row[0].clone();
    // A pit of the other seat; the first move repeated; the second one's id with another move; a stale version.
    row.insert(1, rows.asked(first.command.clone(), ""));
    row.insert(4, first.clone());
    row.insert(5, rows.asked(first.command.clone(), "r1"));
    let mut stale = row[6].clone();
    stale.target.expected_version = Some(1);
    row.insert(6, stale);
    let outcomes = rows.apply(row).await;
    assert!(matches!(outcomes[1], Err(ServiceError::Rejected(Rejection::Illegal(_)))), "{outcomes:?}");
    let reused = Err(ServiceError::RequestIdReused { request_id: "r1".to_owned() });
    let stale = Err(ServiceError::StaleVersion { expected: 1, current: 4 });
    let played = [2, 3, 4, 5, 6].map(|version| Ok((version, false)));
    let [first, second, third, fourth, fifth] = played;
    assert_eq!(outcomes[0], first);
    assert_eq!(outcomes[2..], [second, third, Ok((2, true)), reused, stale, fourth, fifth]);
    assert_eq!(rows.version().await, 6);
}

#[tokio::test]
async fn a_row_that_is_not_stored_has_not_happened() {
    let rows = Rows::new().await;
    let line = rows.line(&rows.pair.one, 4).await;
    *rows.fault.lock().expect("no panic") = Some(Fault::Refuses);
    let refused: Vec<Outcome> = vec![Err(StoreError::Unavailable("on purpose".into()).into()); 4];
    assert_eq!(rows.apply(named(&rows, line.clone())).await, refused);
    assert_eq!(rows.version().await, 1);
    let outcomes = rows.apply(named(&rows, line)).await;
    assert_eq!(outcomes, (2..6).map(|version| Ok((version, false))).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_row_of_which_nobody_knows_is_found_when_it_is_asked_for_again() {
    let rows = Rows::new().await;
    let line = rows.line(&rows.pair.one, 4).await;
    *rows.fault.lock().expect("no panic") = Some(Fault::DoesNotKnow);
    let unknown: Vec<Outcome> = vec![Err(StoreError::Unknown("on purpose".into()).into()); 4];
    assert_eq!(rows.apply(named(&rows, line.clone())).await, unknown);
    let outcomes = rows.apply(named(&rows, line)).await;
    assert_eq!(outcomes, (2..6).map(|version| Ok((version, true))).collect::<Vec<_>>());
    assert_eq!(rows.version().await, 5);
}

#[tokio::test]
async fn a_row_on_a_copy_that_is_old_is_decided_again() {
    let rows = Rows::new().await;
    let line = rows.line(&rows.pair.one, 5).await;
    // Another holder of the session is a move ahead; this one's copy is as it was made.
    ask(&rows.pair.other, &rows.id, line[0].clone(), None, "").await.expect("a move");
    let outcomes = rows.apply(named(&rows, line[1..].to_vec())).await;
    assert_eq!(outcomes, (3..7).map(|version| Ok((version, false))).collect::<Vec<_>>());
    assert_eq!(rows.version().await, 6);
}
