//! Calls a second, by who calls.

use super::raw::{Answer, Raw};
use super::running::{Given, Running, start};
use mancala::server::{Limits, Rate, Rates};
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, Seat};
use prost::Message;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;

const LIST_GAMES: &str = "/mancala.v1.RulesService/ListGames";
const LIST_SESSIONS: &str = "/mancala.v1.SessionService/ListSessions";
const GET_SESSION: &str = "/mancala.v1.SessionService/GetSession";

/// Three calls at once and then one a second, which is the lowest rate that there is.
const THREE: Rate = Rate { per_second: 1, burst: 3 };

async fn server(rates: Rates, with_tokens: bool) -> Running {
    start(Given { limits: Limits { rates, ..Limits::default() }, with_tokens, ..Given::default() }).await
}

/// How many calls may have been let through beyond those at once: on a slow machine seconds pass between calls.
fn regained(server: &Running) -> usize {
    server.started.elapsed().as_secs() as usize
}

fn is_limited(answer: &Answer) -> bool {
    answer.status().code() != Code::Ok && answer.refused().reason == "RATE_LIMITED"
}

/// Fails unless of ten calls so many are let through.
async fn assert_through(server: &Running, path: &str, metadata: &[(&str, &str)], message: &impl Message, expected: usize) {
    let mut through = 0;
    for _ in 0..10 {
        through += usize::from(!is_limited(&server.raw.call(path, metadata, message).await));
    }
    assert!((expected..=expected + regained(server)).contains(&through), "{through} instead of {expected}: {metadata:?}");
}

/// What is answered to who has made all calls that are allowed.
async fn limited(server: &Running, path: &str, metadata: &[(&str, &str)], message: &impl Message) -> Answer {
    limited_on(&server.raw, server, path, metadata, message).await
}

/// The same on another connection.
async fn limited_on(raw: &Raw, server: &Running, path: &str, metadata: &[(&str, &str)], message: &impl Message) -> Answer {
    let mut through = 0;
    loop {
        let answer = raw.call(path, metadata, message).await;
        if is_limited(&answer) {
            return answer;
        }
        through += 1;
        assert!(through <= regained(server), "{path} is let through");
    }
}

fn assert_limited(answer: &Answer, caller: &str) {
    let refused = answer.refused();
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "RATE_LIMITED"));
    assert_eq!((refused.fact("caller"), refused.fact("limit")), (caller, "1/s, 3 at once"));
    let wait = refused.details.retry_info().expect("how long to wait").retry_delay.expect("a time");
    assert!(wait.as_millis() > 0 && wait.as_millis() <= 1_000, "{wait:?}");
    let quota = refused.details.quota_failure().expect("whose quota");
    assert_eq!(quota.violations[0].subject, caller);
    assert!(quota.violations[0].description.contains("1 a second"), "{quota:?}");
}

#[tokio::test]
async fn whoever_shows_no_token_is_counted_by_address() {
    let server = server(Rates { anonymous: THREE, ..Rates::default() }, true).await;
    for _ in 0..3 {
        assert_eq!(server.raw.call(LIST_GAMES, &[], &()).await.status().code(), Code::Ok);
    }
    assert_limited(&limited(&server, LIST_GAMES, &[], &()).await, "anonymous");
    let metric = |kind: &str| server.metric(&format!("mancala_calls_rate_limited_total{{caller=\"{kind}\"}}"));
    assert_eq!((metric("anonymous"), metric("operator")), (Some(1.0), None));
    // Another connection of the same address is the same caller.
    let other = Raw::connect(server.address).await;
    assert_limited(&limited_on(&other, &server, LIST_SESSIONS, &[], &()).await, "anonymous");
    // Health is for those who look whether the server is well, and an operator has a bucket of its own.
    let health = HealthCheckRequest::default();
    assert_through(&server, "/grpc.health.v1.Health/Check", &[], &health, 10).await;
    let key = server.key("ops");
    assert_through(&server, LIST_GAMES, &[("authorization", &key)], &(), 10).await;
}

#[tokio::test]
async fn operators_are_counted_by_name() {
    let server = server(Rates { operator: THREE, ..Rates::default() }, true).await;
    let (ops, night) = (server.key("ops"), server.key("night"));
    // Also by what anybody may call.
    assert_through(&server, LIST_GAMES, &[("authorization", &ops)], &(), 3).await;
    assert_limited(&limited(&server, LIST_SESSIONS, &[("authorization", &ops)], &()).await, "operator");
    assert_through(&server, LIST_SESSIONS, &[("authorization", &night)], &(), 3).await;
    // Nobody else is limited.
    assert_through(&server, LIST_GAMES, &[], &(), 10).await;
}

#[tokio::test]
async fn seats_are_counted_for_themselves() {
    let server = server(Rates { seat: THREE, ..Rates::default() }, true).await;
    let key = server.key("ops");
    let seats = [Seat::South, Seat::North];
    let seats = seats.map(|seat| proto::SeatSetup { seat: seat.into(), issue_token: true, ..Default::default() }).to_vec();
    let request = proto::CreateSessionRequest { game: "gore".to_owned(), seats, ..Default::default() };
    let made = server.raw.call("/mancala.v1.SessionService/CreateSession", &[("authorization", &key)], &request).await;
    let made = proto::CreateSessionResponse::decode(made.messages[0].clone()).expect("an answer");
    let session_id = made.session.expect("a session").session_id;
    let get = proto::GetSessionRequest { session_id, version: None };
    for secret in made.secrets {
        let token = format!("Bearer {}", secret.token);
        assert_through(&server, GET_SESSION, &[("authorization", &token)], &get, 3).await;
        assert_limited(&limited(&server, GET_SESSION, &[("authorization", &token)], &get).await, "seat");
    }
    assert_through(&server, GET_SESSION, &[("authorization", &key)], &get, 10).await;
}

#[tokio::test]
async fn tokens_that_are_not_in_force_are_counted_by_address() {
    let server = server(Rates { anonymous: THREE, ..Rates::default() }, true).await;
    let guess = |n: usize| format!("Bearer mop_ops_{}{n}", "A".repeat(42));
    for n in 0..3 {
        let refused = server.raw.call(LIST_SESSIONS, &[("authorization", &guess(n))], &()).await.refused();
        assert_eq!(refused.code, Code::Unauthenticated, "{}", refused.reason);
    }
    assert_limited(&limited(&server, LIST_SESSIONS, &[("authorization", &guess(3))], &()).await, "anonymous");
    // Whoever has one is not kept out.
    let key = server.key("ops");
    assert_through(&server, LIST_SESSIONS, &[("authorization", &key)], &(), 10).await;
}

#[tokio::test]
async fn open_mode_has_a_rate_of_its_own() {
    let server = server(Rates { open: THREE, ..Rates::default() }, false).await;
    assert_through(&server, LIST_SESSIONS, &[], &(), 3).await;
    assert_limited(&limited(&server, LIST_GAMES, &[], &()).await, "open");
}

#[tokio::test]
async fn a_trusted_proxy_says_where_calls_come_from() {
    let rates = Rates { open: THREE, ..Rates::default() };
    let trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    let server = start(Given { limits: Limits { rates, trusted_proxies, calls_in_flight: 0 }, ..Given::default() }).await;
    for (hops, expected) in
        [("192.0.2.1", 3), ("192.0.2.2", 3), ("192.0.2.9, 192.0.2.1", 0), ("2001:db8::1", 3), ("2001:db8::2", 0)]
    {
        assert_through(&server, LIST_GAMES, &[("x-forwarded-for", hops)], &(), expected).await;
    }
}

#[tokio::test]
async fn what_is_done_on_a_stream_is_counted_as_calls_are() {
    let server = server(Rates { seat: THREE, ..Rates::default() }, true).await;
    let (key, session_id, token) = seated(&server).await;
    let get = || Command::GetSession(proto::GetSessionRequest { session_id: session_id.clone(), version: None });
    for (bearer, expected) in [(token, 2), (key, 10)] {
        let mut client = SessionServiceClient::new(server.channel().await);
        let commands = (0..10).map(|_| proto::PlayRequest { command_id: String::new(), command: Some(get()) });
        let mut request = tonic::Request::new(tokio_stream::iter(commands.collect::<Vec<_>>()));
        request.metadata_mut().insert("authorization", bearer.parse().expect("a value"));
        let mut replies = client.play(request).await.expect("a stream").into_inner();
        let mut through = 0;
        while let Some(reply) = replies.message().await.expect("a reply") {
            match reply.reply {
                Some(Reply::GetSession(_)) => through += 1,
                Some(Reply::Failure(failure)) => {
                    assert_eq!(failure.refusal.expect("a refusal").reason, "RATE_LIMITED");
                    assert!(failure.retry_after.is_some());
                }
                other => panic!("{other:?}"),
            }
        }
        // The stream itself was a call.
        assert!((expected..=expected + regained(&server)).contains(&through), "{through} instead of {expected}");
    }
}

#[tokio::test]
async fn a_caller_has_so_many_watches_and_no_more() {
    let server = server(Rates::default(), true).await;
    let (key, session_id, token) = seated(&server).await;
    let watch = async |bearer: &str| {
        let request = proto::WatchSessionRequest { session_id: session_id.clone(), ..Default::default() };
        let mut request = tonic::Request::new(request);
        request.metadata_mut().insert("authorization", bearer.parse().expect("a value"));
        SessionServiceClient::new(server.channel().await).watch_session(request).await
    };
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(watch(&token).await.expect("a watch"));
    }
    let refused = watch(&token).await.expect_err("one too many");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().starts_with("TOO_MANY_WATCHES: "), "{}", refused.message());
    // An operator may have more, and one that ends makes room.
    for _ in 0..30 {
        watches.push(watch(&key).await.expect("a watch"));
    }
    watches.remove(0);
    let again = async {
        while watch(&token).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::running::PATIENCE, again).await.expect("room again");
}

/// An operator's key, a session, and the token of its South seat, as metadata.
async fn seated(server: &Running) -> (String, String, String) {
    let key = server.key("ops");
    let seats = vec![proto::SeatSetup { seat: Seat::South.into(), issue_token: true, ..Default::default() }];
    let request = proto::CreateSessionRequest { game: "gore".to_owned(), seats, ..Default::default() };
    let made = server.raw.call("/mancala.v1.SessionService/CreateSession", &[("authorization", &key)], &request).await;
    let made = proto::CreateSessionResponse::decode(made.messages[0].clone()).expect("an answer");
    (key, made.session.expect("a session").session_id, format!("Bearer {}", made.secrets[0].token))
}
