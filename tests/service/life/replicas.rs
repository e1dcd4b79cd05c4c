//! Servers that share a store which others write to: no answer is older than one given before, and watchers at one learn what
//! happens at the other, with hints and without.

use super::servers::{Pair, ask, made, new_session, play};
use crate::wrapped_store::linked;
use mancala::game::Seat;
use mancala::service::{Filter, ServiceError, Sessions, Target};
use mancala::session::{Claimant, Command, Credential, Player, SeatCommand, SecretHash, Session};
use mancala::store::Heard;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Two servers, and what passes between them.
struct Replicas {
    pair: Pair,
    hints: broadcast::Sender<Heard>,
    told: Arc<AtomicBool>,
    informer: JoinHandle<()>,
}

impl Replicas {
    async fn start() -> Replicas {
        let (hints, _) = broadcast::channel(64);
        let told = Arc::new(AtomicBool::new(true));
        let link = (hints.clone(), told.clone());
        let pair = Pair::over(|inner| linked(inner, link.0, link.1));
        let other = pair.other.clone();
        let informer = tokio::spawn(async move { match other.keep_informed().await {} });
        while hints.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        Replicas { pair, hints, told, informer }
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        self.informer.abort();
    }
}

async fn version(sessions: &Sessions, id: &str) -> u32 {
    sessions.look(id, Session::version).await.expect("a session")
}

#[tokio::test]
async fn what_is_acknowledged_at_one_is_seen_at_the_other() {
    let Replicas { pair, .. } = &Replicas::start().await;
    let id = made(&pair.one, 1, None).await;
    for moves in 0..20 {
        assert_eq!(version(&pair.other, &id).await, 1 + moves);
        let mover = if moves % 3 == 0 { &pair.other } else { &pair.one };
        play(mover, &id, "").await;
        assert_eq!(version(&pair.one, &id).await, 2 + moves);
    }
    pair.one.delete(target(&id, Credential::Trusted)).await.expect("a deletion");
    let gone = pair.other.look(&id, Session::version).await;
    assert_eq!(gone, Err(ServiceError::not_found(&id)));
}

fn target(id: &str, credential: Credential) -> Target {
    Target { session_id: id.to_owned(), expected_version: None, request_id: None, credential }
}

#[tokio::test]
async fn a_token_is_in_force_and_void_at_all_of_them_at_once() {
    let Replicas { pair, .. } = &Replicas::start().await;
    let id = made(&pair.one, 1, None).await;
    assert_eq!(version(&pair.other, &id).await, 1);
    let seat = Seat::South;
    let token = |number| SecretHash::new([number; 32]);
    let by = |number| Credential::Token { seat, hash: token(number) };
    let claim = SeatCommand::Claim { by: Claimant::Trusted(seat), player: Player::default(), token: token(1) };
    ask(&pair.one, &id, Command::Seat(claim), None, "").await.expect("a claim");

    let resign = || Command::Resign { seat: Some(seat), whole_match: false };
    let rotate = SeatCommand::Rotate { seat, token: token(2) };
    // The other one's copy knows neither the first token nor that it is void.
    let apply = async |sessions: &Sessions, number, command| {
        sessions.apply(target(&id, by(number)), command, false, Session::version).await.map(|done| done.after)
    };
    assert_eq!(apply(&pair.other, 3, resign()).await, Err(ServiceError::NotAdmitted));
    assert_eq!(apply(&pair.other, 1, Command::Seat(rotate)).await, Ok(3));
    assert_eq!(apply(&pair.one, 1, resign()).await, Err(ServiceError::NotAdmitted));
    assert_eq!(apply(&pair.one, 2, resign()).await, Ok(6));
}

#[tokio::test]
async fn a_request_id_that_was_used_at_one_deletes_nothing_at_the_other() {
    let Replicas { pair, .. } = &Replicas::start().await;
    let id = made(&pair.one, 1, None).await;
    assert_eq!(version(&pair.other, &id).await, 1);
    play(&pair.one, &id, "used").await;
    let again = Target { request_id: Some("used".into()), ..target(&id, Credential::Trusted) };
    assert_eq!(pair.other.delete(again).await, Err(ServiceError::RequestIdReused { request_id: "used".into() }));
}

/// How long a watcher at one server waits for what happens at the other.
async fn delay(replicas: &Replicas, happens: impl AsyncFnOnce(&Sessions, &str)) -> Duration {
    let id = made(&replicas.pair.one, 1, None).await;
    let mut watch = replicas.pair.other.watch(&id, 1).expect("room");
    let mut feed = replicas.pair.other.follow(Filter::default());
    // Whatever looks made so far have found is not waited for.
    while timeout(Duration::from_millis(5), watch.changed()).await.is_ok() {}
    watch.news(0, false).await.expect("news");
    let start = replicas.pair.other.latest_change().await.expect("a place");
    feed.news(&start).await.expect("news");
    let begun = Instant::now();
    happens(&replicas.pair.one, &id).await;
    loop {
        timeout(Duration::from_secs(5), watch.changed()).await.expect("it hears of it");
        match watch.news(1, false).await {
            Ok(news) if news.events.is_empty() => {}
            Ok(_) | Err(ServiceError::NotFound { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let delay = begun.elapsed();
    timeout(Duration::from_secs(5), feed.changed()).await.expect("followers hear of it too");
    assert!(!feed.news(&start).await.expect("news").changes.is_empty());
    delay
}

async fn one_move(sessions: &Sessions, id: &str) {
    play(sessions, id, "").await;
}

async fn deletion(sessions: &Sessions, id: &str) {
    sessions.delete(target(id, Credential::Trusted)).await.expect("a deletion");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_learn_by_hints_and_without() {
    let replicas = Replicas::start().await;
    replicas.hints.send(Heard::Connected).expect("a listener");
    for _ in 0..5 {
        assert!(delay(&replicas, one_move).await < Duration::from_millis(500), "a hint is faster than a look");
        assert!(delay(&replicas, deletion).await < Duration::from_millis(500), "a hint is faster than a look");
    }
    // Some hints are lost, and nobody knows it.
    replicas.told.store(false, Ordering::SeqCst);
    assert!(delay(&replicas, one_move).await < Duration::from_secs(2));
    assert!(delay(&replicas, deletion).await < Duration::from_secs(2));
    // The wire is known to be cut.
    replicas.hints.send(Heard::Lost).expect("a listener");
    for _ in 0..3 {
        assert!(delay(&replicas, one_move).await < Duration::from_millis(1_000));
        assert!(delay(&replicas, deletion).await < Duration::from_millis(1_000));
    }
    // When it is whole again, what was missed is looked up at once.
    replicas.hints.send(Heard::Connected).expect("a listener");
    replicas.told.store(true, Ordering::SeqCst);
    assert!(delay(&replicas, one_move).await < Duration::from_millis(500));
}

/// Who has made a session and heard nothing of it since knows it as it was before any clock ran.
#[tokio::test]
async fn a_server_ends_the_rounds_that_another_one_has_left_behind() {
    let Replicas { pair, told, .. } = &Replicas::start().await;
    told.store(false, Ordering::SeqCst);
    let clock = mancala::session::ClockSetting::PerMove { limit: 1_000 };
    let id = made(&pair.one, 1, Some(clock)).await;
    play(&pair.other, &id, "").await;
    play(&pair.other, &id, "").await;
    pair.clock.advance(1_001);
    assert_eq!(pair.one.settle_overdue().await, Ok(1));
    assert_eq!(pair.names(&id).await[3..], ["timed_out", "round_ended", "ended"]);
}

#[tokio::test]
async fn all_servers_may_keep_time_and_each_round_ends_once() {
    let Replicas { pair, .. } = &Replicas::start().await;
    let clock = Some(mancala::session::ClockSetting::PerMove { limit: 1_000 });
    let mut ids = Vec::new();
    for _ in 0..20 {
        let made = pair.one.create(mancala::service::NewSession { clock, ..new_session(1, None) }).await.expect("a session");
        ids.push(made.session.id().to_owned());
        play(&pair.one, made.session.id(), "").await;
        play(&pair.one, made.session.id(), "").await;
    }
    pair.clock.advance(1_001);
    let (one, other) = tokio::join!(pair.one.settle_overdue(), pair.other.settle_overdue());
    assert_eq!(one.expect("a store") + other.expect("a store"), 20);
    for id in ids {
        assert_eq!(pair.names(&id).await[3..], ["timed_out", "round_ended", "ended"]);
    }
}
