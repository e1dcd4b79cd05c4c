//! WatchSession: what it tells, and when.

use crate::app::{App, PATIENCE, body, faulty_fields, refusal};
use mancala::wire::proto::event::Body;
use mancala::wire::proto::{self, Event, WatchSessionRequest, WatchSessionResponse};
use std::time::Duration;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

pub type Watch = Streaming<WatchSessionResponse>;

pub fn after(session_id: &str, after_version: impl Into<Option<u32>>) -> WatchSessionRequest {
    WatchSessionRequest { session_id: session_id.to_owned(), after_version: after_version.into(), ..Default::default() }
}

pub async fn watch(app: &App, request: WatchSessionRequest) -> Watch {
    body(app.sessions().watch_session(request).await)
}

pub async fn next(watch: &mut Watch) -> WatchSessionResponse {
    try_next(watch).await.unwrap_or_else(|status| panic!("{status:?}"))
}

/// The next message, or what the watch ended with.
pub async fn try_next(watch: &mut Watch) -> Result<WatchSessionResponse, Status> {
    let message = timeout(PATIENCE, watch.message()).await.expect("a message in time")?;
    Ok(message.expect("a watch ends with a status"))
}

/// Events of a watch until a version.
async fn until(watch: &mut Watch, version: u32) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let message = next(watch).await;
        events.extend(message.events);
        assert_eq!(events.last().map_or(message.version, |event| event.version), message.version);
        if message.version >= version {
            return events;
        }
    }
}

#[tokio::test]
async fn a_watch_tells_what_was_and_then_what_happens() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    app.play(&id, "0").await;
    let mut watch = watch(&app, after(&id, None)).await;
    let first = next(&mut watch).await;
    assert_eq!(first.events, app.events(&id, 10, false).await);
    assert_eq!((first.version, first.current_version, first.session), (2, 2, None));
    assert!(matches!(first.events[0].body, Some(Body::Created(proto::SessionCreated { session: Some(_) }))));
    let played = app.play(&id, "6").await;
    let news = next(&mut watch).await;
    assert_eq!((news.events.len(), news.version), (1, played.version));
    assert_eq!(news.events, app.events(&id, 10, false).await[2..]);
}

#[tokio::test]
async fn a_watch_begins_where_it_is_told_to() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    for mv in ["0", "6", "1"] {
        app.play(&id, mv).await;
    }
    let all = app.events(&id, 10, false).await;
    for version in 0..=4 {
        let mut resumed = watch(&app, after(&id, version)).await;
        let message = next(&mut resumed).await;
        assert_eq!(message.events, all[version as usize..], "after {version}");
        assert_eq!(message.version, 4);
    }
    let refused = refusal(app.sessions().watch_session(after(&id, 5)).await);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::OutOfRange, "VERSION_AHEAD"));
    assert_eq!((refused.fact("asked_version"), refused.fact("current_version")), ("5", "4"));
}

#[tokio::test]
async fn a_snapshot_is_of_the_version_that_the_events_follow() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    for mv in ["0", "6", "1"] {
        app.play(&id, mv).await;
    }
    let mut now = watch(&app, WatchSessionRequest { include_snapshot: true, ..after(&id, None) }).await;
    let first = next(&mut now).await;
    assert_eq!((first.session, first.events, first.version), (Some(app.session(&id).await), vec![], 4));
    let mut then = watch(&app, WatchSessionRequest { include_snapshot: true, ..after(&id, 2) }).await;
    let first = next(&mut then).await;
    assert_eq!(first.session, Some(app.session_at(&id, 2).await));
    assert_eq!(first.events, app.events(&id, 10, false).await[2..]);
    app.play(&id, "7").await;
    assert_eq!(next(&mut now).await.events, next(&mut then).await.events);
    let before_all = WatchSessionRequest { include_snapshot: true, ..after(&id, 0) };
    assert_eq!(faulty_fields(app.sessions().watch_session(before_all).await), ["after_version"]);
}

#[tokio::test]
async fn steps_are_borne_if_asked_for_and_as_the_list_of_events_bears_them() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let request = WatchSessionRequest { include_steps: true, ..after(&id, None) };
    let mut watches = vec![watch(&app, request.clone()).await, watch(&app, request).await, watch(&app, after(&id, None)).await];
    app.play(&id, "0").await;
    let (with, without) = (app.events(&id, 10, true).await, app.events(&id, 10, false).await);
    assert_ne!(with, without);
    let plain = until(&mut watches.pop().expect("three"), 2).await;
    assert_eq!(plain, without);
    for mut watch in watches {
        assert_eq!(until(&mut watch, 2).await, with);
    }
}

#[tokio::test]
async fn events_of_one_change_come_in_one_message() {
    let app = App::start().await;
    let request = proto::CreateSessionRequest { game: "ayoayo".to_owned(), rounds: 2, ..Default::default() };
    let id = app.make(request).await.session_id;
    let mut live = watch(&app, after(&id, None)).await;
    assert_eq!(next(&mut live).await.version, 1);
    // Enough of them that they don't fit into one message.
    for round in 0..60 {
        let resign = proto::ResignRequest { session_id: id.clone(), r#match: round == 59, ..Default::default() };
        let kind = proto::ProposalKind::Draw.into();
        if round < 59 {
            let propose = proto::ProposeRequest { session_id: id.clone(), kind, ..Default::default() };
            body(app.sessions().propose(propose).await);
            let withdraw = proto::WithdrawProposalRequest { session_id: id.clone(), kind, ..Default::default() };
            body(app.sessions().withdraw_proposal(withdraw).await);
            let mv = app.legal_moves(&id).await[0].clone();
            app.play(&id, &mv).await;
        } else {
            body(app.sessions().resign(resign).await);
        }
        app.clock.advance(1);
    }
    let version = app.session(&id).await.version;
    let ended = |event: &Event| matches!(event.body, Some(Body::Ended(_)));
    let mut late = watch(&app, after(&id, None)).await;
    for watch in [&mut live, &mut late] {
        loop {
            let message = next(watch).await;
            let end = message.events.iter().position(ended);
            if let Some(end) = end {
                let resigned = message.events.iter().position(|event| matches!(event.body, Some(Body::Resigned(_))));
                assert!(resigned.is_some_and(|resigned| resigned < end), "{message:?}");
                assert_eq!(message.version, version);
                break;
            }
            assert!(!message.events.iter().any(|event| matches!(event.body, Some(Body::Resigned(_)))));
        }
    }
}

#[tokio::test]
async fn a_long_history_comes_whole_and_in_order() {
    let app = App::start().await;
    let id = app.create("gore").await;
    while app.session(&id).await.version < 330 {
        for _ in 0..20 {
            let sample = proto::SampleMovesRequest { session_id: id.clone(), ..Default::default() };
            let Some(mv) = body(app.sessions().sample_moves(sample).await).moves.pop() else { break };
            app.play(&id, &mv.text).await;
            app.clock.advance(1);
        }
    }
    let all = app.events(&id, 1_000, false).await;
    let mut watch = watch(&app, after(&id, None)).await;
    assert_eq!(until(&mut watch, all.len() as u32).await, all);
}

#[tokio::test]
async fn a_watch_of_nothing_is_refused_and_that_of_a_deleted_session_ends() {
    let app = App::start().await;
    let refused = refusal(app.sessions().watch_session(after("nosuch", None)).await);
    assert_eq!(refused.reason, "SESSION_NOT_FOUND");
    assert_eq!(faulty_fields(app.sessions().watch_session(after("?", None)).await), ["session_id"]);
    let id = app.create("gore").await;
    let mut watch = watch(&app, after(&id, None)).await;
    assert_eq!(next(&mut watch).await.version, 1);
    let delete = proto::DeleteSessionRequest { session_id: id.clone(), ..Default::default() };
    body(app.sessions().delete_session(delete).await);
    let ended = refusal(try_next(&mut watch).await.map(tonic::Response::new));
    assert_eq!((ended.reason.as_str(), ended.fact("session_id")), ("SESSION_NOT_FOUND", id.as_str()));
}

#[tokio::test]
async fn a_session_has_so_many_watches_and_no_more() {
    let app = App::with_streams(|streams| streams.watches_per_session = 2).await;
    let id = app.create("gore").await;
    let mut first = watch(&app, after(&id, None)).await;
    let second = watch(&app, after(&id, None)).await;
    let refused = refusal(app.sessions().watch_session(after(&id, None)).await);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "TOO_MANY_WATCHES"));
    assert_eq!(refused.fact("most"), "2");
    // Another session has its own, and a watch that ends makes room.
    let other = app.create("gore").await;
    watch(&app, after(&other, None)).await;
    drop(second);
    timeout(PATIENCE, async {
        while app.service.watchers() != (1, 1) {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("what is dropped is noticed");
    let mut third = watch(&app, after(&id, None)).await;
    app.play(&id, "0").await;
    assert_eq!(until(&mut first, 2).await, until(&mut third, 2).await);
}

#[tokio::test]
async fn time_that_runs_out_is_told_though_nobody_looks() {
    let app = App::start().await;
    let per_move = proto::clock_setting::Kind::PerMove(prost_types::Duration { seconds: 1, nanos: 0 });
    let clock = Some(proto::ClockSetting { kind: Some(per_move) });
    let id = app.make(proto::CreateSessionRequest { game: "gore".to_owned(), clock, ..Default::default() }).await.session_id;
    app.play(&id, "0").await;
    let mut watch = watch(&app, after(&id, 2)).await;
    assert_eq!(next(&mut watch).await.version, 2);
    let keeper = tokio::spawn(app.service.clone().keep_time(Duration::from_millis(5)));
    app.play(&id, &app.legal_moves(&id).await[0]).await;
    app.clock.advance(5_000_000);
    let events = until(&mut watch, 4).await;
    keeper.abort();
    assert!(events.iter().any(|event| matches!(event.body, Some(Body::TimedOut(_)))), "{events:?}");
}

/// However many have fallen behind or look for no reason, those who keep up need not wait for them.
#[tokio::test]
async fn who_keeps_up_waits_for_nobody() {
    let app = App::start().await;
    let id = app.create("ayoayo").await;
    let watch = || app.service.watch(&id, 100).expect("room");
    let mut behind = Vec::new();
    let mut turns = Vec::new();
    while let Ok(turn) = timeout(Duration::from_millis(50), watch().turn(0)).await {
        turns.push(turn.expect("it was told of nothing, and looks because it is time to"));
        behind.push(watch());
        assert!(turns.len() < 100, "turns without end");
    }
    let mut prompt = watch();
    let version = app.play(&id, "0").await.version;
    let told = timeout(PATIENCE, async {
        prompt.changed().await;
        assert!(prompt.turn(version - 1).await.is_none(), "it keeps up");
        prompt.news(version - 1, false).await.expect("news")
    });
    assert_eq!(told.await.expect("at once").version, version);
    // A turn that ends is the next one's.
    turns.pop();
    timeout(PATIENCE, behind[0].turn(version)).await.expect("in time").expect("a turn");
}
