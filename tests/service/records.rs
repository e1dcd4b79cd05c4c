//! Records through the API, and what the service makes of a history that was changed in its file.

use mancala::service::{Clock, Compute, Sessions};
use mancala::session::record::MAX_RECORD;
use mancala::session::{Command, Event, EventHash, Micros, Session, View};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Store};
use mancala::wire::access::Caller;
use mancala::wire::proto::rules_service_server::RulesService;
use mancala::wire::proto::session_service_server::SessionService;
use mancala::wire::proto::{self, RecordFormat};
use mancala::wire::{RulesHandlers, SessionHandlers, StreamSettings};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tonic::{Request, Status};
use tonic_types::StatusExt;

/// A call as the server's gate lets it in when everybody may do everything.
fn call<T>(request: T) -> Request<T> {
    let mut call = Request::new(request);
    call.extensions_mut().insert(Caller::Trusted(None));
    call
}

/// A clock that stands still until it is moved.
struct Stopped(AtomicI64);

impl Clock for Stopped {
    fn now(&self) -> Micros {
        self.0.load(Ordering::Relaxed)
    }
}

const START: Micros = 1_767_225_600_000_000;
const SECOND: Micros = 1_000_000;

struct App {
    api: SessionHandlers,
    rules: RulesHandlers,
    store: Arc<SqliteStore>,
    clock: Arc<Stopped>,
}

impl App {
    fn open(path: &Path) -> App {
        let store = Arc::new(SqliteStore::open(path, Options::default()).expect("the store opens"));
        let clock = Arc::new(Stopped(AtomicI64::new(START)));
        let compute = Compute::new(1);
        let sessions = Sessions::new(store.clone(), clock.clone(), 16);
        App {
            api: SessionHandlers::new(sessions, compute.clone(), StreamSettings::new(tokio::sync::watch::channel(false).1)),
            rules: RulesHandlers::new(compute),
            store,
            clock,
        }
    }

    /// Another server over the same file.
    async fn reopen(self, folder: &TempDir) -> App {
        self.store.close().await;
        drop(self);
        App::open(&file(folder))
    }

    fn wait(&self, micros: Micros) {
        self.clock.0.fetch_add(micros, Ordering::Relaxed);
    }

    async fn create(&self, request: proto::CreateSessionRequest) -> proto::Session {
        let made = self.api.create_session(call(request)).await.expect("a session");
        made.into_inner().session.expect("the session")
    }

    async fn play(&self, session_id: &str, mv: &str, request_id: &str) -> Result<proto::ApplyMoveResponse, Status> {
        self.wait(SECOND);
        let mv = Some(proto::Move { kind: None, text: mv.into() });
        let (session_id, request_id) = (session_id.to_owned(), request_id.to_owned());
        let request = proto::ApplyMoveRequest { session_id, r#move: mv, request_id, ..Default::default() };
        self.api.apply_move(call(request)).await.map(tonic::Response::into_inner)
    }

    async fn export(
        &self,
        session_id: &str,
        format: RecordFormat,
        version: Option<u32>,
    ) -> Result<proto::ExportRecordResponse, Status> {
        let request = proto::ExportRecordRequest { session_id: session_id.to_owned(), format: format.into(), version };
        self.api.export_record(call(request)).await.map(tonic::Response::into_inner)
    }

    async fn text(&self, session_id: &str) -> String {
        self.export(session_id, RecordFormat::Text, None).await.expect("a record").record
    }

    async fn import(&self, record: &str, session_id: &str, request_id: &str) -> Result<proto::ImportRecordResponse, Status> {
        let (record, session_id, request_id) = (record.to_owned(), session_id.to_owned(), request_id.to_owned());
        let request = proto::ImportRecordRequest { record, session_id, request_id };
        self.api.import_record(call(request)).await.map(tonic::Response::into_inner)
    }

    async fn verify(&self, record: &str) -> proto::VerifyRecordResponse {
        let request = proto::VerifyRecordRequest { record: record.to_owned() };
        self.rules.verify_record(call(request)).await.expect("an answer").into_inner()
    }

    async fn get(&self, session_id: &str, version: Option<u32>) -> Result<proto::Session, Status> {
        let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version };
        let got = self.api.get_session(call(request)).await?;
        Ok(got.into_inner().session.expect("the session"))
    }

    async fn events(&self, session_id: &str, after_version: u32) -> Result<Vec<proto::Event>, Status> {
        let request = proto::ListEventsRequest { session_id: session_id.to_owned(), after_version, ..Default::default() };
        Ok(self.api.list_events(call(request)).await?.into_inner().events)
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("store.db")
}

fn gore(session_id: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest {
        game: "gore".into(),
        session_id: session_id.into(),
        request_id: "make-1".into(),
        ..Default::default()
    }
}

/// A session of four events.
async fn played(app: &App, session_id: &str) {
    app.create(gore(session_id)).await;
    for (mv, request_id) in [("0", "first"), ("4", ""), ("1", "third")] {
        app.play(session_id, mv, request_id).await.expect("a move");
    }
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().expect("a reason").reason
}

fn fact(status: &Status, name: &str) -> String {
    status.get_details_error_info().expect("a reason").metadata[name].clone()
}

#[tokio::test]
async fn a_live_session_moves_to_another_server_and_is_played_on() {
    let (here, there) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let (old, new) = (App::open(&file(&here)), App::open(&file(&there)));
    played(&old, "game-1").await;
    new.wait(10 * SECOND);
    for format in [RecordFormat::Text, RecordFormat::Json] {
        let exported = old.export("game-1", format, None).await.expect("a record");
        let id = format!("game-1-{}", format as i32);
        let made = new.import(&exported.record, &id, "import").await;
        // The same request id for another session is refused, so that the second one goes without.
        let made = if format == RecordFormat::Text { made } else { new.import(&exported.record, &id, "").await };
        let session = made.expect("an import").session.expect("a session");
        let before = old.get("game-1", None).await.expect("the session");
        assert_eq!(session.head_hash, exported.head_hash);
        assert_eq!(session, proto::Session { session_id: id.clone(), ..before });
        let again = new.export(&id, format, None).await.expect("a record").record;
        assert_eq!(again, exported.record.replacen("game-1", &id, 1));
    }
    let text = old.text("game-1").await;
    let moved = new.import(&text, "", "import-2").await.expect("an import");
    assert!(!moved.replayed);
    assert_eq!(new.text("game-1").await, text);

    let on = new.play("game-1", "5", "fourth").await.expect("a move");
    assert_eq!((on.version, on.replayed), (5, false));
    let twice = new.play("game-1", "5", "third").await.expect_err("the id is taken");
    assert_eq!(reason(&twice), "REQUEST_ID_REUSED");
    let replay = new.import(&text, "", "import-2").await.expect("the answer again");
    assert!(replay.replayed);
    assert_eq!(replay.session, moved.session, "as it was when it was imported");
    let other = new.import(&text, "game-3", "import-2").await.expect_err("the id was used");
    assert_eq!(reason(&other), "REQUEST_ID_REUSED");
    let taken = new.import(&text, "", "").await.expect_err("it is there");
    assert_eq!(reason(&taken), "SESSION_ID_TAKEN");
    assert!(new.verify(&new.text("game-1").await).await.ok);
}

#[tokio::test]
async fn an_export_ends_with_what_happened_at_once() {
    let folder = TempDir::new().expect("a folder");
    let app = App::open(&file(&folder));
    played(&app, "game-1").await;
    let resign = proto::ResignRequest { session_id: "game-1".into(), ..Default::default() };
    app.api.resign(call(resign)).await.expect("an end");
    for (asked, version) in [(1, 1), (4, 4), (5, 7), (6, 7), (7, 7)] {
        let exported = app.export("game-1", RecordFormat::Text, Some(asked)).await.expect("a record");
        assert_eq!(exported.version, version, "asked for {asked}");
        let verified = app.verify(&exported.record).await;
        assert!(verified.ok && verified.hashed, "{verified:?}");
        assert_eq!(verified.head_hash, exported.head_hash);
        assert_eq!(verified.head_hash, app.get("game-1", Some(version)).await.expect("the session").head_hash);
        assert_eq!(verified.version, version);
    }
    let ahead = app.export("game-1", RecordFormat::Text, Some(8)).await.expect_err("not yet");
    assert_eq!(reason(&ahead), "VERSION_AHEAD");
    let zero = app.export("game-1", RecordFormat::Text, Some(0)).await.expect_err("no version");
    assert_eq!(reason(&zero), "INVALID_REQUEST");
    let missing = app.export("game-2", RecordFormat::Text, None).await.expect_err("no session");
    assert_eq!(reason(&missing), "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn what_is_wrong_with_a_record_is_named() {
    let folder = TempDir::new().expect("a folder");
    let app = App::open(&file(&folder));
    played(&app, "game-1").await;
    let text = app.text("game-1").await;
    let changed = text.replacen("S plays 0:", "S plays 1:", 1);
    let line = changed.lines().position(|line| line.contains("S plays 1:")).expect("the move") as u32 + 1;
    let verified = app.verify(&changed).await;
    let difference = verified.difference.expect("a difference");
    assert!(!verified.ok);
    assert_eq!((difference.event, difference.line), (2, line));
    assert_eq!(difference.expected, "gore 6,0,7,7/7,7,7,7 0-0 N sow");
    assert_eq!(difference.found, "gore 0,7,7,7/7,7,7,6 0-0 N sow");
    assert_eq!(difference.refusal.expect("why").reason, "RECORD_DIFFERS");

    let refused = app.import(&changed, "game-2", "").await.expect_err("it was changed");
    assert_eq!(reason(&refused), "RECORD_DIFFERS");
    let facts = ["event", "line", "what"].map(|name| fact(&refused, name));
    assert_eq!(facts, ["2".to_owned(), line.to_string(), "position".to_owned()]);

    let unreadable = text.replacen("Rounds: 1", "Rounds: one", 1);
    let refused = app.import(&unreadable, "game-2", "").await.expect_err("no number");
    assert_eq!(reason(&refused), "INVALID_RECORD");
    assert_eq!((fact(&refused, "line"), fact(&refused, "expected")), ("6".to_owned(), "a number".to_owned()));
    let difference = app.verify(&unreadable).await.difference.expect("a difference");
    assert_eq!((difference.event, difference.line), (0, 6));
    assert_eq!(difference.refusal.expect("why").reason, "INVALID_RECORD");

    // A minute of difference between clocks is nothing; more is another time.
    let (early, late) = (TempDir::new().expect("a folder"), 63 * SECOND);
    let behind = App::open(&file(&early));
    behind.clock.0.store(START + 3 * SECOND - late, Ordering::Relaxed);
    let future = behind.import(&text, "", "").await.expect_err("of the future");
    assert_eq!(reason(&future), "RECORD_IN_FUTURE");
    behind.wait(late - 60 * SECOND);
    assert!(behind.import(&text, "", "").await.is_ok());

    let long = " ".repeat(MAX_RECORD + 1);
    for refused in [
        app.import(&long, "game-2", "").await.map(|_| ()).expect_err("too long"),
        app.rules.verify_record(call(proto::VerifyRecordRequest { record: long })).await.map(|_| ()).expect_err("too long"),
    ] {
        assert_eq!((reason(&refused), fact(&refused, "fields")), ("INVALID_REQUEST".to_owned(), "record".to_owned()));
    }
}

#[tokio::test]
async fn events_show_their_hashes_and_pages_agree() {
    let folder = TempDir::new().expect("a folder");
    let app = App::open(&file(&folder));
    played(&app, "game-1").await;
    let all = app.events("game-1", 0).await.expect("events");
    for after in 1..=4 {
        assert_eq!(app.events("game-1", after).await.expect("events"), all[after as usize..]);
    }
    for event in &all {
        let then = app.get("game-1", Some(event.version)).await.expect("the session");
        assert_eq!(then.head_hash, event.hash);
        assert!(EventHash::from_hex(&event.hash).is_some(), "{}", event.hash);
    }
    let text = app.text("game-1").await;
    assert!(all.iter().all(|event| text.contains(&format!(" #{}", &event.hash[..16]))), "{text}");
}

/// Plays, changes the file by hand, and gives the server that has opened it again.
async fn after(change: &str) -> (TempDir, App) {
    let folder = TempDir::new().expect("a folder");
    let app = App::open(&file(&folder));
    played(&app, "game-1").await;
    played_other(&app).await;
    app.store.close().await;
    drop(app);
    let hand = Connection::open(file(&folder)).expect("the file");
    assert!(hand.execute(change, []).expect("a change") > 0);
    drop(hand);
    let app = App::open(&file(&folder));
    (folder, app)
}

async fn played_other(app: &App) {
    app.create(proto::CreateSessionRequest { request_id: String::new(), ..gore("game-2") }).await;
}

const GAME_1: &str = "session = (SELECT key FROM sessions WHERE session_id = 'game-1')";

#[tokio::test]
async fn a_history_that_was_changed_in_the_file_is_refused() {
    for (set, seq) in [
        ("time = time + 1", 2),
        ("body = replace(body, '\"captured\":0', '\"captured\": 0')", 3),
        ("request_id = 'other'", 2),
        ("request_id = NULL, digest = NULL", 4),
        ("hash = zeroblob(32)", 1),
        ("hash = NULL", 3),
    ] {
        let (_folder, app) = after(&format!("UPDATE events SET {set}, checksum = NULL WHERE {GAME_1} AND seq = {seq}")).await;
        let refused = app.get("game-1", None).await.expect_err(set);
        assert_eq!((reason(&refused), fact(&refused, "session_id")), ("SESSION_DAMAGED".into(), "game-1".into()), "{set}");
        let refused = app.play("game-1", "5", "").await.expect_err(set);
        assert_eq!(reason(&refused), "SESSION_DAMAGED", "{set}");
        let refused = app.events("game-1", 0).await.expect_err(set);
        assert_eq!(reason(&refused), "SESSION_DAMAGED", "{set}");
        let refused = app.events("game-1", seq - 1).await.expect_err(set);
        assert_eq!(reason(&refused), "SESSION_DAMAGED", "{set}");
        let refused = app.export("game-1", RecordFormat::Text, None).await.expect_err(set);
        assert_eq!(reason(&refused), "SESSION_DAMAGED", "{set}");
        assert!(app.get("game-2", None).await.is_ok(), "the other session is not concerned");
    }
}

/// What a file of the first version of the schema holds: the session of [`played`], and its table of events without hashes.
const FIRST_SCHEMA: [&str; 2] =
    [include_str!("../vectors/store_version_1.sql"), include_str!("../vectors/store_version_1_session.sql")];

#[tokio::test]
async fn a_file_from_before_there_were_hashes_is_read_and_played_on() {
    let folder = TempDir::new().expect("a folder");
    let hand = Connection::open(file(&folder)).expect("a file");
    FIRST_SCHEMA.iter().for_each(|part| hand.execute_batch(part).expect("a store of version 1"));
    drop(hand);
    let app = App::open(&file(&folder));
    let old = app.events("game-1", 0).await.expect("events");
    assert_eq!(old.len(), 4);
    assert_eq!(app.events("game-1", 2).await.expect("events"), old[2..], "hashes follow, wherever one begins to read");
    assert_eq!(app.get("game-1", None).await.expect("the session").head_hash, old[3].hash);
    app.wait(60 * SECOND);
    app.play("game-1", "5", "fourth").await.expect("a move");
    let all = app.events("game-1", 0).await.expect("events");
    assert_eq!(all[..4], old);
    assert!(app.verify(&app.text("game-1").await).await.ok);
    app.store.close().await;
    drop(app);

    // From the first new event on a change of the old ones shows.
    let hand = Connection::open(file(&folder)).expect("the file");
    let hashes: u32 = hand.query_row("SELECT count(hash) FROM events", [], |row| row.get(0)).expect("a count");
    assert_eq!(hashes, 1, "what was there was not written again");
    assert_eq!(hand.execute("UPDATE events SET time = time - 1, checksum = NULL WHERE seq = 1", []).expect("a change"), 1);
    drop(hand);
    let app = App::open(&file(&folder));
    assert_eq!(reason(&app.get("game-1", None).await.expect_err("it was changed")), "SESSION_DAMAGED");
}

#[tokio::test]
async fn a_session_that_is_too_long_for_a_record_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let app = App::open(&file(&folder));
    // Goré with every guard off: offers that are declined, which change nothing, all in one append.
    let off = proto::Guards { repetition: Some(0), quiet: Some(0), max_plies: Some(0) };
    let position = "gore 5,0,0,0/0,0,0,5 19-19 S sow".to_owned();
    app.create(proto::CreateSessionRequest { guards: Some(off), position, ..gore("game-1") }).await;
    let stored = app.store.read("game-1", 0, 1).await.expect("a read").expect("the session");
    let Ok(Event::Created(created)) = Event::from_json(&stored[0].body) else { panic!("{stored:?}") };
    let mut session = Session::new("game-1".to_owned(), &created, START).expect("it can be played");
    let mut head = stored[0].hash.expect("a hash");
    let (mut events, mut hashes) = (Vec::new(), Vec::new());
    for mv in ["offer 0", "decline", "offer 7", "decline"].into_iter().cycle().take(12_000) {
        let command = Command::Play { seat: None, mv: mv.parse().expect("a move") };
        for event in session.decide(&command, START, &mut ()).expect("it is legal") {
            session.evolve(&event, START, &mut ()).expect("it follows");
            let body = event.to_json();
            head = head.then(session.version(), START, None, &body);
            hashes.push(head);
            events.push(body);
        }
    }
    let append = Append {
        session_id: "game-1".to_owned(),
        expected_version: 1,
        time: START,
        request: None,
        events,
        hashes,
        state: session.state(),
        players: [None, None],
        deadline: None,
        expires: None,
        summary: View::of(&session).to_json(),
    };
    assert_eq!(app.store.append(append).await, Ok(Appended::Done));
    let app = app.reopen(&folder).await;
    let refused = app.export("game-1", RecordFormat::Text, None).await.expect_err("too long");
    assert_eq!((reason(&refused), fact(&refused, "limit_bytes")), ("RECORD_TOO_LARGE".into(), MAX_RECORD.to_string()));
    let earlier = app.export("game-1", RecordFormat::Text, Some(1_001)).await.expect("a record");
    assert!(app.verify(&earlier.record).await.ok);
}
