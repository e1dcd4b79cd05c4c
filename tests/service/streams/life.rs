//! How streams live and end.

use super::watch::{after, next, try_next, watch};
use crate::app::{App, PATIENCE, refusal};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tonic::{Code, Response};

#[tokio::test]
async fn a_watch_without_news_shows_that_it_lives() {
    let app = App::with_streams(|streams| streams.heartbeat = Duration::from_millis(50)).await;
    let id = app.create("gore").await;
    let mut watch = watch(&app, after(&id, 1)).await;
    for beat in 0..3 {
        app.clock.advance(1_000_000);
        let message = next(&mut watch).await;
        assert_eq!((message.events.len(), message.version, message.current_version), (0, 1, 1));
        let time = message.server_time.expect("a time");
        assert!(time.seconds >= 1_600_000_000 + beat, "{time}");
    }
}

#[tokio::test]
async fn a_beat_finds_what_nobody_has_told_of() {
    let app = App::with_streams(|streams| streams.heartbeat = Duration::from_millis(50)).await;
    let id = app.create("gore").await;
    let mut watch = watch(&app, after(&id, 1)).await;
    next(&mut watch).await;
    // Other users of the same store: their news reach nobody here.
    let elsewhere = mancala::service::Sessions::new(app.store.clone(), app.clock.clone(), 1);
    let target = mancala::service::Target {
        session_id: id.clone(),
        expected_version: None,
        request_id: None,
        credential: mancala::session::Credential::Trusted,
    };
    let resign = mancala::session::Command::Resign { seat: None, whole_match: true };
    elsewhere.apply(target, resign, false, |_| ()).await.expect("resigned");
    let found = timeout(PATIENCE, async {
        loop {
            let message = next(&mut watch).await;
            if !message.events.is_empty() {
                return message;
            }
        }
    });
    assert_eq!(found.await.expect("found").events[0].version, 2);
}

#[tokio::test]
async fn a_watch_ends_at_its_age_with_where_to_resume() {
    let app = App::with_streams(|streams| streams.longest = Duration::from_millis(300)).await;
    let id = app.create("gore").await;
    app.play(&id, "0").await;
    let begun = Instant::now();
    let mut watch = watch(&app, after(&id, None)).await;
    assert_eq!(next(&mut watch).await.version, 2);
    let ended = refusal(try_next(&mut watch).await.map(Response::new));
    assert_eq!((ended.code, ended.reason.as_str(), ended.fact("resume_after")), (Code::Unavailable, "STREAM_AGED", "2"));
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_watch_that_always_has_news_ends_at_its_age_too() {
    let app = App::with_streams(|streams| streams.longest = Duration::from_millis(300)).await;
    let id = app.create("gore").await;
    let mut watch = watch(&app, after(&id, None)).await;
    let mut seen = 0;
    let ended = loop {
        match try_next(&mut watch).await {
            Ok(message) => seen = message.version,
            Err(status) => break refusal(Err::<Response<()>, _>(status)),
        }
        let sample = mancala::wire::proto::SampleMovesRequest { session_id: id.clone(), ..Default::default() };
        if let Some(mv) = crate::app::body(app.sessions().sample_moves(sample).await).moves.pop() {
            app.play(&id, &mv.text).await;
        }
    };
    assert_eq!((ended.reason.as_str(), ended.fact("resume_after")), ("STREAM_AGED", seen.to_string().as_str()));
}

#[tokio::test]
async fn watches_end_when_the_server_stops_one_after_the_other() {
    let app = App::with_streams(|streams| streams.stop_within = Duration::from_millis(400)).await;
    let id = app.create("gore").await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        let mut watch = watch(&app, after(&id, None)).await;
        next(&mut watch).await;
        watches.push(watch);
    }
    let stopped = Instant::now();
    app.stopping.send_replace(true);
    let mut ends = Vec::new();
    for mut watch in watches {
        ends.push(tokio::spawn(async move {
            let ended = refusal(try_next(&mut watch).await.map(Response::new));
            (ended.reason.clone(), ended.fact("resume_after").to_owned(), stopped.elapsed())
        }));
    }
    let mut times = Vec::new();
    for end in ends {
        let (reason, resume_after, time) = end.await.expect("no panic");
        assert_eq!((reason.as_str(), resume_after.as_str()), ("STREAM_STOPPING", "1"));
        times.push(time);
    }
    times.sort();
    // At once for some and late for others, whoever began when.
    assert!(times[0] < Duration::from_millis(200) && times[19] >= Duration::from_millis(200), "{times:?}");
    // A watch that begins then ends as well.
    let mut late = watch(&app, after(&id, None)).await;
    while let Ok(message) = try_next(&mut late).await {
        assert_eq!(message.version, 1);
    }
}

#[tokio::test]
async fn a_stream_lasts_no_longer_than_its_caller_said() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let mut request = tonic::Request::new(after(&id, None));
    request.metadata_mut().insert("grpc-timeout", "300m".parse().expect("a value"));
    let begun = Instant::now();
    let mut watch = crate::app::body(app.sessions().watch_session(request).await);
    next(&mut watch).await;
    let ended = refusal(try_next(&mut watch).await.map(Response::new));
    assert_eq!((ended.code, ended.reason.as_str()), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"));
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
}
