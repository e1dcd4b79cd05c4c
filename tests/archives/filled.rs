//! A store with everything that there can be in one, and the program's commands on it.

use super::histories::{History, MADE, any_created, any_history};
use mancala::game::{Game, Guards, Rules};
use mancala::random::SeededDice;
use mancala::service::{Clock, NewSession, Sessions, Target};
use mancala::session::{Command, Created, Credential, Event, MAX_ROUNDS, Micros, Session, Spectators, View};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{self, Head, Import, Request, Store, StoredEvent};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A clock that stands.
struct Stands;

impl Clock for Stands {
    fn now(&self) -> Micros {
        MADE
    }
}

/// A change of rows with their checksums taken away: what is to be found is what rows say, not that they were changed.
pub fn unchecked(sql: &str) -> String {
    sql.replacen(" SET ", " SET checksum = NULL, ", 1)
}

/// A store that is open.
pub struct Opened {
    pub sessions: Sessions,
    pub store: Arc<SqliteStore>,
}

pub fn open(path: &Path) -> Opened {
    let store = Arc::new(SqliteStore::open(path, Options::default()).expect("the store opens"));
    Opened { sessions: opened(store.clone()), store }
}

/// The sessions of a store that is open.
pub fn opened(store: Arc<dyn Store>) -> Sessions {
    Sessions::new(store, Arc::new(Stands), 64)
}

/// A store of so many random sessions, and of those that [`ask_everything`] makes.
pub async fn fill(path: &Path, sessions: u64) {
    let opened = open(path);
    let mut imports = tokio::task::JoinSet::new();
    for n in 0..sessions {
        let import = import(any_history(Game::ALL[n as usize % Game::ALL.len()], n, 40), &format!("played-{n:05}"));
        let store = opened.store.clone();
        imports.spawn(async move { assert_eq!(store.import(import).await, Ok(store::Created::Done)) });
    }
    imports.join_all().await;
    assert!(ask_everything(&opened.sessions).await.iter().all(|(_, replayed)| !replayed));
    opened.store.close().await;
}

/// A session with so many events or a few more: rounds of random moves.
pub async fn add_long(path: &Path, session_id: &str, events: usize) {
    let opened = open(path);
    let mut dice = SeededDice::new(1);
    let created =
        Created { rounds: MAX_ROUNDS, clock: None, guards: Guards::of(Game::Gore).into(), ..any_created(Game::Gore, &mut dice) };
    let mut history = History::begin(created, None);
    while history.events.len() < events {
        let mv = history.session.rules().sample(history.session.position(), &mut dice).expect("a move");
        assert!(history.apply(&Command::Play { seat: None, mv }, None));
    }
    assert_eq!(opened.store.import(import(history, session_id)).await, Ok(store::Created::Done));
    opened.store.close().await;
}

/// The session under this id, as it came from elsewhere: of its requests only the ids are known.
fn import(history: History, session_id: &str) -> Import {
    let mut replayed: Option<Session> = None;
    let mut hash = mancala::store::EventHash::START;
    let mut events = Vec::new();
    for recorded in history.events {
        let body = recorded.event.to_json();
        hash = hash.then(recorded.version, recorded.time, recorded.request_id.as_deref(), &body);
        let session = match (replayed.take(), &recorded.event) {
            (None, Event::Created(created)) => {
                Session::new(session_id.to_owned(), created, recorded.time).expect("it can be played")
            }
            (Some(mut session), event) => {
                session.evolve(event, recorded.time, &mut ()).expect("it follows");
                session
            }
            (None, _) => panic!("the first event makes the session"),
        };
        let session = replayed.insert(session);
        session.seal(hash);
        let request = recorded.request_id.map(|id| Request { id, digest: [0; 32] });
        events.push(StoredEvent { seq: recorded.version, time: recorded.time, request, body, hash: Some(hash) });
    }
    let session = replayed.expect("it has events");
    let mut labels = session.labels().clone();
    if session.spectators().policy == mancala::session::SpectatorPolicy::Public {
        labels.insert(String::new(), String::new());
    }
    let player = |seat| session.seats().of(seat).player().map(|it| it.reference.clone()).filter(|name| !name.is_empty());
    let head = Head {
        session_id: session_id.to_owned(),
        game: session.rules().game().id().to_owned(),
        labels,
        created: session.created(),
        updated: session.updated(),
        state: session.state(),
        version: session.version(),
        players: mancala::game::Seat::BOTH.map(player),
        expires: session.expires(),
        deadline: session.deadline(),
        summary: View::of(&session).to_json(),
    };
    Import { head, events, request: None }
}

pub fn new(session_id: &str, request_id: Option<&str>) -> NewSession {
    let rules = Rules::new(Game::Ayoayo);
    NewSession {
        session_id: Some(session_id.to_owned()),
        rules,
        guards: Guards::of(Game::Ayoayo),
        start: rules.start(),
        labels: [("team".to_owned(), "red".to_owned())].into(),
        rounds: 1,
        clock: None,
        previous_session_id: None,
        seats: Vec::new(),
        spectators: Spectators::default(),
        creator: Some("operator".to_owned()),
        request_id: request_id.map(str::to_owned),
    }
}

fn target(session_id: &str, request_id: &str) -> Target {
    let (session_id, request_id) = (session_id.to_owned(), Some(request_id.to_owned()));
    Target { session_id, expected_version: None, request_id, credential: Credential::Trusted }
}

/// Asks for one change of each kind, and gives what was answered and whether that was a repetition. Everything can be asked again.
pub async fn ask_everything(sessions: &Sessions) -> Vec<(String, bool)> {
    let mut answers = Vec::new();
    let made = sessions.create(new("made", Some("make"))).await.expect("a session");
    answers.push((View::of(&made.session).to_json(), made.replayed));
    let batch = ["batch-b", "batch-a"].map(|id| new(id, None));
    let made = sessions.create_all(batch.into(), Some("make-batch".to_owned())).await.expect("sessions");
    for session in &made.sessions {
        answers.push((View::of(session).to_json(), made.replayed));
    }
    for (session_id, ply) in [("made", 0), ("made", 1), ("batch-a", 0)] {
        let session = made_at(sessions, session_id, ply).await;
        let mut dice = SeededDice::new(u64::from(ply));
        let mv = session.rules().sample(session.position(), &mut dice).expect("a move");
        let request = target(session_id, &format!("move-{ply}"));
        let applied = sessions.apply(request, Command::Play { seat: None, mv }, false, |session| View::of(session).to_json());
        let applied = applied.await.expect("a move");
        answers.push((format!("{} {:?}", applied.after, applied.events), applied.replayed));
    }
    // A deletion says nothing of being repeated: it is told by the session that is made before it.
    let made = sessions.create(new("deleted", Some("make-deleted"))).await;
    answers.push(("deleted".to_owned(), made.is_err()));
    sessions.delete(target("deleted", "delete")).await.expect("deleted");
    assert!(sessions.create(new("deleted", None)).await.is_err(), "its id stays taken");
    answers
}

/// The session after so many events of those that follow its first.
async fn made_at(sessions: &Sessions, session_id: &str, ply: u32) -> Session {
    let events = sessions.history(session_id, None).await.expect("its events");
    let Ok(Event::Created(created)) = Event::from_json(&events[0].body) else { panic!("its first event makes it") };
    let mut session = Session::new(session_id.to_owned(), &created, events[0].time).expect("it can be played");
    for event in &events[1..=ply as usize] {
        let body = Event::from_json(&event.body).expect("an event");
        session.evolve(&body, event.time, &mut ()).expect("it follows");
    }
    session
}

/// A folder with a store in it that has so many random sessions.
pub async fn folder_with_store(sessions: u64) -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().canonicalize().expect("a path").join("store.db");
    fill(&path, sessions).await;
    (folder, path)
}

/// A command of the program, configured by nothing else.
pub fn command(arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(super::program::binary());
    command.args(arguments).env_clear().env("HOME", "/nowhere").stdin(Stdio::null());
    command
}

pub fn mancala(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

/// What it printed; it must have succeeded.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = mancala(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out
}

/// What it said of its failure; its exit code must be this.
pub fn fails(arguments: &[&str], code: i32) -> String {
    let output = mancala(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    assert_eq!(err.lines().count(), 1, "one line: {err}");
    err
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}
