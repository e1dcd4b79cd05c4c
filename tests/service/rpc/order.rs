//! The order of checks: well formed, answered before, version, turn, rules.

use crate::app::{App, apply, body, faulty_fields, refusal};
use mancala::wire::proto;

#[tokio::test(flavor = "multi_thread")]
async fn each_check_comes_before_the_next() {
    let app = App::start().await;
    let id = app.create("gore").await;
    // Wrong in all ways; each step sets one of them right.
    let mut request = proto::ApplyMoveRequest {
        seat: 2,
        expected_version: Some(9),
        request_id: "not well formed".to_owned(),
        ..apply(&id, "nonsense")
    };
    assert_eq!(faulty_fields(app.sessions().apply_move(request.clone()).await), ["move.text", "request_id"]);

    request.r#move = crate::app::text("4");
    request.request_id = "used".to_owned();
    body(app.sessions().apply_move(proto::ApplyMoveRequest { request_id: "used".to_owned(), ..apply(&id, "0") }).await);
    body(app.sessions().apply_move(apply(&id, "5")).await);
    assert_eq!(refusal(app.sessions().apply_move(request.clone()).await).reason, "REQUEST_ID_REUSED");

    request.request_id = "new".to_owned();
    let stale = refusal(app.sessions().apply_move(request.clone()).await);
    assert_eq!(
        (stale.reason.as_str(), stale.fact("expected_version"), stale.fact("current_version")),
        ("STALE_VERSION", "9", "3")
    );

    request.expected_version = Some(3);
    let turn = refusal(app.sessions().apply_move(request.clone()).await);
    assert_eq!((turn.reason.as_str(), turn.fact("seat"), turn.fact("to_act")), ("NOT_YOUR_TURN", "North", "South"));

    request.seat = 1;
    assert_eq!(refusal(app.sessions().apply_move(request.clone()).await).reason, "PIT_NOT_YOURS");

    request.r#move = crate::app::text("2");
    assert_eq!(body(app.sessions().apply_move(request.clone()).await).version, 4);
    // Now its version is stale and it is the other's turn, and none of this is looked at.
    let again = body(app.sessions().apply_move(request).await);
    assert!(again.replayed && again.version == 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_over_before_turn_and_rules() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let resign = proto::ResignRequest { session_id: id.clone(), seat: 2, request_id: "r".to_owned(), ..Default::default() };
    let resigned = body(app.sessions().resign(resign.clone()).await);
    assert_eq!((resigned.version, resigned.match_result.expect("an end").winner), (4, 1));
    let refused = refusal(app.sessions().apply_move(proto::ApplyMoveRequest { seat: 2, ..apply(&id, "pass") }).await);
    assert_eq!((refused.reason.as_str(), refused.fact("cause")), ("SESSION_OVER", "resignation"));
    let stale = proto::ApplyMoveRequest { expected_version: Some(1), ..apply(&id, "0") };
    assert_eq!(refusal(app.sessions().apply_move(stale).await).reason, "STALE_VERSION");
    assert!(body(app.sessions().resign(resign).await).replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_begin_at_its_end() {
    let app = App::start().await;
    let over = "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 30-18 S over:board_empty last=N";
    let request = proto::CreateSessionRequest {
        game: "ayoayo".to_owned(),
        position: over.to_owned(),
        request_id: "over".to_owned(),
        ..Default::default()
    };
    let made = app.make(request.clone()).await;
    assert_eq!((made.version, made.result.as_ref().expect("an end").winner), (3, 1));
    assert_eq!(app.session(&made.session_id).await, made);
    assert_eq!(body(app.sessions().create_session(request).await).session, Some(made.clone()));
    assert_eq!(refusal(app.sessions().apply_move(apply(&made.session_id, "0")).await).reason, "SESSION_OVER");
    assert!(app.legal_moves(&made.session_id).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_game_is_a_faulty_field_but_where_it_is_what_is_asked_for() {
    let app = App::start().await;
    let chess = || "chess".to_owned();
    let asked = refusal(app.rules().get_game(proto::GetGameRequest { game: chess() }).await);
    assert_eq!((asked.reason.as_str(), asked.fact("games")), ("GAME_NOT_FOUND", "ali_guli_mane, ayoayo, gore, hoyito3, kiothi"));
    let create = proto::CreateSessionRequest { game: chess(), ..Default::default() };
    assert_eq!(faulty_fields(app.sessions().create_session(create).await), ["game"]);
    let list = proto::ListSessionsRequest { game: chess(), ..Default::default() };
    assert_eq!(faulty_fields(app.sessions().list_sessions(list).await), ["game"]);
    let moves = proto::ListPositionMovesRequest { game: chess(), ..Default::default() };
    assert_eq!(faulty_fields(app.rules().list_position_moves(moves).await), ["game"]);
    let moves = proto::ListPositionMovesRequest { position: "chess 8/8 w".to_owned(), ..Default::default() };
    assert_eq!(faulty_fields(app.rules().list_position_moves(moves).await), ["position"]);
    let step = proto::StepPositionsRequest { game: chess(), ..Default::default() };
    assert_eq!(faulty_fields(app.rules().step_positions(step).await), ["game"]);
    let playout = proto::PlayoutPositionsRequest { game: chess(), playouts: 1, ..Default::default() };
    assert_eq!(faulty_fields(app.rules().playout_positions(playout).await), ["game"]);
}
