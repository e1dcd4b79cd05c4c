//! WatchSessions: everything that happens to many sessions, at least once.

use crate::app::{App, PATIENCE, body, faulty_fields, refusal};
use mancala::wire::proto::{self, Event, WatchSessionsRequest, WatchSessionsResponse};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;
use tonic::{Code, Response, Status, Streaming};

type Feed = Streaming<WatchSessionsResponse>;

fn from_start() -> WatchSessionsRequest {
    WatchSessionsRequest { from_start: true, ..Default::default() }
}

fn from(cursor: &str) -> WatchSessionsRequest {
    WatchSessionsRequest { cursor: cursor.to_owned(), ..Default::default() }
}

async fn follow(app: &App, request: WatchSessionsRequest) -> Feed {
    body(app.sessions().watch_sessions(request).await)
}

async fn try_next(feed: &mut Feed) -> Result<WatchSessionsResponse, Status> {
    let message = timeout(PATIENCE, feed.message()).await.expect("a message in time")?;
    Ok(message.expect("a watch ends with a status"))
}

async fn next(feed: &mut Feed) -> WatchSessionsResponse {
    try_next(feed).await.unwrap_or_else(|status| panic!("{status:?}"))
}

/// What a watcher knows of each session: all its events, or none if it was deleted.
#[derive(Debug, Default, PartialEq)]
struct Copy(BTreeMap<String, Vec<Event>>);

impl Copy {
    /// Takes a message in, of which some may have come before.
    fn take(&mut self, message: WatchSessionsResponse) -> String {
        for change in message.changes {
            if change.deleted {
                assert_eq!(change.events, []);
                self.0.remove(&change.session_id);
                continue;
            }
            assert_eq!(change.events.last().expect("events").version, change.version);
            let known = self.0.entry(change.session_id).or_default();
            for event in change.events {
                match known.get(event.version as usize - 1) {
                    Some(before) => assert_eq!(*before, event, "what comes twice is the same"),
                    None => {
                        assert_eq!(event.version as usize, known.len() + 1, "no gap");
                        known.push(event);
                    }
                }
            }
        }
        message.cursor
    }

    /// Takes messages in until nothing follows.
    async fn catch_up(&mut self, feed: &mut Feed) -> String {
        loop {
            let message = next(feed).await;
            let caught_up = message.caught_up;
            let cursor = self.take(message);
            if caught_up {
                return cursor;
            }
        }
    }

    async fn assert_is(&self, app: &App, sessions: &[&String]) {
        assert_eq!(self.0.keys().collect::<Vec<_>>(), sessions);
        for (id, events) in &self.0 {
            assert_eq!(*events, app.events(id, 1_000, false).await, "{id}");
        }
    }
}

async fn some_play(app: &App, id: &str, plies: u32) {
    for seed in 0..plies {
        let sample = proto::SampleMovesRequest { session_id: id.to_owned(), seed, ..Default::default() };
        let Some(mv) = body(app.sessions().sample_moves(sample).await).moves.pop() else { break };
        app.play(id, &mv.text).await;
    }
}

#[tokio::test]
async fn a_feed_tells_all_that_is_stored_and_what_follows() {
    let app = App::start().await;
    let mut ids = Vec::new();
    for game in ["gore", "ayoayo", "kiothi", "ali_guli_mane", "hoyito3"] {
        ids.push(app.create(game).await);
    }
    for plies in [30, 1, 40] {
        for id in &ids {
            some_play(&app, id, plies).await;
        }
    }
    let mut copy = Copy::default();
    let mut feed = follow(&app, from_start()).await;
    copy.catch_up(&mut feed).await;
    let mut sorted: Vec<_> = ids.iter().collect();
    sorted.sort();
    copy.assert_is(&app, &sorted).await;
    // Then as it happens.
    let new = app.create("gore").await;
    app.play(&new, "0").await;
    while copy.0.get(&new).is_none_or(|events| events.len() < 2) {
        copy.take(next(&mut feed).await);
    }
    sorted.push(&new);
    sorted.sort();
    copy.assert_is(&app, &sorted).await;
}

#[tokio::test]
async fn without_a_cursor_a_feed_begins_now() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let mut feed = follow(&app, WatchSessionsRequest::default()).await;
    let first = next(&mut feed).await;
    assert!(first.changes.is_empty() && first.caught_up && !first.cursor.is_empty(), "{first:?}");
    app.play(&id, "0").await;
    let news = next(&mut feed).await;
    assert_eq!((news.changes.len(), news.changes[0].version, news.changes[0].events.len()), (1, 2, 1));
    // What the first message's cursor stands for is just before that.
    let mut again = follow(&app, from(&first.cursor)).await;
    assert_eq!(next(&mut again).await.changes, news.changes);
}

#[tokio::test]
async fn a_cursor_lasts_across_restarts_and_loses_nothing() {
    let app = App::start().await;
    let kept = app.create("ayoayo").await;
    let gone = app.create("gore").await;
    let mut copy = Copy::default();
    let cursor = copy.catch_up(&mut follow(&app, from_start()).await).await;
    // The newest session goes, and with it the end of what is stored: what is stored then must not take its place.
    let delete = proto::DeleteSessionRequest { session_id: gone.clone(), ..Default::default() };
    body(app.sessions().delete_session(delete).await);
    let app = app.restart().await;
    let new = app.create("gore").await;
    some_play(&app, &kept, 5).await;
    let app = app.restart().await;
    copy.catch_up(&mut follow(&app, from(&cursor)).await).await;
    let mut sorted = vec![&kept, &new];
    sorted.sort();
    copy.assert_is(&app, &sorted).await;
    // Who comes late is told of the deletion too, and of nothing else of that session.
    let mut late = Copy::default();
    late.catch_up(&mut follow(&app, from_start()).await).await;
    assert_eq!(late, copy);
}

#[tokio::test]
async fn a_feed_bears_only_the_sessions_that_are_asked_for() {
    let app = App::start().await;
    let make = |game: &str, team: &str, player: &str| proto::CreateSessionRequest {
        game: game.to_owned(),
        labels: [("team".to_owned(), team.to_owned())].into(),
        seats: vec![proto::SeatSetup { seat: 1, player: player.to_owned(), ..Default::default() }],
        ..Default::default()
    };
    let red = app.make(make("gore", "red", "ann")).await.session_id;
    let blue = app.make(make("gore", "blue", "bob")).await.session_id;
    let other = app.make(make("ayoayo", "red", "bob")).await.session_id;
    let ask = |game: &str, team: Option<&str>, filter: &str| WatchSessionsRequest {
        game: game.to_owned(),
        labels: team.map(|team| ("team".to_owned(), team.to_owned())).into_iter().collect(),
        filter: filter.to_owned(),
        ..from_start()
    };
    for (request, expected) in [
        (ask("gore", None, ""), vec![&red, &blue]),
        (ask("", Some("red"), ""), vec![&red, &other]),
        (ask("gore", Some("red"), ""), vec![&red]),
        (ask("", None, "player = bob"), vec![&blue, &other]),
        (ask("", None, "south.player = ann AND labels.team = red"), vec![&red]),
        (ask("", None, "north.player = ann"), vec![]),
    ] {
        let mut copy = Copy::default();
        copy.catch_up(&mut follow(&app, request.clone()).await).await;
        let mut expected = expected;
        expected.sort();
        assert_eq!(copy.0.keys().collect::<Vec<_>>(), expected, "{request:?}");
    }
    // A deletion is told to those who followed the session, by what it was.
    let mut reds = follow(&app, ask("", Some("red"), "")).await;
    let mut blues = follow(&app, ask("", Some("blue"), "")).await;
    next(&mut reds).await;
    next(&mut blues).await;
    for id in [&red, &blue] {
        body(app.sessions().delete_session(proto::DeleteSessionRequest { session_id: id.clone(), ..Default::default() }).await);
    }
    for (feed, id) in [(&mut reds, &red), (&mut blues, &blue)] {
        let news = next(feed).await;
        assert_eq!((news.changes.len(), &news.changes[0].session_id, news.changes[0].deleted), (1, id, true));
    }
}

#[tokio::test]
async fn sessions_are_borne_as_they_are_if_asked_for() {
    let app = App::start().await;
    let id = app.create("gore").await;
    app.play(&id, "0").await;
    let mut feed = follow(&app, WatchSessionsRequest { include_sessions: true, ..from_start() }).await;
    assert_eq!(next(&mut feed).await.changes[0].session, Some(app.session(&id).await));
}

#[tokio::test]
async fn what_can_not_be_followed_is_refused_by_its_field() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let filter = |filter: &str| WatchSessionsRequest { filter: filter.to_owned(), ..Default::default() };
    for (request, fields) in [
        (filter("state = ACTIVE"), vec!["filter"]),
        (filter("update_time > \"2026-01-01T00:00:00Z\""), vec!["filter"]),
        (filter("game ="), vec!["filter"]),
        (filter("game = gore AND game = ayoayo"), vec!["filter"]),
        (WatchSessionsRequest { game: "chess".to_owned(), ..Default::default() }, vec!["game"]),
        (WatchSessionsRequest { labels: [(String::new(), String::new())].into(), ..Default::default() }, vec!["labels"]),
        (from(&"1".repeat(257)), vec!["cursor"]),
        (WatchSessionsRequest { from_start: true, ..from("1") }, vec!["from_start"]),
    ] {
        assert_eq!(faulty_fields(app.sessions().watch_sessions(request.clone()).await), fields, "{request:?}");
    }
    app.play(&id, "0").await;
    for cursor in ["3", "-1", "x", "99999999999999999999"] {
        let refused = refusal(app.sessions().watch_sessions(from(cursor)).await);
        assert_eq!((refused.code, refused.reason.as_str()), (Code::OutOfRange, "CURSOR_UNKNOWN"), "{cursor}");
    }
    next(&mut follow(&app, from("2")).await).await;
}

#[tokio::test]
async fn a_feed_lives_and_ends_as_watches_do() {
    let app = App::with_streams(|streams| {
        streams.heartbeat = Duration::from_millis(40);
        streams.longest = Duration::from_millis(400);
    })
    .await;
    app.create("gore").await;
    let mut feed = follow(&app, WatchSessionsRequest::default()).await;
    let (mut beats, mut cursor) = (0, String::new());
    let ended = loop {
        match try_next(&mut feed).await {
            Ok(message) => {
                assert_eq!((message.changes.len(), message.caught_up), (0, true));
                assert!(cursor.is_empty() || message.cursor == cursor, "nothing has happened");
                cursor = message.cursor;
                beats += 1;
            }
            Err(status) => break refusal(Err::<Response<()>, _>(status)),
        }
    };
    assert!(beats >= 3, "{beats}");
    assert_eq!((ended.reason.as_str(), ended.fact("resume_after")), ("STREAM_AGED", cursor.as_str()));
    let mut feed = follow(&app, WatchSessionsRequest::default()).await;
    next(&mut feed).await;
    app.stopping.send_replace(true);
    while try_next(&mut feed).await.is_ok() {}
}
