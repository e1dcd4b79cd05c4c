//! A request id stands for one change, whatever becomes of the reply: repeated with the same content it answers as the first
//! time and changes nothing, with another content it is refused.

use crate::app::{App, Refusal, apply, body, refusal, text};
use mancala::game::{Game, Rules};
use mancala::wire::proto;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::task::JoinSet;
use tonic::{Response, Status};

/// The methods that change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Create,
    ApplyMove,
    Resign,
    Delete,
}

const METHODS: [Method; 4] = [Method::Create, Method::ApplyMove, Method::Resign, Method::Delete];

/// What a call answered: its text without `replayed`, and whether it was replayed, of those that say it.
type Answer = Result<(String, Option<bool>), Refusal>;

fn answer<T: Debug>(answered: Result<Response<T>, Status>, replayed: impl FnOnce(&mut T) -> Option<bool>) -> Answer {
    match answered {
        Ok(response) => {
            let mut reply = response.into_inner();
            let replayed = replayed(&mut reply);
            Ok((format!("{reply:?}"), replayed))
        }
        refused => Err(refusal(refused)),
    }
}

/// Asks for a change by a request id; `change` counts through contents that differ in one field each, 0 being the first request.
/// `None`: there are no more.
async fn ask(app: &App, method: Method, session_id: &str, request_id: &str, change: usize) -> Option<Answer> {
    let (session_id, request_id) = (session_id.to_owned(), request_id.to_owned());
    let mut sessions = app.sessions();
    Some(match method {
        Method::Create => {
            let mut request =
                proto::CreateSessionRequest { game: "kiothi".to_owned(), session_id, request_id, ..Default::default() };
            match change {
                0 => {}
                1 => request.game = "gore".to_owned(),
                2 => request.session_id = "another-id".to_owned(),
                3 => request.session_id.clear(),
                4 => request.labels = [("team".to_owned(), "red".to_owned())].into(),
                5 => {
                    let option = Rules::new(Game::Kiothi).option_specs()[1];
                    request.options = [(option.name.to_owned(), option.values[1].to_owned())].into();
                }
                6 => request.guards = Some(proto::Guards { quiet: Some(7), ..Default::default() }),
                7 => request.position = "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 N sow".to_owned(),
                _ => return None,
            }
            answer(sessions.create_session(request).await, |it| Some(std::mem::take(&mut it.replayed)))
        }
        Method::ApplyMove => {
            let mut request =
                proto::ApplyMoveRequest { expected_version: Some(1), request_id, seat: 1, ..apply(&session_id, "0") };
            match change {
                0 => {}
                1 => request.r#move = text("1"),
                2 => request.seat = 0,
                3 => request.seat = 2,
                4 => request.expected_version = None,
                5 => request.expected_version = Some(2),
                _ => return None,
            }
            answer(sessions.apply_move(request).await, |it| Some(std::mem::take(&mut it.replayed)))
        }
        Method::Resign => {
            let mut request = proto::ResignRequest { session_id, seat: 1, r#match: true, expected_version: Some(1), request_id };
            match change {
                0 => {}
                1 => request.seat = 2,
                2 => request.r#match = false,
                3 => request.expected_version = None,
                _ => return None,
            }
            answer(sessions.resign(request).await, |it| Some(std::mem::take(&mut it.replayed)))
        }
        Method::Delete => {
            let mut request = proto::DeleteSessionRequest { session_id, expected_version: Some(1), request_id };
            match change {
                0 => {}
                1 => request.expected_version = None,
                2 => request.expected_version = Some(2),
                _ => return None,
            }
            answer(sessions.delete_session(request).await, |_| None)
        }
    })
}

/// The first request, which must succeed.
async fn first(app: &App, method: Method, session_id: &str) -> String {
    if method != Method::Create {
        let request =
            proto::CreateSessionRequest { game: "gore".to_owned(), session_id: session_id.to_owned(), ..Default::default() };
        app.make(request).await;
    }
    let (reply, replayed) = ask(app, method, session_id, "first", 0).await.expect("a request").expect("no refusal");
    assert_ne!(replayed, Some(true), "{method:?}");
    reply
}

/// The first request again, which must answer the same.
async fn again(app: &App, method: Method, session_id: &str, expected: &str) {
    let (reply, replayed) = ask(app, method, session_id, "first", 0).await.expect("a request").expect("no refusal");
    assert_eq!(reply, expected, "{method:?}");
    assert_ne!(replayed, Some(false), "{method:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_answers_alike_also_after_a_restart() {
    let mut app = App::start().await;
    let mut replies = Vec::new();
    for method in METHODS {
        let session_id = format!("session-{method:?}").to_lowercase();
        let reply = first(&app, method, &session_id).await;
        again(&app, method, &session_id, &reply).await;
        app.clock.advance(1_000_000);
        again(&app, method, &session_id, &reply).await;
        replies.push((method, session_id, reply));
    }
    app = app.restart().await;
    for (method, session_id, reply) in &replies {
        again(&app, *method, session_id, reply).await;
    }
    assert_eq!(app.events("session-applymove", 10, false).await.len(), 2);
    assert_eq!(app.events("session-resign", 10, false).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_content_is_refused() {
    let app = App::start().await;
    for method in METHODS {
        let session_id = format!("session-{method:?}").to_lowercase();
        let reply = first(&app, method, &session_id).await;
        let mut change = 1;
        while let Some(answer) = ask(&app, method, &session_id, "first", change).await {
            let refusal = answer.expect_err("another content");
            assert_eq!(refusal.reason, "REQUEST_ID_REUSED", "{method:?} {change}");
            assert_eq!(refusal.fact("request_id"), "first");
            change += 1;
        }
        assert!(change > 2, "{method:?}");
        again(&app, method, &session_id, &reply).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_no_content() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let request = proto::ApplyMoveRequest { request_id: "a".to_owned(), ..apply(&id, "0") };
    let lean = body(app.sessions().apply_move(request.clone()).await);
    app.play(&id, "7").await;
    let full = proto::ApplyMoveRequest { include_position: true, include_steps: true, ..request };
    let full = body(app.sessions().apply_move(full).await);
    assert!(full.replayed && !full.steps.is_empty() && lean.steps.is_empty());
    assert_eq!(full.full_position.expect("asked for").text, lean.position, "as it was then");
    assert_eq!((full.version, full.position, full.to_act), (lean.version, lean.position, lean.to_act));
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_are_one() {
    let app = Arc::new(App::start().await);
    for method in METHODS {
        let session_id = format!("session-{method:?}").to_lowercase();
        if method != Method::Create {
            let request =
                proto::CreateSessionRequest { game: "gore".to_owned(), session_id: session_id.clone(), ..Default::default() };
            app.make(request).await;
        }
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let (app, session_id) = (app.clone(), session_id.clone());
            calls.spawn(async move { ask(&app, method, &session_id, "first", 0).await.expect("a request").expect("no refusal") });
        }
        let answers = calls.join_all().await;
        assert!(answers.iter().all(|(reply, _)| *reply == answers[0].0), "{method:?}: {answers:?}");
        let originals = answers.iter().filter(|(_, replayed)| *replayed == Some(false)).count();
        assert_eq!(originals, usize::from(method != Method::Delete), "{method:?}: one of them was it");
    }
    assert_eq!(app.session("session-create").await.version, 1);
    assert_eq!(app.session("session-applymove").await.version, 2);
    assert_eq!(app.session("session-resign").await.version, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_deletion_the_session_is_not_found() {
    let app = App::start().await;
    for method in [Method::Create, Method::ApplyMove, Method::Resign] {
        let session_id = format!("session-{method:?}").to_lowercase();
        first(&app, method, &session_id).await;
        body(
            app.sessions()
                .delete_session(proto::DeleteSessionRequest { session_id: session_id.clone(), ..Default::default() })
                .await,
        );
        let refusal = ask(&app, method, &session_id, "first", 0).await.expect("a request").expect_err("it is gone");
        assert_eq!((refusal.reason.as_str(), refusal.fact("session_id")), ("SESSION_NOT_FOUND", session_id.as_str()));
    }
    // A creation that left the id to the server names what it made.
    let request =
        proto::CreateSessionRequest { game: "gore".to_owned(), request_id: "nameless".to_owned(), ..Default::default() };
    let made = app.make(request.clone()).await.session_id;
    body(app.sessions().delete_session(proto::DeleteSessionRequest { session_id: made.clone(), ..Default::default() }).await);
    assert_eq!(refusal(app.sessions().create_session(request).await).fact("session_id"), made);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_taken_for_every_method_of_its_session() {
    let app = App::start().await;
    for first_method in [Method::Create, Method::ApplyMove, Method::Resign] {
        let session_id = format!("session-{first_method:?}").to_lowercase();
        first(&app, first_method, &session_id).await;
        let version = app.session(&session_id).await.version;
        for other in [Method::ApplyMove, Method::Resign, Method::Delete].into_iter().filter(|&other| other != first_method) {
            let refusal = ask(&app, other, &session_id, "first", 0).await.expect("a request").expect_err("another method");
            assert_eq!(refusal.reason, "REQUEST_ID_REUSED", "{first_method:?}, then {other:?}");
        }
        assert_eq!(app.session(&session_id).await.version, version);
    }
    // In another session it is free.
    let id = app.create("gore").await;
    body(app.sessions().apply_move(proto::ApplyMoveRequest { request_id: "first".to_owned(), ..apply(&id, "0") }).await);
}
