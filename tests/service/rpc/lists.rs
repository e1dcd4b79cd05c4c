//! Lists: what each part of a filter finds, what is wrong with filters, and pages while others write.

use crate::app::{App, START, body, faulty_fields, refusal};
use mancala::session::Micros;
use mancala::store::{Create, Created, Head, Store};
use mancala::wire::proto;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tonic::Code;

const SECOND: Micros = 1_000_000;

fn filter(filter: &str) -> proto::ListSessionsRequest {
    proto::ListSessionsRequest { filter: filter.to_owned(), ..Default::default() }
}

impl App {
    /// Ids of all that a request finds, over all pages.
    async fn found(&self, mut request: proto::ListSessionsRequest) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let page = body(self.sessions().list_sessions(request.clone()).await);
            ids.extend(page.sessions.into_iter().map(|session| session.session_id));
            if page.next_page_token.is_empty() {
                return ids;
            }
            request.page_token = page.next_page_token;
        }
    }

    async fn make_labelled(&self, session_id: &str, game: &str, labels: &[(&str, &str)]) {
        self.make(proto::CreateSessionRequest {
            game: game.to_owned(),
            session_id: session_id.to_owned(),
            labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            ..Default::default()
        })
        .await;
    }

    /// Puts players into a session, in the store: what finds them is the same whoever sets them.
    async fn seat(&self, session_id: &str, south: Option<&str>, north: Option<&str>) {
        let head = self.store.head(session_id).await.expect("head").expect("the session");
        let events = self.store.read(session_id, 0, 10).await.expect("read").expect("the session");
        let head = Head {
            session_id: format!("{session_id}-seated"),
            players: [south.map(str::to_owned), north.map(str::to_owned)],
            ..head
        };
        let events = events.into_iter().map(|event| event.body).collect();
        assert_eq!(self.store.create(Create { head, events, request: None }).await, Ok(Created::Done));
    }
}

/// A server with sessions made a second apart: `gore-1` at [`START`], `gore-2` (finished), `kiothi-1`, `ayoayo-1`.
async fn four() -> App {
    let app = App::start().await;
    app.make_labelled("gore-1", "gore", &[("team", "red"), ("a key", "\"quoted\"")]).await;
    app.clock.advance(SECOND);
    app.make_labelled("gore-2", "gore", &[("team", "blue")]).await;
    app.clock.advance(SECOND);
    app.make_labelled("kiothi-1", "kiothi", &[("team", "red")]).await;
    app.clock.advance(SECOND);
    app.make_labelled("ayoayo-1", "ayoayo", &[]).await;
    app.clock.advance(SECOND);
    let resign = proto::ResignRequest { session_id: "gore-2".to_owned(), ..Default::default() };
    body(app.sessions().resign(resign).await);
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_a_filter_finds_its_sessions() {
    let app = four().await;
    app.seat("gore-1", Some("alice"), Some("bob")).await;
    app.seat("gore-2", Some("bob"), None).await;
    app.seat("ayoayo-1", Some("carol"), Some("carol")).await;
    for (text, expected) in [
        ("", "ayoayo-1-seated ayoayo-1 kiothi-1 gore-2-seated gore-2 gore-1-seated gore-1"),
        ("game = gore", "gore-2-seated gore-2 gore-1-seated gore-1"),
        ("state = FINISHED", "gore-2-seated gore-2"),
        ("state = ACTIVE AND game = \"gore\"", "gore-1-seated gore-1"),
        ("state = ABORTED", ""),
        ("labels.team = red", "kiothi-1 gore-1"),
        ("labels.\"a key\" = \"\\\"quoted\\\"\"", "gore-1"),
        ("labels.team = red AND game = gore", "gore-1"),
        ("labels.team = green", ""),
        ("player = bob", "gore-2-seated gore-1-seated"),
        ("player = carol", "ayoayo-1-seated"),
        ("player = bob AND player = alice", "gore-1-seated"),
        ("south.player = bob", "gore-2-seated"),
        ("north.player = bob", "gore-1-seated"),
        ("south.player = carol AND north.player = carol", "ayoayo-1-seated"),
        ("player = carol AND game = gore", ""),
        ("create_time >= 2020-09-13T12:26:42Z", "ayoayo-1-seated ayoayo-1 kiothi-1"),
        ("create_time > 2020-09-13T12:26:42Z", "ayoayo-1-seated ayoayo-1"),
        ("create_time = 2020-09-13T12:26:42Z", "kiothi-1"),
        ("create_time < 2020-09-13T12:26:41.000001Z AND create_time > \"2020-09-13T14:26:40+02:00\"", "gore-2-seated gore-2"),
        ("update_time >= 2020-09-13T12:26:43Z", "ayoayo-1-seated ayoayo-1 gore-2-seated gore-2"),
        ("update_time > 2020-09-13T12:26:43Z", "gore-2-seated gore-2"),
        ("update_time <= 2020-09-13T12:26:42Z AND labels.team = red", "kiothi-1 gore-1"),
        ("game = gore AND game = kiothi", ""),
        ("create_time > 2020-09-13T12:26:43Z AND create_time < 2020-09-13T12:26:40Z", ""),
    ] {
        // What is seated has the labels of what it was made of, in its head but not in the list that labels are found by.
        let found = app.found(filter(text)).await;
        let found: Vec<_> =
            found.iter().map(String::as_str).filter(|id| !text.contains("labels") || !id.ends_with("seated")).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_adds_to_the_other_fields() {
    let app = four().await;
    let gore = |text: &str| proto::ListSessionsRequest { game: "gore".to_owned(), ..filter(text) };
    assert_eq!(app.found(gore("labels.team = red")).await, ["gore-1"]);
    assert_eq!(app.found(gore("game = gore AND state = FINISHED")).await, ["gore-2"]);
    assert_eq!(app.found(gore("game = kiothi")).await, [""; 0], "no session is of both games");
    let finished = proto::ListSessionsRequest { state: proto::SessionState::Finished.into(), ..gore("labels.team = red") };
    assert_eq!(app.found(finished).await, [""; 0]);
    let red = proto::ListSessionsRequest { labels: [("team".to_owned(), "red".to_owned())].into(), ..filter("game = kiothi") };
    assert_eq!(app.found(red).await, ["kiothi-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_filter_is_said_beside_other_faults() {
    let app = App::start().await;
    let wrong = proto::ListSessionsRequest { game: "chess".to_owned(), page_size: 1_001, ..filter("game = gore OR x") };
    let answer = app.sessions().list_sessions(wrong).await;
    let message = answer.as_ref().expect_err("it is malformed").message().to_owned();
    assert_eq!(faulty_fields(answer), ["game", "page_size", "filter"]);
    let told = "filter: at character 13: expected AND, or the end of the filter (there is no OR)";
    assert!(message.contains(told), "{message}");
    let long = format!("player = \"{}\"", "x".repeat(2_000));
    assert_eq!(faulty_fields(app.sessions().list_sessions(filter(&long)).await), ["filter"]);
    assert_eq!(app.found(filter(&format!("player = \"{}\"", "x".repeat(1_989)))).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_token_is_bound_to_what_the_filter_means() {
    let app = four().await;
    let one = |text: &str, token: &str| proto::ListSessionsRequest { page_size: 1, page_token: token.to_owned(), ..filter(text) };
    let first = body(app.sessions().list_sessions(one("game = gore AND labels.team = red", "")).await);
    assert_eq!(first.next_page_token, "", "the only one");
    let token = body(app.sessions().list_sessions(one("game=gore", "")).await).next_page_token;
    for other in [
        "",
        "game = kiothi",
        "game = gore AND state = ACTIVE",
        "game = gore AND player = a",
        "create_time > 2020-01-01T00:00:00Z",
    ] {
        assert_eq!(faulty_fields(app.sessions().list_sessions(one(other, &token)).await), ["page_token"], "{other}");
    }
    let as_field = proto::ListSessionsRequest { game: "gore".to_owned(), ..one("", &token) };
    for same in [one("game = \"gore\"", &token), one("game = gore AND game = gore", &token), as_field] {
        let second = body(app.sessions().list_sessions(same).await);
        assert_eq!(second.sessions.len(), 1);
        assert_eq!(second.sessions[0].session_id, "gore-1");
    }
}

/// One writes all the time, another reads page after page, by several filters.
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_stable_while_others_write() {
    let app = Arc::new(App::start().await);
    for n in 0..90 {
        app.clock.advance(1);
        app.make_labelled(&format!("old-{n:02}"), if n % 3 == 0 { "gore" } else { "ayoayo" }, &[("old", "1")]).await;
    }
    let written = Arc::new(AtomicU32::new(0));
    let writer = tokio::spawn({
        let (app, written) = (app.clone(), written.clone());
        async move {
            loop {
                let n = written.fetch_add(1, Ordering::SeqCst);
                app.clock.advance(1);
                app.make_labelled(&format!("new-{n:04}"), "gore", &[("old", "1")]).await;
                let old = format!("old-{:02}", n * 7 % 90);
                if let Some(mv) = app.legal_moves(&old).await.first() {
                    app.play(&old, mv).await;
                }
            }
        }
    });
    let filters = [
        ("", 90),
        ("game = gore", 30),
        ("labels.old = 1", 90),
        ("update_time > 2020-01-01T00:00:00Z", 90),
        ("game = ayoayo AND labels.old = 1", 60),
    ];
    for (round, (text, expected)) in (0..).zip(filters.into_iter().cycle()) {
        if round >= 20 && written.load(Ordering::SeqCst) > 40 {
            break;
        }
        let before = app.clock_now();
        let mut request = proto::ListSessionsRequest { page_size: 7, ..filter(text) };
        let mut seen = Vec::new();
        loop {
            let page = body(app.sessions().list_sessions(request.clone()).await);
            seen.extend(page.sessions);
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        let ids: Vec<_> = seen.iter().map(|session| session.session_id.as_str()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "none twice: {ids:?}");
        assert_eq!(ids.iter().filter(|id| id.starts_with("old")).count(), expected, "none is missed");
        // The first page may show what is newer than the reading's beginning, those after it may not.
        let made =
            |session: &proto::Session| session.create_time.map(|time| time.seconds * SECOND + i64::from(time.nanos) / 1_000);
        assert!(seen.iter().skip(7).all(|session| made(session).is_some_and(|time| time <= before + 1)), "{ids:?}");
        assert!(seen.is_sorted_by_key(|session| std::cmp::Reverse(made(session))));
    }
    assert!(!writer.is_finished(), "it has written all the time");
    writer.abort();
}

/// Sessions that are large fill a page before it has as many as were asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_large_sessions_ends_early_and_goes_on() {
    let app = App::start().await;
    let labels: Vec<_> = (0..16).map(|n| (format!("{n:063}"), "v".repeat(63))).collect();
    let requests = |batch: usize| {
        (0..250).map(move |n| proto::CreateSessionRequest {
            game: "gore".to_owned(),
            session_id: format!("large-{}", batch * 250 + n),
            labels: labels.iter().cloned().collect(),
            ..Default::default()
        })
    };
    for batch in 0..3 {
        app.clock.advance(1);
        let requests = requests.clone()(batch).collect();
        let batch = proto::BatchCreateSessionsRequest { requests, request_id: String::new() };
        body(app.sessions().batch_create_sessions(batch).await);
    }
    let request = proto::ListSessionsRequest { page_size: 1_000, ..Default::default() };
    let page = body(app.sessions().list_sessions(request.clone()).await);
    assert!(page.sessions.len() < 750 && !page.next_page_token.is_empty(), "{}", page.sessions.len());
    let all = app.found(request).await;
    assert_eq!(all.len(), 750);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 750);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_game_is_refused_by_either_way() {
    let app = App::start().await;
    for request in [filter("game = chess"), proto::ListSessionsRequest { game: "chess".to_owned(), ..Default::default() }] {
        let refused = refusal(app.sessions().list_sessions(request).await);
        assert_eq!((refused.code, refused.reason.as_str()), (Code::InvalidArgument, "INVALID_REQUEST"));
    }
    assert_eq!(START, 1_600_000_000 * SECOND, "the times in this file hang on it");
}
