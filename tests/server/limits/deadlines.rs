//! Calls end in time, and with them what was done for them.

use super::running::{Given, Running, start, until};
use mancala::game::{Game, Rules};
use mancala::wire::proto;
use prost::Message;
use std::time::{Duration, Instant};
use tonic::Code;

const NEVER: &str = "/test.Planted/Never";

async fn limited(request_ms: u64, longest_ms: u64) -> Running {
    let (request_timeout, longest_timeout) = (Duration::from_millis(request_ms), Duration::from_millis(longest_ms));
    start(Given { request_timeout, longest_timeout, ..Given::default() }).await
}

#[tokio::test]
async fn a_call_has_the_time_that_its_caller_gives_it_within_the_servers() {
    let server = limited(80, 120).await;
    let longer = "give the call a longer deadline, which may be up to 120 ms, or ask for less";
    for (given, limit, whose, advice) in [
        (None, 80, "the server's", longer),
        (Some("20m"), 20, "the call's own", longer),
        (Some("100m"), 100, "the call's own", longer),
        (Some("120m"), 120, "the call's own", "no call may have more: ask for less"),
        (Some("1H"), 120, "the server's", "no call may have more: ask for less"),
    ] {
        let metadata: Vec<_> = given.iter().map(|timeout| ("grpc-timeout", *timeout)).collect();
        let begun = Instant::now();
        let answer = server.raw.call(NEVER, &metadata, &()).await;
        assert!(begun.elapsed() >= Duration::from_millis(limit), "{given:?}");
        let refused = answer.refused();
        assert_eq!((refused.code, refused.reason.as_str()), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"), "{given:?}");
        assert_eq!(refused.fact("limit_ms"), limit.to_string(), "{given:?}");
        let text = format!("DEADLINE_EXCEEDED: no answer within {limit} ms, {whose} limit; {advice}");
        assert_eq!(answer.status().message(), text, "{given:?}");
    }
    assert_eq!(server.metric("mancala_calls_rejected_total{reason=\"DEADLINE_EXCEEDED\"}"), Some(5.0));
    assert_eq!(server.metric("mancala_calls_total{method=\"unknown\",code=\"DEADLINE_EXCEEDED\"}"), Some(5.0));
}

#[tokio::test]
async fn a_timeout_that_can_not_be_read_is_refused() {
    let server = start(Given::default()).await;
    for timeout in ["", "soon", "10", "m", "-1S", "123456789n", "1s"] {
        let refused = server.raw.call("/mancala.v1.RulesService/ListGames", &[("grpc-timeout", timeout)], &()).await.refused();
        assert_eq!((refused.code, refused.reason.as_str()), (Code::InvalidArgument, "TIMEOUT_MALFORMED"), "{timeout:?}");
    }
    let good = server.raw.call("/mancala.v1.RulesService/ListGames", &[("grpc-timeout", "99999999H")], &()).await;
    assert_eq!(good.status().code(), Code::Ok);
}

#[tokio::test]
async fn handlers_know_the_deadline() {
    let server = limited(5_000, 30_000).await;
    let beyond = async |metadata: &[(&str, &str)]| {
        let answer = server.raw.call("/test.Planted/Deadline", metadata, &()).await;
        answer.headers["x-beyond"].to_str().expect("text").to_owned()
    };
    assert_eq!(beyond(&[]).await, "-1", "its caller gave it none");
    assert_eq!(beyond(&[("grpc-timeout", "7S")]).await, "0");
    // A stream may go on for longer than its answer may take to begin.
    assert_eq!(beyond(&[("grpc-timeout", "1M")]).await, "30");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_computation_ends_with_its_call() {
    let server = start(Given::default()).await;
    let positions = vec![Rules::new(Game::Ayoayo).start().to_string(); 100];
    let request = proto::PlayoutPositionsRequest { game: "ayoayo".to_owned(), positions, playouts: 10_000, ..Default::default() };
    for timeout in ["1m", "200m"] {
        let begun = Instant::now();
        let answer = server.raw.call("/mancala.v1.RulesService/PlayoutPositions", &[("grpc-timeout", timeout)], &request).await;
        assert_eq!(answer.refused().reason, "DEADLINE_EXCEEDED", "{timeout}");
        let text = answer.status().message().to_owned();
        assert!(text.ends_with("; give the call a longer deadline, which may be up to 20000 ms, or ask for less"), "{text}");
        until(|| server.compute.running() == 0 && server.compute.waiting() == 0).await;
        // All of it would take minutes.
        assert!(begun.elapsed() < Duration::from_secs(15), "{timeout}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_caller_has_given_up_is_made_once_or_not_at_all() {
    let server = start(Given::default()).await;
    let session_id = server.make().await;
    let paused = server.pause_store();
    let r#move = Some(proto::Move { text: "0".to_owned(), kind: None });
    let request =
        proto::ApplyMoveRequest { session_id: session_id.clone(), r#move, request_id: "once".to_owned(), ..Default::default() };
    let path = "/mancala.v1.SessionService/ApplyMove";
    let answer = server.raw.call(path, &[("grpc-timeout", "50m")], &request).await;
    let text = answer.status().message().to_owned();
    assert_eq!(answer.refused().reason, "DEADLINE_EXCEEDED");
    assert!(text.ends_with("; a change may have happened: repeat it with the same request_id"), "{text}");
    drop(paused);
    let again = server.raw.call(path, &[], &request).await;
    let reply = proto::ApplyMoveResponse::decode(again.messages[0].clone()).expect("an answer");
    assert_eq!((reply.version, reply.replayed), (2, true), "it was under way, and is found done");
    assert_eq!(server.sessions.look(&session_id, |session| session.version()).await, Ok(2));
}
