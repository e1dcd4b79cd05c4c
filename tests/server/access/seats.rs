//! The life of seats and tokens.

use super::running::{Running, gore, play, reason, refused, start, with_join_code, with_token};
use mancala::wire::proto::{self, Seat, SpectatorPolicy, event::Body};
use std::collections::BTreeSet;
use std::time::Duration;
use tonic::Code;

fn claim(session_id: &str, join_code: &str) -> proto::ClaimSeatRequest {
    let (session_id, join_code) = (session_id.to_owned(), join_code.to_owned());
    proto::ClaimSeatRequest { session_id, join_code, ..Default::default() }
}

fn rotate(session_id: &str, seat: Seat) -> proto::RotateSeatTokenRequest {
    proto::RotateSeatTokenRequest { session_id: session_id.to_owned(), seat: seat.into(), ..Default::default() }
}

fn revoke(session_id: &str, seat: Seat) -> proto::RevokeSeatTokenRequest {
    proto::RevokeSeatTokenRequest { session_id: session_id.to_owned(), seat: seat.into(), ..Default::default() }
}

async fn session(server: &Running, session_id: &str) -> proto::Session {
    let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version: None };
    server.operator().get_session(request).await.expect("a session").into_inner().session.expect("it")
}

#[tokio::test]
async fn two_players_join_by_their_codes_and_play_by_their_tokens() {
    let server = start(true).await;
    let seats = [with_join_code(Seat::North), with_join_code(Seat::South)];
    let made = server.make(gore(seats, SpectatorPolicy::None, 0)).await;
    let joinable = session(&server, &made.id).await.seats;
    assert!(joinable.iter().all(|seat| seat.joinable && !seat.claimed && !seat.has_token), "{joinable:?}");

    let mut tokens = Vec::new();
    for (seat, name) in [(Seat::South, "Ana María"), (Seat::North, "林さん")] {
        let request = proto::ClaimSeatRequest {
            player: format!("user-{}", seat.as_str_name()),
            display_name: name.to_owned(),
            ..claim(&made.id, &made.join_code(seat).to_lowercase())
        };
        let claimed = server.client(None).claim_seat(request).await.expect("a seat").into_inner();
        assert_eq!((claimed.seat(), claimed.replayed), (seat, false));
        tokens.push(claimed.token);
    }
    let (mut south, mut north) = (server.client(Some(&tokens[0])), server.client(Some(&tokens[1])));

    assert_eq!(
        refused(north.apply_move(play(&made.id, "4")).await),
        "NOT_YOUR_TURN",
        "whoever leaves the seat out acts for its own"
    );
    assert_eq!(south.apply_move(play(&made.id, "0")).await.expect("a move").into_inner().version, 4);
    assert_eq!(refused(south.apply_move(play(&made.id, "1")).await), "NOT_YOUR_TURN");
    let other = proto::ApplyMoveRequest { seat: Seat::South.into(), ..play(&made.id, "4") };
    let status = north.apply_move(other).await.expect_err("not its seat");
    assert_eq!(status.message(), "SEAT_NOT_YOURS: your token is North's and can't act for South");
    north.apply_move(play(&made.id, "4")).await.expect("a move");
    let resign = proto::ResignRequest { session_id: made.id.clone(), ..Default::default() };
    let end = north.resign(resign).await.expect("the end").into_inner();
    assert_eq!(end.match_result.expect("a result").winner(), Seat::South);

    let seats = session(&server, &made.id).await.seats;
    let shown: Vec<_> = seats.iter().map(|seat| (seat.seat(), seat.player.as_str(), seat.display_name.as_str())).collect();
    assert_eq!(shown, [(Seat::South, "user-SEAT_SOUTH", "Ana María"), (Seat::North, "user-SEAT_NORTH", "林さん")]);
    assert!(seats.iter().all(|seat| seat.claimed && seat.has_token && !seat.joinable));
}

#[tokio::test]
async fn a_repeated_claim_is_answered_alike_but_without_the_token() {
    let server = start(true).await;
    let made = server.make(gore([with_join_code(Seat::South)], SpectatorPolicy::None, 0)).await;
    let code = made.join_code(Seat::South);
    let request =
        proto::ClaimSeatRequest { request_id: "join-1".to_owned(), display_name: "Ana".to_owned(), ..claim(&made.id, &code) };
    let mut client = server.client(None);
    let first = client.claim_seat(request.clone()).await.expect("a seat").into_inner();
    assert!(first.token.starts_with("mst_") && !first.replayed);
    let again = client.claim_seat(request.clone()).await.expect("a seat").into_inner();
    assert_eq!(again, proto::ClaimSeatResponse { token: String::new(), replayed: true, ..first.clone() });

    let other = proto::ClaimSeatRequest { display_name: "Eve".to_owned(), ..request.clone() };
    assert_eq!(refused(client.claim_seat(other).await), "REQUEST_ID_REUSED");
    let new = proto::ClaimSeatRequest { request_id: "join-2".to_owned(), ..request };
    let status = client.claim_seat(new).await.expect_err("taken");
    assert_eq!((status.code(), reason(&status)), (Code::FailedPrecondition, "SEAT_TAKEN".to_owned()));

    // The repetition made nothing void.
    server.client(Some(&first.token)).apply_move(play(&made.id, "0")).await.expect("a move");
    let lost = server.operator().rotate_seat_token(rotate(&made.id, Seat::South)).await.expect("a token").into_inner();
    assert_eq!(
        refused(server.client(Some(&first.token)).rotate_seat_token(rotate(&made.id, Seat::South)).await),
        "TOKEN_INVALID"
    );
    server.client(Some(&lost.token)).rotate_seat_token(rotate(&made.id, Seat::South)).await.expect("a token");
}

#[tokio::test]
async fn a_repeated_creation_and_rotation_are_answered_alike_but_without_secrets() {
    let server = start(true).await;
    let mut request = gore([with_token(Seat::South), with_join_code(Seat::North)], SpectatorPolicy::None, 0);
    request.request_id = "make-1".to_owned();
    let first = server.operator().create_session(request.clone()).await.expect("a session").into_inner();
    assert_eq!((first.secrets.len(), first.replayed), (2, false));
    let again = server.operator().create_session(request.clone()).await.expect("a session").into_inner();
    assert_eq!(again, proto::CreateSessionResponse { secrets: Vec::new(), replayed: true, ..first.clone() });
    request.seats.swap(0, 1);
    assert!(server.operator().create_session(request.clone()).await.expect("a session").into_inner().replayed);
    request.seats[0] = with_token(Seat::North);
    assert_eq!(refused(server.operator().create_session(request).await), "REQUEST_ID_REUSED");

    let id = first.session.expect("it").session_id;
    let rotation = proto::RotateSeatTokenRequest { request_id: "rotate-1".to_owned(), ..rotate(&id, Seat::South) };
    let first = server.operator().rotate_seat_token(rotation.clone()).await.expect("a token").into_inner();
    let again = server.operator().rotate_seat_token(rotation).await.expect("no token").into_inner();
    assert_eq!(again, proto::RotateSeatTokenResponse { token: String::new(), replayed: true, ..first });
}

#[tokio::test]
async fn after_a_revocation_only_an_operator_can_fill_the_seat() {
    let server = start(true).await;
    let made = server.make(gore([with_join_code(Seat::South), with_token(Seat::North)], SpectatorPolicy::None, 0)).await;
    let code = made.join_code(Seat::South);
    let token = server.client(None).claim_seat(claim(&made.id, &code)).await.expect("a seat").into_inner().token;
    server.client(Some(&token)).revoke_seat_token(revoke(&made.id, Seat::South)).await.expect("no token");

    assert_eq!(refused(server.client(Some(&token)).rotate_seat_token(rotate(&made.id, Seat::South)).await), "TOKEN_INVALID");
    assert_eq!(refused(server.client(None).claim_seat(claim(&made.id, &code)).await), "SESSION_NOT_FOUND");
    let mut operator = server.operator();
    assert_eq!(refused(operator.revoke_seat_token(revoke(&made.id, Seat::South)).await), "NOTHING_TO_REVOKE");
    let by_name = |seat: Seat| proto::ClaimSeatRequest { seat: seat.into(), ..claim(&made.id, "") };
    assert_eq!(refused(operator.claim_seat(by_name(Seat::North)).await), "SEAT_TAKEN");
    let claimed = operator.claim_seat(by_name(Seat::South)).await.expect("a seat").into_inner();
    server.client(Some(&claimed.token)).apply_move(play(&made.id, "0")).await.expect("a move");

    operator.revoke_seat_token(revoke(&made.id, Seat::South)).await.expect("no token");
    let rotated = operator.rotate_seat_token(rotate(&made.id, Seat::South)).await.expect("a token").into_inner();
    server.client(Some(&rotated.token)).revoke_seat_token(revoke(&made.id, Seat::South)).await.expect("no token");
}

#[tokio::test]
async fn a_seat_that_nobody_holds_has_nothing_to_rotate_and_its_code_can_be_revoked() {
    let server = start(true).await;
    let made = server.make(gore([with_join_code(Seat::South)], SpectatorPolicy::Unlisted, 0)).await;
    let mut operator = server.operator();
    assert_eq!(refused(operator.rotate_seat_token(rotate(&made.id, Seat::South)).await), "SEAT_UNCLAIMED");
    assert_eq!(refused(operator.revoke_seat_token(revoke(&made.id, Seat::North)).await), "NOTHING_TO_REVOKE");
    operator.revoke_seat_token(revoke(&made.id, Seat::South)).await.expect("no code");
    let code = made.join_code(Seat::South);
    assert_eq!(refused(server.client(None).claim_seat(claim(&made.id, &code)).await), "JOIN_CODE_WRONG");
    let wrong_seat = proto::ClaimSeatRequest { seat: Seat::North.into(), ..claim(&made.id, &code) };
    assert_eq!(refused(operator.claim_seat(wrong_seat).await), "JOIN_CODE_WRONG");
}

#[tokio::test]
async fn changes_of_seats_are_bound_to_versions_and_claims_to_the_sessions_life() {
    let server = start(true).await;
    let made = server.make(gore([with_token(Seat::South)], SpectatorPolicy::None, 0)).await;
    let mut operator = server.operator();
    let stale = proto::RotateSeatTokenRequest { expected_version: Some(7), ..rotate(&made.id, Seat::South) };
    assert_eq!(refused(operator.rotate_seat_token(stale).await), "STALE_VERSION");
    let right = proto::RotateSeatTokenRequest { expected_version: Some(1), ..rotate(&made.id, Seat::South) };
    let token = operator.rotate_seat_token(right).await.expect("a token").into_inner();
    assert_eq!(token.version, 2);

    operator.resign(proto::ResignRequest { session_id: made.id.clone(), ..Default::default() }).await.expect("the end");
    let late = proto::ClaimSeatRequest { seat: Seat::North.into(), ..claim(&made.id, "") };
    assert_eq!(refused(operator.claim_seat(late).await), "SESSION_OVER");
    // Tokens go on, for reading.
    server.client(Some(&token.token)).rotate_seat_token(rotate(&made.id, Seat::South)).await.expect("a token");
}

#[tokio::test]
async fn of_many_who_rotate_with_one_token_one_succeeds() {
    let server = start(true).await;
    let made = server.make(gore([with_token(Seat::South)], SpectatorPolicy::None, 0)).await;
    let token = made.token(Seat::South);
    let calls = (0..16).map(|_| {
        let (mut client, request) = (server.client(Some(&token)), rotate(&made.id, Seat::South));
        tokio::spawn(async move { client.rotate_seat_token(request).await })
    });
    let mut new = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        match call.await.expect("no panic") {
            Ok(reply) => new.push(reply.into_inner().token),
            Err(status) => assert_eq!((status.code(), reason(&status)), (Code::Unauthenticated, "TOKEN_INVALID".to_owned())),
        }
    }
    assert_eq!(new.len(), 1);
    server.client(Some(&new[0])).apply_move(play(&made.id, "0")).await.expect("a move");
}

#[tokio::test]
async fn nothing_is_done_on_a_token_after_it_is_revoked() {
    let server = start(true).await;
    let mut orders = BTreeSet::new();
    for _ in 0..40 {
        let made = server.make(gore([with_token(Seat::South)], SpectatorPolicy::None, 0)).await;
        let (mut seat, mut operator) = (server.client(Some(&made.token(Seat::South))), server.operator());
        let (moved, revoked) =
            tokio::join!(seat.apply_move(play(&made.id, "0")), operator.revoke_seat_token(revoke(&made.id, Seat::South)));
        let revoked = revoked.expect("no token").into_inner().version;
        match moved {
            Ok(moved) => assert!(moved.into_inner().version < revoked, "a move after the revocation"),
            Err(status) => assert_eq!(reason(&status), "TOKEN_INVALID"),
        }
        orders.insert(revoked);
    }
    assert!(orders.iter().all(|version| [2, 3].contains(version)), "{orders:?}");
}

#[tokio::test]
async fn events_say_what_became_of_seats_and_show_no_secrets() {
    let server = start(true).await;
    let made = server.make(gore([with_join_code(Seat::South)], SpectatorPolicy::None, 0)).await;
    let request = proto::ClaimSeatRequest {
        player: "u-1".to_owned(),
        display_name: "Ana".to_owned(),
        ..claim(&made.id, &made.join_code(Seat::South))
    };
    server.client(None).claim_seat(request).await.expect("a seat");
    server.operator().rotate_seat_token(rotate(&made.id, Seat::South)).await.expect("a token");
    server.operator().revoke_seat_token(revoke(&made.id, Seat::South)).await.expect("no token");

    let request = proto::ListEventsRequest { session_id: made.id.clone(), after_version: 1, ..Default::default() };
    let events = server.operator().list_events(request).await.expect("events").into_inner().events;
    let bodies: Vec<_> = events.iter().map(|event| event.body.clone().expect("a body")).collect();
    let seat = Seat::South.into();
    assert_eq!(
        bodies,
        [
            Body::SeatClaimed(proto::SeatClaimed { seat, player: "u-1".to_owned(), display_name: "Ana".to_owned() }),
            Body::TokenRotated(proto::TokenRotated { seat }),
            Body::TokenRevoked(proto::TokenRevoked { seat }),
        ]
    );
    let seats: Vec<_> = events.iter().map(|event| event.seat()).collect();
    assert_eq!(seats, [Seat::South, Seat::Unspecified, Seat::Unspecified]);
}

#[tokio::test]
async fn in_open_mode_anybody_may_do_anything_and_claim_what_is_free() {
    let server = start(false).await;
    let mut anybody = server.client(None);
    let setup = proto::SeatSetup { seat: Seat::North.into(), display_name: "Ben".to_owned(), ..Default::default() };
    let made = anybody.create_session(gore([setup], SpectatorPolicy::None, 5)).await.expect("a session").into_inner();
    assert_eq!(made.secrets, []);
    let id = made.session.expect("it").session_id;
    let by_name =
        |seat: Seat, name: &str| proto::ClaimSeatRequest { seat: seat.into(), display_name: name.to_owned(), ..claim(&id, "") };
    anybody.claim_seat(by_name(Seat::South, "Ana")).await.expect("a seat");
    for seat in [Seat::South, Seat::North] {
        assert_eq!(refused(anybody.claim_seat(by_name(seat, "Eve")).await), "SEAT_TAKEN");
    }
    for text in ["0", "4"] {
        anybody.apply_move(play(&id, text)).await.expect("a move");
    }
    // A token is not even looked at.
    let read = proto::GetSessionRequest { session_id: id.clone(), version: None };
    let session = server.client(Some("nothing")).get_session(read).await.expect("a session").into_inner().session.expect("it");
    let names: Vec<_> = session.seats.iter().map(|seat| seat.display_name.as_str()).collect();
    assert_eq!((names, session.version), (vec!["Ana", "Ben"], 4));
    let all = anybody.list_sessions(proto::ListSessionsRequest::default()).await.expect("a list").into_inner();
    assert_eq!(all.sessions, [session]);
}

#[tokio::test]
async fn all_faults_of_seats_are_named_at_once() {
    let server = start(true).await;
    let mut request = gore(
        [
            proto::SeatSetup { seat: 7, player: "x".repeat(65), ..Default::default() },
            proto::SeatSetup {
                display_name: "turned \u{202E}round".to_owned(),
                issue_token: true,
                ..with_join_code(Seat::South)
            },
        ],
        SpectatorPolicy::None,
        1_001,
    );
    let fields = |status: tonic::Status| {
        tonic_types::StatusExt::get_details_error_info(&status).expect("facts").metadata["fields"].clone()
    };
    let status = server.operator().create_session(request.clone()).await.expect_err("faults");
    assert_eq!(
        fields(status),
        "seats[0].player,seats[0].seat,seats[1].display_name,seats[1].issue_join_code,spectators.delay_plies"
    );
    request.seats = vec![with_token(Seat::South), with_token(Seat::South), proto::SeatSetup::default(), with_token(Seat::North)];
    request.spectators = Some(proto::Spectators { policy: 9, delay_plies: 1_000 });
    let status = server.operator().create_session(request).await.expect_err("faults");
    assert_eq!(fields(status), "seats[1].seat,seats[2].seat,spectators.policy");

    let bad = proto::ClaimSeatRequest { player: "e\u{301}".to_owned(), ..claim("some-session", "short") };
    assert_eq!(fields(server.client(None).claim_seat(bad).await.expect_err("faults")), "join_code,player");
    let no_seat = proto::RotateSeatTokenRequest { session_id: "some-session".to_owned(), ..Default::default() };
    assert_eq!(fields(server.operator().rotate_seat_token(no_seat).await.expect_err("faults")), "seat");
}

/// Whoever shows a seat's token is recognised before anything else happens, and that must not end the round: the late command would be
/// one of the next round then.
#[tokio::test]
async fn what_comes_too_late_by_a_token_is_not_meant_for_the_next_round() {
    let server = start(true).await;
    let per_move = proto::clock_setting::Kind::PerMove(prost_types::Duration { seconds: 1, nanos: 0 });
    let request = proto::CreateSessionRequest {
        rounds: 3,
        clock: Some(proto::ClockSetting { kind: Some(per_move) }),
        ..gore([with_token(Seat::South), with_token(Seat::North)], SpectatorPolicy::None, 0)
    };
    let made = server.make(request).await;
    let (mut south, mut north) = (server.client(Some(&made.token(Seat::South))), server.client(Some(&made.token(Seat::North))));
    south.apply_move(play(&made.id, "0")).await.expect("a move");
    north.apply_move(play(&made.id, "4")).await.expect("a move");
    // South's time by the machine's clock, and a little more.
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let resign = proto::ResignRequest { session_id: made.id.clone(), ..Default::default() };
    assert_eq!(refused(south.resign(resign).await), "STALE_VERSION");
    let session = session(&server, &made.id).await;
    assert_eq!((session.round, session.north_points, session.south_points), (2, 1, 0), "one round is lost, by time");
}
