//! Requests that don't come as far as a handler are refused with a reason too.

use crate::app::{App, Refusal, body, faulty_fields, refusal};
use http::uri::PathAndQuery;
use mancala::wire::proto;
use prost::Message;
use tonic::client::Grpc;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

/// Calls any method with any message.
async fn refused<M: Message + Default + 'static>(app: &App, path: &'static str, request: Request<M>) -> Refusal {
    let mut grpc = Grpc::new(app.channel());
    grpc.ready().await.expect("a connection");
    let codec = ProstCodec::<M, proto::Pass>::default();
    refusal(grpc.unary(request, PathAndQuery::from_static(path), codec).await)
}

const GET_SESSION: &str = "/mancala.v1.SessionService/GetSession";

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_method() {
    let app = App::start().await;
    for path in ["/mancala.v1.SessionService/Nothing", "/mancala.v1.Nothing/GetSession"] {
        let refusal = refused(&app, path, Request::new(proto::Pass {})).await;
        assert_eq!((refusal.code, refusal.reason.as_str()), (Code::Unimplemented, "METHOD_UNKNOWN"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_message() {
    let app = App::start().await;
    // Its first field is a number, where the method has a text.
    let garbage = proto::PlayoutTally { south_wins: 7, ..Default::default() };
    let refusal = refused(&app, GET_SESSION, Request::new(garbage)).await;
    assert_eq!((refusal.code, refusal.reason.as_str()), (Code::InvalidArgument, "MALFORMED_MESSAGE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_message() {
    let app = App::start().await;
    let mut request = Request::new(proto::GetSessionRequest::default());
    request.metadata_mut().insert("grpc-encoding", "gzip".parse().expect("a value"));
    let refusal = refused(&app, GET_SESSION, request).await;
    assert_eq!((refusal.code, refusal.reason.as_str()), (Code::Unimplemented, "COMPRESSION_UNKNOWN"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_64_kib_about_a_session_and_one_byte_more() {
    let app = App::start().await;
    let request = |bytes: usize| {
        // The field's tag and length take four bytes.
        let request = proto::GetSessionRequest { session_id: "s".repeat(bytes - 4), version: None };
        assert_eq!(request.encoded_len(), bytes);
        request
    };
    assert_eq!(faulty_fields(app.sessions().get_session(request(64 << 10)).await), ["session_id"]);
    let refusal = refusal(app.sessions().get_session(request((64 << 10) + 1)).await);
    assert_eq!((refusal.code, refusal.reason.as_str()), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE"));
    body(app.rules().list_games(proto::ListGamesRequest {}).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_mebibyte_about_positions_and_one_byte_more() {
    let app = App::start().await;
    let request = |bytes: usize| {
        let request = proto::GetGameRequest { game: "g".repeat(bytes - 4) };
        assert_eq!(request.encoded_len(), bytes);
        request
    };
    assert_eq!(refusal(app.rules().get_game(request(1 << 20)).await).reason, "GAME_NOT_FOUND");
    assert_eq!(refusal(app.rules().get_game(request((1 << 20) + 1)).await).reason, "MESSAGE_TOO_LARGE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_faults_are_an_error_that_can_be_read() {
    let app = App::start().await;
    let request = proto::PlayoutPositionsRequest {
        game: "gore".to_owned(),
        positions: vec!["nonsense".to_owned(); 1_000],
        playouts: 1,
        ..Default::default()
    };
    let fields = faulty_fields(app.rules().playout_positions(request).await);
    assert_eq!(fields[..2], ["positions[0]", "positions[1]"]);
    assert!(fields.len() < 100);
}
