//! The same request to several servers at once: it is carried out once, and all of them answer alike.

use crate::audit::{Logs, audit};
use crate::call::{Call, Outcome, ROUNDS, Seen, What, rules_of};
use crate::ground::{Ground, One};
use crate::ledger::Entry;
use crate::machine::is_linear;
use crate::served::serve;
use crate::{first_seed, long_form};
use mancala::game::{Dice, Position, SetUp};
use mancala::random::SeededDice;
use mancala::service::{Sessions, SystemClock};
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, PlayRequest, PlayResponse};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

const SERVERS: usize = 3;
/// Sessions that are played at once.
const AT_ONCE: u64 = 12;
/// Requests of a session: few, since what is repeated is worked out from the first event on.
const A_SESSION: u64 = 40;
/// Far longer than an answer takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_request_to_several_servers_is_carried_out_once() {
    same_requests(Arc::new(One::sqlite()), if long_form() { 2_000_000 } else { 20_000 }).await;
}

/// Makes so many requests, each of all servers at once.
async fn same_requests(ground: Arc<dyn Ground>, requests: u64) {
    let (seed, life, begun) = (first_seed(), CancellationToken::new(), Instant::now());
    let mut endpoints = Vec::new();
    for _ in 0..SERVERS {
        let sessions = Sessions::new(ground.store().await, Arc::new(SystemClock::default()), 64);
        endpoints.push(serve(sessions, life.clone()).await);
    }
    let (left, firsts) = (Arc::new(AtomicU64::new(requests)), Arc::new([const { AtomicU64::new(0) }; SERVERS]));
    let mut tables = JoinSet::new();
    for number in 0..AT_ONCE {
        let (endpoints, ground, left, firsts) = (endpoints.clone(), ground.clone(), left.clone(), firsts.clone());
        tables.spawn(async move {
            let mut table = Table::new(&endpoints, SeededDice::for_game(seed, number), firsts).await;
            let mut played = 0;
            loop {
                let session = format!("same-{number}-{played}-{}", played % 5);
                played += 1;
                let share = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(A_SESSION.min(left)));
                match share.expect("it is never refused").min(A_SESSION) {
                    0 => return,
                    share => table.play(&*ground, &session, share).await,
                }
            }
        });
    }
    tables.join_all().await;
    life.cancel();
    let firsts: Vec<_> = firsts.iter().map(|first| first.load(Ordering::Relaxed)).collect();
    println!("{requests} requests, each of {SERVERS} servers at once, in {:?}; carried out by {firsts:?}", begun.elapsed());
    assert_eq!(firsts.iter().sum::<u64>(), requests, "each was carried out once");
    assert!(firsts.iter().all(|first| *first > requests / 100), "no server was always late: {firsts:?}");
}

/// One who plays session after session, and makes every request of all servers at once.
struct Table {
    lines: Vec<Line>,
    dice: SeededDice,
    entries: Vec<Entry>,
    now: u64,
    /// How often which server was first.
    firsts: Arc<[AtomicU64; SERVERS]>,
}

/// A Play stream.
struct Line {
    commands: mpsc::UnboundedSender<PlayRequest>,
    replies: Streaming<PlayResponse>,
}

impl Line {
    async fn open(endpoint: &Endpoint) -> Line {
        let channel: Channel = endpoint.connect().await.expect("a connection");
        let (commands, sent) = mpsc::unbounded_channel();
        let replies = SessionServiceClient::new(channel).play(UnboundedReceiverStream::new(sent)).await;
        Line { commands, replies: replies.expect("a stream").into_inner() }
    }

    async fn reply(&mut self) -> Reply {
        let reply = timeout(PATIENCE, self.replies.message()).await.expect("an answer in time").expect("an answer");
        reply.expect("the stream goes on").reply.expect("something")
    }
}

impl Table {
    async fn new(endpoints: &[Endpoint], dice: SeededDice, firsts: Arc<[AtomicU64; SERVERS]>) -> Table {
        let mut lines = Vec::new();
        for endpoint in endpoints {
            lines.push(Line::open(endpoint).await);
        }
        Table { lines, dice, entries: Vec::new(), now: 0, firsts }
    }

    /// Plays a session with so many requests, the making of it among them, and holds what is stored against the answers.
    async fn play(&mut self, ground: &dyn Ground, session: &str, requests: u64) {
        self.entries.clear();
        let create = Call { request: format!("{session}-make"), ..Call::read(session, What::Create) };
        let mut seen = self.ask(&create).await;
        for number in 1..requests {
            let rules = rules_of(session);
            let position = seen.position.expect("the answer bears it").parse::<SetUp>().expect("a position");
            let position: Position = position.position(&rules).expect("a position");
            let mv = rules.sample(&position, &mut self.dice).expect("a move").to_string();
            let expected_version = if self.dice.below(2) == 0 { seen.version } else { None };
            let what = What::Play { seat: None, mv };
            let call = Call { session: session.to_owned(), request: format!("r{number}"), expected_version, what };
            seen = self.ask(&call).await;
        }
        let log = ground.store().await.read(session, 0, 10_000).await.expect("it can be read");
        let logs = Logs::from([(session.to_owned(), log)]);
        assert_eq!(audit(&self.entries, &logs, &[]), []);
        assert_eq!(is_linear(self.entries.iter()).map(drop), Ok(()));
    }

    /// Asks all servers, and gives their answer, which is the same.
    async fn ask(&mut self, call: &Call) -> Seen {
        let Call { session: session_id, request: request_id, expected_version, what } = call.clone();
        let command = match what {
            What::Play { mv, .. } => Command::ApplyMove(proto::ApplyMoveRequest {
                session_id,
                request_id,
                r#move: Some(proto::Move { kind: None, text: mv }),
                expected_version,
                ..Default::default()
            }),
            _ => Command::CreateSession(proto::CreateSessionRequest {
                game: rules_of(&session_id).game().id().to_owned(),
                session_id,
                request_id,
                rounds: ROUNDS,
                ..Default::default()
            }),
        };
        let request = PlayRequest { command_id: "same".to_owned(), command: Some(command) };
        self.now += 1;
        let invoked = self.now;
        for line in &self.lines {
            line.commands.send(request.clone()).expect("the stream goes on");
        }
        let mut answers = Vec::new();
        for (line, firsts) in self.lines.iter_mut().zip(self.firsts.iter()) {
            let (seen, rest) = taken_apart(line.reply().await);
            firsts.fetch_add(u64::from(!seen.replayed), Ordering::Relaxed);
            self.now += 1;
            let ended = Some((self.now, Outcome::Done(seen.clone())));
            self.entries.push(Entry { call: call.clone(), client: 0, invoked, ended });
            answers.push((seen, rest));
        }
        assert_eq!(answers.iter().filter(|(seen, _)| !seen.replayed).count(), 1, "one has carried it out: {answers:?}");
        let first = answers[0].1.clone();
        assert!(answers.iter().all(|(_, rest)| *rest == first), "all answer alike: {answers:?}");
        answers.swap_remove(0).0
    }
}

/// What an answer shows, and all of it but whether it was given before and what time it is.
fn taken_apart(reply: Reply) -> (Seen, Reply) {
    match reply {
        Reply::ApplyMove(reply) => {
            let seen = Seen { version: Some(reply.version), position: Some(reply.position.clone()), ..Seen::default() };
            let seen = Seen { replayed: reply.replayed, ..seen };
            (seen, Reply::ApplyMove(proto::ApplyMoveResponse { replayed: false, server_time: None, ..reply }))
        }
        Reply::CreateSession(reply) => {
            let session = reply.session.clone().expect("a session");
            let position = session.position.map(|position| position.text);
            let seen = Seen { version: Some(session.version), position, replayed: reply.replayed, ..Seen::default() };
            (seen, Reply::CreateSession(proto::CreateSessionResponse { replayed: false, server_time: None, ..reply }))
        }
        other => panic!("nobody asked for {other:?}"),
    }
}
