//! Two servers on one store: each has its own copies of sessions, and the store alone says what happened.

use crate::app::START;
use crate::wrapped_store::{Wrap, Wrapped};
use mancala::game::{Game, Guards, Rules, Seat};
use mancala::service::{Clock, NewSession, RequestId, ServiceError, Sessions, SystemClock, Target};
use mancala::session::{ClockSetting, Command, Credential, Event, Micros, Rejection, Session, Spectators};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Store, StoreError};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A clock that stands until it is set.
pub struct SharedClock(AtomicI64);

impl SharedClock {
    pub fn advance(&self, by: Micros) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Micros {
        self.0.load(Ordering::SeqCst)
    }
}

pub struct Pair {
    pub store: Arc<dyn Store>,
    pub clock: Arc<SharedClock>,
    pub one: Sessions,
    pub other: Sessions,
    _folder: TempDir,
}

impl Pair {
    /// `wrap` puts something between the servers and the store.
    pub fn over(wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Pair {
        let folder = TempDir::new().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("the store opens");
        let store = wrap(Arc::new(store));
        let clock = Arc::new(SharedClock(AtomicI64::new(START)));
        let server = || Sessions::new(store.clone(), clock.clone(), 16);
        Pair { one: server(), other: server(), store: store.clone(), clock: clock.clone(), _folder: folder }
    }

    pub async fn names(&self, id: &str) -> Vec<String> {
        let stored = self.store.read(id, 0, 1_000).await.expect("a store").expect("a session");
        let kind = |body: &str| {
            serde_json::from_str::<serde_json::Value>(body).expect("JSON")["type"].as_str().expect("text").to_owned()
        };
        stored.iter().map(|event| kind(&event.body)).collect()
    }
}

pub fn new_session(rounds: u32, clock: Option<ClockSetting>) -> NewSession {
    let rules = Rules::new(Game::Ayoayo);
    NewSession {
        session_id: None,
        rules,
        guards: Guards::of(Game::Ayoayo),
        start: rules.start(),
        labels: Default::default(),
        rounds,
        clock,
        previous_session_id: None,
        seats: Vec::new(),
        spectators: Spectators::default(),
        creator: None,
        request_id: None,
    }
}

pub async fn made(sessions: &Sessions, rounds: u32, clock: Option<ClockSetting>) -> String {
    sessions.create(new_session(rounds, clock)).await.expect("a session").session.id().to_owned()
}

pub async fn ask(
    sessions: &Sessions,
    id: &str,
    command: Command,
    expected_version: Option<u32>,
    request_id: &str,
) -> Result<(Vec<Event>, u32, bool), ServiceError> {
    let request_id = RequestId::from(Some(request_id.to_owned())).filter(|id| !id.is_empty());
    let target = Target { session_id: id.to_owned(), expected_version, request_id, credential: Credential::Trusted };
    let done = sessions.apply(target, command, false, Session::version).await?;
    Ok((done.events, done.after, done.replayed))
}

/// A move of a seat: the first legal one.
pub async fn play(sessions: &Sessions, id: &str, request_id: &str) -> Command {
    let mv = sessions.look(id, |session| session.rules().legal_moves(session.position())[0]).await.expect("a session");
    let seat = sessions.look(id, |session| session.position().to_act()).await.expect("a session");
    let command = Command::Play { seat: Some(seat), mv };
    ask(sessions, id, command.clone(), None, request_id).await.expect("a move");
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_is_lost_once_however_many_servers_look() {
    let pair = Pair::over(|store| store);
    for rounds in [1, 3] {
        let id = made(&pair.one, rounds, Some(ClockSetting::PerMove { limit: 1_000 })).await;
        play(&pair.one, &id, "first").await;
        play(&pair.one, &id, "second").await;
        // Both have their copy.
        pair.other.look(&id, Session::version).await.expect("a session");
        pair.clock.advance(1_001);
        let looks = (0..50).map(|number| {
            let sessions = if number % 2 == 0 { pair.one.clone() } else { pair.other.clone() };
            let id = id.clone();
            tokio::spawn(async move {
                match number % 3 {
                    0 => ask(&sessions, &id, Command::ClaimTimeout, None, "").await.map_or(0, |(_, version, _)| version),
                    _ => sessions.look(&id, Session::version).await.expect("a session"),
                }
            })
        });
        let mut claimed = 0;
        for (number, look) in looks.collect::<Vec<_>>().into_iter().enumerate() {
            match look.await.expect("no panic") {
                6 if number % 3 == 0 => claimed += 1,
                version => assert!(version == 6 || (version == 0 && number % 3 == 0), "{version}"),
            }
        }
        assert!(claimed <= 1, "a claim that somebody has forestalled is refused");
        let last = if rounds == 1 { "ended" } else { "round_started" };
        assert_eq!(pair.names(&id).await[3..], ["timed_out", "round_ended", last]);
    }
}

#[tokio::test]
async fn a_server_whose_copy_is_old_refuses_nothing_for_it() {
    let pair = Pair::over(|store| store);
    let id = made(&pair.one, 1, None).await;
    let souths = play(&pair.one, &id, "a").await;
    // This server's copy stays behind.
    assert_eq!(pair.other.look(&id, Session::version).await.expect("a session"), 2);
    play(&pair.one, &id, "b").await;
    let again = play(&pair.one, &id, "c").await;
    // South's own move, whose answer was lost: by the old copy it is North's turn, and version 3 has not come.
    let (_, version, replayed) = ask(&pair.other, &id, again.clone(), None, "c").await.expect("it was played");
    assert_eq!((version, replayed), (4, true));
    let (_, version, replayed) = ask(&pair.other, &id, souths, None, "a").await.expect("it was played");
    assert_eq!((version, replayed), (2, true));

    play(&pair.one, &id, "d").await;
    let stale = ask(&pair.other, &id, again.clone(), Some(3), "").await;
    assert_eq!(stale, Err(ServiceError::StaleVersion { expected: 3, current: 5 }), "the store's version, not the copy's");
    play(&pair.one, &id, "e").await;
    let wrong = ask(&pair.other, &id, again, None, "").await;
    assert_eq!(wrong, Err(Rejection::NotYourTurn { seat: Seat::South, to_act: Seat::North }.into()));
}

#[tokio::test]
async fn an_agreement_across_servers_happens_once() {
    let pair = Pair::over(|store| store);
    let id = made(&pair.one, 2, None).await;
    let kind = mancala::session::ProposalKind::Draw;
    pair.other.look(&id, Session::version).await.expect("a session");
    ask(&pair.one, &id, Command::Propose { seat: None, kind, to_version: None }, None, "p").await.expect("a proposal");
    let answer = Command::Answer { seat: None, kind, accept: true };
    let (one, other) = tokio::join!(ask(&pair.one, &id, answer.clone(), None, ""), ask(&pair.other, &id, answer, None, ""));
    let refused = Err(Rejection::ProposalNotFound { kind }.into());
    assert!((one.is_ok() && other == refused) || (other.is_ok() && one == refused), "{one:?} {other:?}");
    assert_eq!(pair.names(&id).await, ["created", "proposed", "answered", "round_ended", "round_started"]);
}

/// What servers wanted to add to a store.
struct Watched {
    store: Arc<dyn Store>,
    wanted: Arc<Mutex<Vec<Append>>>,
}

#[async_trait::async_trait]
impl Wrap for Watched {
    fn inner(&self) -> &Arc<dyn Store> {
        &self.store
    }
    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.wanted.lock().expect("no panic").push(append.clone());
        self.store.append(append).await
    }
}

/// The time of [`SharedClock`], with a server's own step.
struct Stepping {
    clock: Arc<SharedClock>,
    step: Micros,
}

impl Clock for Stepping {
    fn now(&self) -> Micros {
        self.clock.now()
    }
    fn step(&self) -> Micros {
        self.step
    }
}

/// A store that has lost its connection tells by an event's hash whether it was written, so that no other server may make the same one.
#[tokio::test]
async fn servers_whose_clocks_are_behind_make_different_events_of_one_request() {
    let wanted = Arc::new(Mutex::new(Vec::new()));
    let watched = wanted.clone();
    let pair = Pair::over(|store| Arc::new(Wrapped(Watched { store, wanted: watched })));
    let id = made(&pair.one, 1, None).await;
    let server = |step| Sessions::new(pair.store.clone(), Arc::new(Stepping { clock: pair.clock.clone(), step }), 16);
    let servers = [server(7), server(8)];
    for server in &servers {
        server.look(&id, Session::version).await.expect("a session");
    }
    pair.clock.advance(-1);
    let mv = pair.one.look(&id, |session| session.rules().legal_moves(session.position())[0]).await.expect("a session");
    for (server, was_late) in servers.iter().zip([false, true]) {
        let done = ask(server, &id, Command::Play { seat: None, mv }, None, "once").await.expect("it is played");
        assert_eq!((done.1, done.2), (2, was_late));
    }
    let wanted = wanted.lock().expect("no panic");
    let [first, late] = &wanted[..] else { panic!("each found out by its write that it was late: {wanted:?}") };
    assert_eq!((first.time, late.time), (START + 7, START + 8));
    assert_ne!(first.hashes, late.hashes);
}

#[test]
fn servers_have_steps_of_their_own() {
    let steps: Vec<_> = (0..10).map(|_| SystemClock::default().step()).collect();
    assert!(steps.iter().all(|step| (1..=1_000).contains(step)), "{steps:?}");
    assert!(steps.iter().any(|step| *step != steps[0]), "{steps:?}");
}

#[tokio::test]
async fn a_creation_that_makes_nothing_takes_nobodys_place_in_memory() {
    let pair = Pair::over(|store| store);
    let id = made(&pair.one, 1, None).await;
    let taken = NewSession { session_id: Some(id.clone()), ..new_session(1, None) };
    assert!(matches!(pair.other.create(taken.clone()).await, Err(ServiceError::IdTaken { .. })));
    let asked = NewSession { request_id: RequestId::from(Some("makes".to_owned())), ..new_session(1, None) };
    pair.one.create(asked.clone()).await.expect("a session");
    assert!(pair.other.create(asked).await.expect("the same session").replayed);
    assert_eq!(pair.other.cached(), 0);
    // One that is there keeps its place.
    assert!(matches!(pair.one.create(taken).await, Err(ServiceError::IdTaken { .. })));
    assert_eq!(pair.one.cached(), 2);
}
