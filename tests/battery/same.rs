//! The same request to several servers at once: it is carried out once, and all of them answer alike.

use crate::audit::{Logs, audit};
use crate::call::{Call, Outcome, ROUNDS, Seen, What, rules_of};
use crate::form::{by_form, first_seed};
use crate::ground::{Database, File, Ground};
use crate::ledger::Entry;
use crate::machine::is_linear;
use crate::served::serve;
use futures_util::future::join_all;
use mancala::game::{Dice, Position, SetUp};
use mancala::random::SeededDice;
use mancala::service::{Compute, Sessions, SystemClock};
use mancala::store::Store;
use mancala::wire::access::Caller;
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::session_service_server::SessionService;
use mancala::wire::proto::{self, PlayRequest, PlayResponse};
use mancala::wire::{SessionHandlers, StreamSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};

/// How many servers are asked at once, and how many requests: 20,000 in the short form, 2,000,000 in the long one. In the short form
/// most of them go to where they are answered fastest.
fn sizes() -> [(usize, u64); 2] {
    by_form([(2, 18_000), (3, 2_000)], [(3, 1_000_000), (3, 1_000_000)])
}

/// Sessions that are played at once.
const AT_ONCE: u64 = 12;
/// Requests of a session: few, since a repeated answer is worked out from the first event on.
const A_SESSION: u64 = 12;
/// Far longer than an answer takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_request_to_several_servers_is_carried_out_once() {
    let grounds: [Arc<dyn Ground>; 2] = [Arc::new(File::new()), Arc::new(Database::new())];
    for (ground, (servers, requests)) in grounds.into_iter().zip(sizes()) {
        same_requests(ground, servers, requests).await;
    }
}

/// Makes so many requests, each of so many servers at once.
async fn same_requests(ground: Arc<dyn Ground>, count: usize, requests: u64) {
    let (seed, life, begun) = (first_seed(), CancellationToken::new(), Instant::now());
    let (store, mut servers) = (ground.store(0).await, Vec::new());
    for _ in 0..count {
        let sessions = Sessions::new(ground.store(0).await, Arc::new(SystemClock::default()), 64);
        servers.push((sessions.clone(), serve(sessions, life.clone()).await));
    }
    let left = Arc::new(AtomicU64::new(requests));
    let firsts: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let mut tables = JoinSet::new();
    for number in 0..AT_ONCE {
        let mut lines = Vec::new();
        for (place, (sessions, endpoint)) in servers.iter().enumerate() {
            // The wire adds little, and takes most of the time.
            lines.push((place, if number == 0 { Line::wire(endpoint).await } else { Line::here(sessions.clone()) }));
        }
        // Each server is asked first by some.
        lines.rotate_left(number as usize % count);
        let dice = SeededDice::for_game(seed, number);
        let mut table = Table { lines, dice, entries: Vec::new(), now: 0, firsts: firsts.clone() };
        let (store, left) = (store.clone(), left.clone());
        tables.spawn(async move {
            let mut played = 0;
            loop {
                let session = format!("same-{number}-{played}-{}", played % 5);
                played += 1;
                let share = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(A_SESSION.min(left)));
                match share.expect("it is never refused").min(A_SESSION) {
                    0 => return,
                    share => table.play(&*store, &session, share).await,
                }
            }
        });
    }
    tables.join_all().await;
    life.cancel();
    let firsts: Vec<_> = firsts.iter().map(|first| first.load(Ordering::Relaxed)).collect();
    report!("{requests} requests, each of {count} servers at once, in {:?}; carried out by {firsts:?}", begun.elapsed());
    assert_eq!(firsts.iter().sum::<u64>(), requests, "each was carried out once");
    assert!(firsts.iter().filter(|first| **first > 0).count() > 1, "it was no race: {firsts:?}");
}

/// One who plays session after session, and makes every request of all servers at once.
struct Table {
    /// To each server.
    lines: Vec<(usize, Line)>,
    dice: SeededDice,
    entries: Vec<Entry>,
    now: u64,
    /// How often which server was first.
    firsts: Arc<[AtomicU64]>,
}

/// The way to a server.
enum Line {
    /// A Play stream.
    Wire { commands: mpsc::UnboundedSender<PlayRequest>, replies: Box<Streaming<PlayResponse>> },
    /// Its handlers, without a network between.
    Here(Box<SessionHandlers>),
}

impl Line {
    async fn wire(endpoint: &Endpoint) -> Line {
        let channel: Channel = endpoint.connect().await.expect("a connection");
        let (commands, sent) = mpsc::unbounded_channel();
        let replies = SessionServiceClient::new(channel).play(UnboundedReceiverStream::new(sent)).await;
        Line::Wire { commands, replies: Box::new(replies.expect("a stream").into_inner()) }
    }

    fn here(sessions: Sessions) -> Line {
        let streams = StreamSettings::new(watch::channel(false).1);
        Line::Here(Box::new(SessionHandlers::new(sessions, Compute::new(1), streams)))
    }

    async fn ask(&mut self, command: Command) -> Reply {
        match (self, command) {
            (Line::Here(handlers), Command::ApplyMove(request)) => {
                Reply::ApplyMove(handlers.apply_move(trusted(request)).await.expect("an answer").into_inner())
            }
            (Line::Here(handlers), Command::CreateSession(request)) => {
                Reply::CreateSession(handlers.create_session(trusted(request)).await.expect("an answer").into_inner())
            }
            (Line::Here(_), other) => panic!("nobody asks for {other:?}"),
            (Line::Wire { commands, replies }, command) => {
                let request = PlayRequest { command_id: "same".to_owned(), command: Some(command) };
                commands.send(request).expect("the stream goes on");
                let reply = timeout(PATIENCE, replies.message()).await.expect("an answer in time").expect("an answer");
                reply.expect("the stream goes on").reply.expect("something")
            }
        }
    }
}

/// From a caller who may do everything, as the server tells its handlers.
fn trusted<T>(request: T) -> Request<T> {
    let mut request = Request::new(request);
    request.extensions_mut().insert(Caller::Trusted(None));
    request
}

impl Table {
    /// Plays a session with so many requests, the making of it among them, and holds what is stored against the answers.
    async fn play(&mut self, store: &dyn Store, session: &str, requests: u64) {
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
        let log = store.read(session, 0, 10_000).await.expect("it can be read");
        let logs = Logs::from([(session.to_owned(), log)]);
        assert_eq!(audit(&self.entries, &logs, &[]), []);
        assert_eq!(is_linear(self.entries.iter(), &[]).map(drop), Ok(()));
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
        self.now += 1;
        let invoked = self.now;
        let replies = join_all(self.lines.iter_mut().map(|(_, line)| line.ask(command.clone()))).await;
        let mut answers = Vec::new();
        for (reply, (place, _)) in replies.into_iter().zip(&self.lines) {
            let (seen, rest) = taken_apart(reply);
            self.firsts[*place].fetch_add(u64::from(!seen.replayed), Ordering::Relaxed);
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
