//! Play: commands in, replies and news out.

use crate::app::{App, PATIENCE, apply, body, refusal};
use mancala::wire::proto::event::Body;
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::{self, PlayFailure, PlayRequest, PlayResponse};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Response, Status, Streaming};

/// A caller's end of a stream.
struct Player {
    commands: Option<mpsc::UnboundedSender<PlayRequest>>,
    replies: Streaming<PlayResponse>,
}

impl Player {
    async fn join(app: &App) -> Player {
        let (commands, sent) = mpsc::unbounded_channel();
        let replies = body(app.sessions().play(UnboundedReceiverStream::new(sent)).await);
        Player { commands: Some(commands), replies }
    }

    fn send(&self, id: &str, command: Command) {
        let request = PlayRequest { command_id: id.to_owned(), command: Some(command) };
        self.commands.as_ref().expect("open").send(request).expect("a stream");
    }

    /// The next message; none if the stream has ended well.
    async fn try_next(&mut self) -> Result<Option<(String, Reply)>, Status> {
        let message = timeout(PATIENCE, self.replies.message()).await.expect("a message in time")?;
        Ok(message.map(|message| (message.command_id, message.reply.expect("a reply"))))
    }

    async fn next(&mut self) -> (String, Reply) {
        self.try_next().await.expect("no end").expect("a message")
    }

    async fn failure(&mut self, id: &str) -> PlayFailure {
        match self.next().await {
            (of, Reply::Failure(failure)) if of == id => failure,
            other => panic!("{other:?}"),
        }
    }

    /// Ends this side.
    fn leave(&mut self) {
        self.commands = None;
    }
}

fn mv(session_id: &str, text: &str, request_id: &str) -> Command {
    Command::ApplyMove(proto::ApplyMoveRequest { request_id: request_id.to_owned(), ..apply(session_id, text) })
}

fn watch(session_id: &str) -> Command {
    Command::WatchSession(proto::WatchSessionRequest { session_id: session_id.to_owned(), ..Default::default() })
}

fn reason(failure: PlayFailure) -> (String, String) {
    (failure.code, failure.refusal.expect("a refusal").reason)
}

#[tokio::test]
async fn commands_are_answered_as_calls_are() {
    let app = App::start().await;
    let (by_call, by_stream) = (app.create("ayoayo").await, app.create("ayoayo").await);
    let mut player = Player::join(&app).await;
    let called = app.play(&by_call, "0").await;
    player.send("first", mv(&by_stream, "0", ""));
    assert_eq!(player.next().await, ("first".to_owned(), Reply::ApplyMove(called)));
    let request = |id: &str| proto::ListLegalMovesRequest { session_id: id.to_owned() };
    player.send("", Command::ListLegalMoves(request(&by_stream)));
    let moves = body(app.sessions().list_legal_moves(request(&by_call)).await);
    assert_eq!(player.next().await, (String::new(), Reply::ListLegalMoves(moves)));
    player.send("made", Command::CreateSession(proto::CreateSessionRequest { game: "gore".to_owned(), ..Default::default() }));
    let (_, Reply::CreateSession(made)) = player.next().await else { panic!("a session") };
    let made = made.session.expect("a session");
    assert_eq!(made, app.session(&made.session_id).await);
    player.leave();
    assert_eq!(player.try_next().await.expect("a good end"), None);
}

#[tokio::test]
async fn commands_on_a_session_are_carried_out_in_order_and_those_on_others_beside_them() {
    let app = App::start().await;
    let mut player = Player::join(&app).await;
    let mut games = BTreeMap::new();
    for game in 0..8 {
        let id = app.create("gore").await;
        // A line of play that only this order allows.
        let twin = app.create("gore").await;
        let mut line = Vec::new();
        for seed in 0..30 {
            let sample = proto::SampleMovesRequest { session_id: twin.clone(), seed: seed * 8 + game, ..Default::default() };
            let Some(mv) = body(app.sessions().sample_moves(sample).await).moves.pop() else { break };
            app.play(&twin, &mv.text).await;
            line.push(mv.text);
        }
        games.insert(id, (twin, line));
    }
    // All at once, one of each in turn.
    let mut sent = 0;
    for ply in 0..30 {
        for (id, (_, line)) in &games {
            if let Some(text) = line.get(ply) {
                player.send(&format!("{ply}"), mv(id, text, &format!("r{ply}")));
                sent += 1;
            }
        }
    }
    let mut versions = 0;
    for _ in 0..sent {
        match player.next().await {
            (_, Reply::ApplyMove(_)) => versions += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(versions, sent);
    for (id, (twin, _)) in &games {
        assert_eq!(app.session(id).await.position, app.session(twin).await.position);
    }
}

/// Writes of the store so far, in whatever commits.
fn writes(app: &App) -> u64 {
    let mut registry = Registry::default();
    registry.register("writes", "Jobs of the writer", app.store.metrics().batch_writes.clone());
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("a string takes all");
    let sum = text.lines().find_map(|line| line.strip_prefix("writes_sum ")).expect("a sum");
    sum.parse::<f64>().expect("a number") as u64
}

#[tokio::test]
async fn moves_that_arrive_together_are_stored_together() {
    let app = App::start().await;
    let (twin, id) = (app.create("gore").await, app.create("gore").await);
    let (commands, sent) = mpsc::unbounded_channel();
    let mut count = 0;
    for seed in 0..40 {
        let sample = proto::SampleMovesRequest { session_id: twin.clone(), seed, ..Default::default() };
        let Some(drawn) = body(app.sessions().sample_moves(sample).await).moves.pop() else { break };
        app.play(&twin, &drawn.text).await;
        let request = PlayRequest { command_id: String::new(), command: Some(mv(&id, &drawn.text, &format!("r{seed}"))) };
        commands.send(request).expect("it is kept");
        count += 1;
    }
    assert_eq!(count, 40, "the game goes on");
    let before = writes(&app);
    let replies = body(app.sessions().play(UnboundedReceiverStream::new(sent)).await);
    let mut player = Player { commands: Some(commands), replies };
    for version in 2..=41 {
        let (_, Reply::ApplyMove(reply)) = player.next().await else { panic!("a move") };
        assert_eq!(reply.version, version);
    }
    assert_eq!(writes(&app) - before, 1);
    assert_eq!(app.session(&id).await.position, app.session(&twin).await.position);
}

/// Whatever is stored together, each move is answered as if it were alone.
#[tokio::test]
async fn moves_on_end_are_answered_as_calls_one_after_the_other_are() {
    let app = App::start().await;
    let (called, streamed) = (app.create("gore").await, app.create("gore").await);
    let mut requests = Vec::new();
    let scratch = app.create("gore").await;
    for ply in 0..60 {
        let sample = proto::SampleMovesRequest { session_id: scratch.clone(), seed: ply, ..Default::default() };
        let Some(mv) = body(app.sessions().sample_moves(sample).await).moves.pop() else { break };
        app.play(&scratch, &mv.text).await;
        let text = mv.text;
        requests.push((text.clone(), format!("r{ply}"), None));
        match ply % 10 {
            3 => requests.push((text, format!("r{ply}"), None)),
            5 => requests.push(("17".to_owned(), String::new(), None)),
            6 => requests.push(("?".to_owned(), String::new(), None)),
            7 => requests.push((text, String::new(), Some(1))),
            8 => requests.push((text, "no id".to_owned(), None)),
            _ => {}
        }
    }
    let request = |session_id: &str, (text, id, expected_version): &(String, String, Option<u32>)| proto::ApplyMoveRequest {
        request_id: id.clone(),
        expected_version: *expected_version,
        include_steps: true,
        include_position: true,
        ..apply(session_id, text)
    };
    let mut player = Player::join(&app).await;
    for (number, asked) in requests.iter().enumerate() {
        player.send(&number.to_string(), Command::ApplyMove(request(&streamed, asked)));
    }
    let mut refused = 0;
    for (number, asked) in requests.iter().enumerate() {
        let (id, reply) = player.next().await;
        assert_eq!(id, number.to_string());
        match app.sessions().apply_move(request(&called, asked)).await {
            Ok(answer) => assert_eq!(reply, Reply::ApplyMove(answer.into_inner()), "{asked:?}"),
            Err(status) => {
                let (Reply::Failure(failure), expected) = (reply, refusal(Err::<Response<()>, _>(status))) else {
                    panic!("{asked:?} is refused to those who call")
                };
                let told = failure.refusal.expect("a refusal");
                assert_eq!((told.reason, told.metadata), (expected.reason, expected.facts), "{asked:?}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 20, "{refused}");
    let told = |events: Vec<proto::Event>| {
        events.into_iter().skip(1).map(|event| (event.version, event.request_id, event.body)).collect::<Vec<_>>()
    };
    assert_eq!(told(app.events(&streamed, 1_000, true).await), told(app.events(&called, 1_000, true).await));
}

/// Commands may wait for a store that hangs. What hangs here is a look at the session, which holds it as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_caller_waits_no_longer_ends_though_a_command_hangs() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let (holds, is_held) = tokio::sync::oneshot::channel();
    let (service, session_id) = (app.service.clone(), id.clone());
    let runtime = tokio::runtime::Handle::current();
    let holder = std::thread::spawn(move || {
        let hold = |session: &mancala::session::Session| {
            holds.send(()).expect("it is waited for");
            // An error means that the test has failed.
            let _ = held.recv();
            session.version()
        };
        runtime.block_on(service.look(&session_id, hold))
    });
    is_held.await.expect("a look");
    let (commands, sent) = mpsc::unbounded_channel();
    let mut request = tonic::Request::new(UnboundedReceiverStream::new(sent));
    request.metadata_mut().insert("grpc-timeout", "300m".parse().expect("a value"));
    let replies = body(app.sessions().play(request).await);
    let mut player = Player { commands: Some(commands), replies };
    player.send("hangs", mv(&id, "0", ""));
    let end = player.try_next().await.expect_err("an end");
    assert_eq!(end.code(), Code::DeadlineExceeded, "{end:?}");
    let_go.send(()).expect("a holder");
    assert_eq!(holder.join().expect("no panic"), Ok(1));
}

#[tokio::test]
async fn a_failure_ends_nothing_but_its_command() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let mut player = Player::join(&app).await;
    player.send("illegal", mv(&id, "6", ""));
    let failure = player.failure("illegal").await;
    let expected = refusal(app.sessions().apply_move(apply(&id, "6")).await);
    let refused = failure.refusal.clone().expect("a refusal");
    assert_eq!((refused.reason, refused.metadata), (expected.reason, expected.facts));
    assert!(refused.message.starts_with("PIT_NOT_YOURS: "), "{}", refused.message);
    assert_eq!((failure.code.as_str(), failure.retry_after), ("FAILED_PRECONDITION", None));
    player.send("unreadable", mv(&id, "?", ""));
    assert_eq!(reason(player.failure("unreadable").await), ("INVALID_ARGUMENT".to_owned(), "INVALID_REQUEST".to_owned()));
    player.send("nothing", mv("nosuch", "0", ""));
    assert_eq!(reason(player.failure("nothing").await), ("NOT_FOUND".to_owned(), "SESSION_NOT_FOUND".to_owned()));
    player.send("malformed", mv("?", "0", ""));
    let failure = player.failure("malformed").await;
    assert_eq!(failure.fields.len(), 1);
    assert_eq!(failure.fields[0].field, "session_id");
    // Neither a command nor an id that can't be: it is not repeated.
    let long = "x".repeat(65);
    player.commands.as_ref().expect("open").send(PlayRequest { command_id: long, command: None }).expect("a stream");
    let fields: Vec<_> = player.failure("").await.fields.into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["command_id", "command"]);
    player.send("fine", mv(&id, "0", ""));
    assert!(matches!(player.next().await, (_, Reply::ApplyMove(_))));
}

#[tokio::test]
async fn a_command_is_repeated_by_its_request_id_on_any_stream_and_by_call() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let mut player = Player::join(&app).await;
    player.send("a", mv(&id, "0", "once"));
    player.send("b", mv(&id, "0", "once"));
    player.send("c", mv(&id, "1", "once"));
    let (_, Reply::ApplyMove(first)) = player.next().await else { panic!("a move") };
    let (_, Reply::ApplyMove(again)) = player.next().await else { panic!("a move") };
    assert_eq!(again, proto::ApplyMoveResponse { replayed: true, ..first.clone() });
    assert_eq!(reason(player.failure("c").await).1, "REQUEST_ID_REUSED");
    let mut other = Player::join(&app).await;
    other.send("d", mv(&id, "0", "once"));
    assert_eq!(other.next().await, ("d".to_owned(), Reply::ApplyMove(again.clone())));
    let call = proto::ApplyMoveRequest { request_id: "once".to_owned(), ..apply(&id, "0") };
    assert_eq!(body(app.sessions().apply_move(call).await), again);
    assert_eq!(app.session(&id).await.version, 2);
}

#[tokio::test]
async fn watches_share_the_stream_with_commands() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let mut player = Player::join(&app).await;
    player.send("eye", watch(&id));
    let (of, Reply::WatchSession(first)) = player.next().await else { panic!("news") };
    assert_eq!((of.as_str(), first.version), ("eye", 1));
    player.send("eye", watch(&id));
    assert_eq!(player.failure("eye").await.fields[0].field, "command_id");
    player.send("move", mv(&id, "0", ""));
    let mut seen = [player.next().await, player.next().await];
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    let [(_, Reply::WatchSession(news)), (_, Reply::ApplyMove(moved))] = seen else { panic!("{seen:?}") };
    assert_eq!((news.version, moved.version), (2, 2));
    assert!(matches!(news.events[0].body, Some(Body::MovePlayed(_))));
    player.send("stop", Command::StopWatch(proto::StopWatchRequest { command_id: "eye".to_owned() }));
    let stopped = |version| ("stop".to_owned(), Reply::StopWatch(proto::StopWatchResponse { version }));
    assert_eq!(player.next().await, stopped(2));
    player.send("stop", Command::StopWatch(proto::StopWatchRequest { command_id: "eye".to_owned() }));
    assert_eq!(player.next().await, stopped(0));
    // Nothing more of it comes; and its id is free again.
    player.send("move", mv(&id, "6", ""));
    assert!(matches!(player.next().await, (_, Reply::ApplyMove(_))));
    player.send("eye", watch(&id));
    let (_, Reply::WatchSession(news)) = player.next().await else { panic!("news") };
    assert_eq!(news.version, 3);
    // The stream stays until its watches have ended.
    player.leave();
    app.play(&id, "1").await;
    assert!(matches!(player.next().await, (_, Reply::WatchSession(_))));
    body(app.sessions().delete_session(proto::DeleteSessionRequest { session_id: id, ..Default::default() }).await);
    assert_eq!(reason(player.failure("eye").await).1, "SESSION_NOT_FOUND");
    assert_eq!(player.try_next().await.expect("a good end"), None);
}

/// Sent in one go.
#[tokio::test]
async fn a_watch_follows_what_was_sent_before_it_on_its_session() {
    let app = App::start().await;
    for round in 0..20 {
        let mut player = Player::join(&app).await;
        let id = format!("table-{round}");
        let create = proto::CreateSessionRequest { game: "ayoayo".into(), session_id: id.clone(), ..Default::default() };
        let snapshot = proto::WatchSessionRequest { session_id: id.clone(), include_snapshot: true, ..Default::default() };
        player.send("create", Command::CreateSession(create));
        player.send("move", mv(&id, "0", ""));
        player.send("eye", Command::WatchSession(snapshot));
        assert!(matches!(player.next().await, (_, Reply::CreateSession(_))));
        assert!(matches!(player.next().await, (_, Reply::ApplyMove(_))));
        let (_, Reply::WatchSession(first)) = player.next().await else { panic!("news") };
        assert_eq!(first.version, 2);
    }
}

#[tokio::test]
async fn a_watch_that_has_not_begun_can_be_stopped() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let mut player = Player::join(&app).await;
    player.send("move", mv(&id, "0", ""));
    player.send("eye", watch(&id));
    player.send("stop", Command::StopWatch(proto::StopWatchRequest { command_id: "eye".to_owned() }));
    // What it is told depends on whether it has begun, and then its news may have come.
    let mut stopped = false;
    while !stopped {
        stopped = matches!(player.next().await, (_, Reply::StopWatch(_)));
    }
    player.leave();
    while let Some((of, _)) = player.try_next().await.expect("a good end") {
        assert_eq!(of, "move", "nothing more of the watch");
    }
}

#[tokio::test]
async fn a_stop_ends_the_stream_after_its_replies() {
    let app = App::with_streams(|streams| streams.stop_within = Duration::from_millis(100)).await;
    let id = app.create("gore").await;
    let mut player = Player::join(&app).await;
    for _ in 0..50 {
        player.send("read", Command::GetSession(proto::GetSessionRequest { session_id: id.clone(), version: None }));
    }
    player.next().await;
    app.stopping.send_replace(true);
    let mut replies = 1;
    let ended = loop {
        match player.try_next().await {
            Ok(Some((_, Reply::GetSession(_)))) => replies += 1,
            Ok(other) => panic!("{other:?}"),
            Err(status) => break refusal(Err::<Response<()>, _>(status)),
        }
    };
    assert_eq!((ended.code, ended.reason.as_str(), ended.fact("resume_after")), (Code::Unavailable, "STREAM_STOPPING", ""));
    assert_eq!(replies, 50);
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_stream_with_its_reason() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let mut player = Player::join(&app).await;
    player.send("fine", mv(&id, "0", ""));
    player.send("large", mv(&id, &"0".repeat(100_000), ""));
    assert!(matches!(player.next().await, (_, Reply::ApplyMove(_))));
    let ended = refusal(player.try_next().await.map(Response::new));
    assert_eq!(ended.reason, "MESSAGE_TOO_LARGE");
}

/// Far more commands than are carried out at a time, from one who takes no reply until all are sent.
#[tokio::test]
async fn more_commands_than_wait_are_answered_all_the_same() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let mut player = Player::join(&app).await;
    for n in 0..2_000 {
        let read = proto::GetSessionRequest { session_id: id.clone(), version: None };
        player.send(&n.to_string(), Command::GetSession(read));
    }
    for n in 0..2_000 {
        assert_eq!(player.next().await.0, n.to_string());
    }
    player.leave();
    assert_eq!(player.try_next().await.expect("a good end"), None);
}
