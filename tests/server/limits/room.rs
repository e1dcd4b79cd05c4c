//! Calls in flight, and changes under way.

use super::running::{Given, start, until};
use mancala::server::Limits;
use mancala::wire::proto;
use tokio::task::JoinSet;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;

const LIST_GAMES: &str = "/mancala.v1.RulesService/ListGames";

#[tokio::test]
async fn calls_beyond_those_in_flight_are_refused_at_once() {
    let limits = Limits { calls_in_flight: 2, ..Limits::default() };
    let server = start(Given { limits, ..Given::default() }).await;
    let mut hanging = JoinSet::new();
    for _ in 0..2 {
        let raw = server.raw.clone();
        hanging.spawn(async move { raw.call("/test.Planted/Never", &[], &()).await });
    }
    until(|| server.metric("mancala_calls_in_flight") == Some(2.0)).await;
    let refused = server.raw.call(LIST_GAMES, &[], &()).await.refused();
    assert_eq!((refused.code, refused.reason.as_str(), refused.fact("limit")), (Code::Unavailable, "OVERLOADED", "2"));
    assert!(refused.details.retry_info().expect("when to come back").retry_delay.is_some());
    let health = server.raw.call("/grpc.health.v1.Health/Check", &[], &HealthCheckRequest::default()).await;
    assert_eq!(health.status().code(), Code::Ok, "a busy server is not a dead one");

    hanging.abort_all();
    while hanging.join_next().await.is_some() {}
    until(|| server.metric("mancala_calls_in_flight") == Some(0.0)).await;
    assert_eq!(server.raw.call(LIST_GAMES, &[], &()).await.status().code(), Code::Ok);
}

#[tokio::test]
async fn streams_that_have_begun_take_no_room() {
    let limits = Limits { calls_in_flight: 1, ..Limits::default() };
    let server = start(Given { limits, ..Given::default() }).await;
    let mut streams = JoinSet::new();
    for open in 1..=3 {
        let raw = server.raw.clone();
        streams.spawn(async move { raw.call("/test.Planted/Stream", &[], &()).await });
        until(|| server.metric("mancala_calls_in_flight") == Some(f64::from(open))).await;
        assert_eq!(server.raw.call(LIST_GAMES, &[], &()).await.status().code(), Code::Ok, "beside {open} streams");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_do_not_pile_up_behind_a_store_that_hangs() {
    let server = start(Given { changes: 4, ..Given::default() }).await;
    let session_id = server.make().await;
    let paused = server.pause_store();
    let play = |n: usize| {
        let r#move = Some(proto::Move { text: "0".to_owned(), kind: None });
        let request_id = format!("r-{n}");
        proto::ApplyMoveRequest { session_id: session_id.clone(), r#move, request_id, ..Default::default() }
    };
    let path = "/mancala.v1.SessionService/ApplyMove";
    for n in 0..4 {
        let refused = server.raw.call(path, &[("grpc-timeout", "300m")], &play(n)).await.refused();
        assert_eq!(refused.reason, "DEADLINE_EXCEEDED");
    }
    let refused = server.raw.call(path, &[], &play(4)).await.refused();
    assert_eq!((refused.code, refused.reason.as_str(), refused.fact("limit")), (Code::Unavailable, "OVERLOADED", "4"));
    drop(paused);
    // What was under way is done; then there is room again.
    let done = async {
        while first_reason(&server.raw.call(path, &[], &play(5)).await).as_deref() == Some("OVERLOADED") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::running::PATIENCE, done).await.expect("in time");
    assert_eq!(server.raw.call(path, &[], &play(0)).await.status().code(), Code::Ok, "what was under way was done");
}

fn first_reason(answer: &super::raw::Answer) -> Option<String> {
    (answer.status().code() != Code::Ok).then(|| answer.refused().reason)
}
