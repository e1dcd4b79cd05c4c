//! Every limit of a field, at its edge and one beyond.

use crate::app::{App, apply, body, faulty_fields, text};
use mancala::wire::proto;
use prost::Message;
use std::collections::BTreeMap;

fn gore() -> proto::CreateSessionRequest {
    proto::CreateSessionRequest { game: "gore".to_owned(), ..Default::default() }
}

fn labels(count: usize, key: usize, value: usize) -> BTreeMap<String, String> {
    (0..count).map(|n| (format!("{n:0key$}"), "v".repeat(value))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_sessions_fields() {
    let app = App::start().await;
    let faults = async |request| faulty_fields(app.sessions().create_session(request).await);
    for id in ["abcd".to_owned(), "z".repeat(63)] {
        assert_eq!(app.make(proto::CreateSessionRequest { session_id: id.clone(), ..gore() }).await.session_id, id);
    }
    for id in ["abc".to_owned(), "z".repeat(64), "Abcd".to_owned(), "ab_cd".to_owned()] {
        assert_eq!(faults(proto::CreateSessionRequest { session_id: id, ..gore() }).await, ["session_id"]);
    }
    app.make(proto::CreateSessionRequest { request_id: "A_-9".repeat(16), ..gore() }).await;
    for id in ["r".repeat(65), "a b".to_owned()] {
        assert_eq!(faults(proto::CreateSessionRequest { request_id: id, ..gore() }).await, ["request_id"]);
    }
    let most = labels(16, 63, 63);
    assert_eq!(app.make(proto::CreateSessionRequest { labels: most.clone(), ..gore() }).await.labels, most);
    let unsafe_label = BTreeMap::from([("k".to_owned(), "a\u{202E}b".to_owned())]);
    for labels in [labels(17, 2, 1), labels(1, 64, 1), labels(1, 1, 64), unsafe_label] {
        assert_eq!(faults(proto::CreateSessionRequest { labels, ..gore() }).await, ["labels"]);
    }
    let start = "gore 6,6,6,6/6,6,6,6 0-0 S sow";
    let padded = |length: usize| format!("{start}{}", " ".repeat(length - start.len()));
    app.make(proto::CreateSessionRequest { position: padded(400), ..gore() }).await;
    assert_eq!(faults(proto::CreateSessionRequest { position: padded(401), ..gore() }).await, ["position"]);
    let options = BTreeMap::from([("leftovers".to_owned(), "none".to_owned())]);
    assert_eq!(faults(proto::CreateSessionRequest { options, ..gore() }).await, ["options"]);

    // All at once.
    let request = proto::CreateSessionRequest {
        game: "chess".to_owned(),
        session_id: "a".to_owned(),
        labels: labels(17, 64, 64),
        request_id: "?".to_owned(),
        ..Default::default()
    };
    assert_eq!(faults(request).await, ["game", "session_id", "labels", "request_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_and_tokens() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let list = |page_size| proto::ListSessionsRequest { page_size, ..Default::default() };
    assert_eq!(body(app.sessions().list_sessions(list(1_000)).await).sessions.len(), 1);
    assert_eq!(faulty_fields(app.sessions().list_sessions(list(1_001)).await), ["page_size"]);
    let state = proto::ListSessionsRequest { state: 9, ..Default::default() };
    assert_eq!(faulty_fields(app.sessions().list_sessions(state).await), ["state"]);
    let token = proto::ListSessionsRequest { page_token: "made-up".to_owned(), ..Default::default() };
    assert_eq!(faulty_fields(app.sessions().list_sessions(token).await), ["page_token"]);

    let events = |page_size| proto::ListEventsRequest { session_id: id.clone(), page_size, ..Default::default() };
    assert_eq!(body(app.sessions().list_events(events(1_000)).await).events.len(), 1);
    assert_eq!(faulty_fields(app.sessions().list_events(events(1_001)).await), ["page_size"]);

    let sample = |count| proto::SampleMovesRequest { session_id: id.clone(), count, seed: 1 };
    assert_eq!(body(app.sessions().sample_moves(sample(100)).await).moves.len(), 100);
    assert_eq!(body(app.sessions().sample_moves(sample(0)).await).moves.len(), 1);
    assert_eq!(faulty_fields(app.sessions().sample_moves(sample(101)).await), ["count"]);

    let version = proto::GetSessionRequest { session_id: id.clone(), version: Some(0) };
    assert_eq!(faulty_fields(app.sessions().get_session(version).await), ["version"]);

    let padded =
        |length: usize| proto::ApplyMoveRequest { r#move: text(&format!("0{}", " ".repeat(length - 1))), ..apply(&id, "") };
    assert_eq!(faulty_fields(app.sessions().apply_move(padded(401)).await), ["move.text"]);
    assert_eq!(body(app.sessions().apply_move(padded(400)).await).version, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_token_holds_for_its_filter_alone() {
    let app = App::start().await;
    for n in 0..5 {
        app.clock.advance(n);
        app.create("gore").await;
    }
    let list = |game: &str, page_token: &str| proto::ListSessionsRequest {
        game: game.to_owned(),
        page_size: 2,
        page_token: page_token.to_owned(),
        ..Default::default()
    };
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let page = body(app.sessions().list_sessions(list("gore", &token)).await);
        seen.extend(page.sessions);
        if page.next_page_token.is_empty() {
            break;
        }
        token = page.next_page_token;
        // A session that is made meanwhile is on none of the pages that follow.
        app.clock.advance(1);
        app.create("gore").await;
        assert_eq!(faulty_fields(app.sessions().list_sessions(list("", &token)).await), ["page_token"]);
        assert_eq!(faulty_fields(app.sessions().list_sessions(list("ayoayo", &token)).await), ["page_token"]);
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted_by_key(|session| session.create_time.map(|time| (-time.seconds, -time.nanos))));
    for session in seen {
        assert_eq!(app.session(&session.session_id).await, session, "lists show what sessions are");
    }
}

/// The largest session, so that a full page of them fits in an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_page_of_large_sessions_fits_in_an_answer() {
    let app = App::start().await;
    let request = proto::CreateSessionRequest {
        game: "kiothi".to_owned(),
        session_id: "s".repeat(63),
        labels: labels(16, 63, 63),
        guards: Some(proto::Guards { repetition: Some(u32::MAX), quiet: Some(u32::MAX), max_plies: Some(u32::MAX) }),
        position: format!("kiothi {}/{} 0-0 S sow", ["3*"; 10].join(","), ["3*"; 10].join(",")),
        ..Default::default()
    };
    let mut session = app.make(request).await;
    let resign = proto::ResignRequest { session_id: session.session_id.clone(), ..Default::default() };
    body(app.sessions().resign(resign).await);
    session = app.session(&session.session_id).await;
    assert!(session.encoded_len() * 1_000 < 4 << 20, "{}", session.encoded_len());
}
