//! A panic is the affair of one call.

use super::running::{Given, start};
use tonic::Code;

#[tokio::test]
async fn a_panic_in_a_handler_is_internal_and_counted() {
    let server = start(Given::default()).await;
    let answer = server.raw.call("/test.Planted/Panic", &[], &()).await;
    assert_eq!((answer.refused().code, answer.refused().reason.as_str()), (Code::Internal, "INTERNAL"));
    assert!(!answer.status().message().contains("a fault"), "{}", answer.status().message());
    assert_eq!(server.metric("mancala_panics_total"), Some(1.0));
    assert_eq!(server.raw.call("/mancala.v1.RulesService/ListGames", &[], &()).await.status().code(), Code::Ok);
}

#[tokio::test]
async fn a_panic_in_a_stream_ends_that_stream_alone() {
    let server = start(Given::default()).await;
    let answer = server.raw.call("/test.Planted/PanicInStream", &[], &()).await;
    assert_eq!(answer.messages.len(), 1, "what was sent before is there");
    assert_eq!((answer.refused().code, answer.refused().reason.as_str()), (Code::Internal, "INTERNAL"));
    assert!(answer.trailers.contains_key("grpc-status"));
    assert_eq!(server.metric("mancala_panics_total"), Some(1.0));
    assert_eq!(server.metric("mancala_calls_total{method=\"unknown\",code=\"INTERNAL\"}"), Some(1.0));
    assert_eq!(server.metric("mancala_calls_in_flight"), Some(0.0));
    // On the same connection.
    assert_eq!(server.raw.call("/mancala.v1.RulesService/ListGames", &[], &()).await.status().code(), Code::Ok);
}
