//! Old connections, and connections of a server that stops.

use crate::listening::{check, start, until};
use mancala::server::Stopped;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_reflection::pb::{v1, v1alpha};

const AGE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn an_old_connection_takes_no_new_calls_and_finishes_those_in_flight() {
    let server = start(|settings| settings.connections.connection_age = AGE).await;
    let mut health = server.health().await;
    let mut watch = health.watch(HealthCheckRequest::default()).await.expect("a stream").into_inner();
    assert_eq!(watch.next().await.expect("a message").expect("no error").status(), ServingStatus::Serving);
    until("it is old", || server.counts.aged.get() == 1).await;

    server.ready.send(false).expect("a running server");
    assert_eq!(watch.next().await.expect("a message").expect("no error").status(), ServingStatus::NotServing);
    // This client learns at a call that its connection goes, and may lose that one.
    let _ = check(&mut health).await;
    check(&mut health).await.expect("an answer");
    assert_eq!(server.counts.accepted.get(), 2, "a new call takes a new connection");
    drop(watch);
    until("the old connection is closed", || server.counts.open.get() <= 1).await;
}

#[tokio::test]
async fn after_the_grace_it_is_closed() {
    let server = start(|settings| {
        settings.connections.connection_age = AGE;
        settings.connections.connection_grace = AGE;
    })
    .await;
    let start = Instant::now();
    let mut watch = server.health().await.watch(HealthCheckRequest::default()).await.expect("a stream").into_inner();
    watch.next().await.expect("a message").expect("no error");
    watch.next().await.expect("an end that is told").expect_err("it is cut");
    let lived = start.elapsed();
    assert!(lived >= AGE.mul_f64(1.9) && lived < AGE * 10, "{lived:?}");
    until("it is closed", || server.counts.open.get() == 0).await;
}

#[tokio::test]
async fn without_an_age_connections_stay() {
    let server = start(|settings| settings.connections.connection_age = Duration::ZERO).await;
    let mut health = server.health().await;
    for _ in 0..3 {
        check(&mut health).await.expect("an answer");
        tokio::time::sleep(AGE / 3).await;
    }
    assert_eq!((server.counts.accepted.get(), server.counts.aged.get()), (1, 0));
}

#[tokio::test]
async fn a_stop_does_not_wait_where_there_is_nothing_to_wait_for() {
    let server = start(|_| {}).await;
    let mut health = server.health().await;
    check(&mut health).await.expect("an answer");
    let _silent = server.peer().await;
    until("both are accepted", || server.counts.open.get() == 2).await;
    let (start, counts) = (Instant::now(), server.counts.clone());
    assert_eq!(server.stop().await, Stopped::Drained);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(counts.open.get(), 0);
}

#[tokio::test]
async fn a_stop_cuts_what_does_not_end() {
    let server = start(|settings| settings.drain_timeout = Duration::from_millis(200)).await;
    let (send, connection) = h2::client::handshake(server.peer().await).await.expect("a handshake");
    tokio::spawn(connection);
    let request = http::Request::post("http://server/mancala.v1.RulesService/GetGame").header("content-type", "application/grpc");
    let mut send = send.ready().await.expect("a connection");
    // It never says what it asks for.
    let (answer, _body) = send.send_request(request.body(()).expect("a request"), false).expect("it is sent");
    let counts = server.counts.clone();
    until("the call is there", || counts.streams.get() == 1).await;
    assert_eq!(server.stop().await, Stopped::TimedOut);
    answer.await.expect_err("it is cut");
    assert_eq!(counts.open.get(), 0);
}

/// Asks reflection a question, another one while the server stops, and no more, without an end.
macro_rules! stop_reflecting {
    ($version:ident) => {{
        let server = start(|_| {}).await;
        let mut reflection = $version::server_reflection_client::ServerReflectionClient::new(server.channel().await);
        let (ask, questions) = mpsc::channel(1);
        let mut answers = reflection.server_reflection_info(ReceiverStream::new(questions)).await.expect("a stream").into_inner();
        let list = $version::server_reflection_request::MessageRequest::ListServices(String::new());
        let question = $version::ServerReflectionRequest { message_request: Some(list), ..Default::default() };
        ask.send(question.clone()).await.expect("a stream");
        answers.next().await.expect("an answer").expect("no error");
        let counts = server.counts.clone();
        // As who wants to know what the details of a stream's end mean.
        let ask_again = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            ask.send(question.clone()).await.expect("a stream");
            answers.next().await.expect("an answer").expect("no error");
        };
        let (stopped, ()) = tokio::join!(server.stop(), ask_again);
        assert_eq!(stopped, Stopped::Drained);
        assert!(answers.next().await.is_none(), "an end in order");
        assert_eq!(counts.open.get(), 0);
    }};
}

#[tokio::test]
async fn a_stop_ends_streams_of_reflection() {
    stop_reflecting!(v1);
    stop_reflecting!(v1alpha);
}
