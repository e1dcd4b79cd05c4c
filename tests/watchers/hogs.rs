//! Callers that ask for much and take nothing: nobody else may wait for them.

use crate::app::{App, PATIENCE, body};
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, PlayRequest, WatchSessionRequest};
use std::time::Duration;
use tokio::time::timeout;

/// Far longer than a move takes, and far shorter than it takes until those who take nothing are cut.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_nothing_keeps_nobody_waiting() {
    let app = App::start().await;
    let id =
        app.make(proto::CreateSessionRequest { game: "gore".to_owned(), rounds: 100, ..Default::default() }).await.session_id;
    let endpoint = app.endpoint().initial_stream_window_size(64).initial_connection_window_size(1 << 20);
    let mut client = SessionServiceClient::new(endpoint.connect().await.expect("a connection"));
    let request = WatchSessionRequest { session_id: id.clone(), include_steps: true, ..Default::default() };
    let mut held = Vec::new();
    for _ in 0..50 {
        held.push(body(client.watch_session(request.clone()).await));
    }
    let mut playing = Vec::new();
    for _ in 0..8 {
        let read = Command::GetSession(proto::GetSessionRequest { session_id: id.clone(), version: None });
        let request = PlayRequest { command_id: "read".to_owned(), command: Some(read) };
        let requests = tokio_stream::iter(std::iter::repeat_n(request, 3_000));
        playing.push(body(client.play(requests).await));
    }
    let mut watch = body(app.sessions().watch_session(WatchSessionRequest { include_steps: false, ..request }).await);
    let mut at = 0;
    for seed in 0..60 {
        let moved = timeout(SOON, async {
            let sample = proto::SampleMovesRequest { session_id: id.clone(), count: 1, seed };
            let mv = body(app.sessions().sample_moves(sample).await).moves.pop().expect("a move");
            app.play(&id, &mv.text).await.version
        });
        let version = moved.await.expect("a move does not wait for them");
        while at < version {
            let news = timeout(SOON, watch.message()).await.expect("a watcher does not wait for them");
            at = news.expect("no failure").expect("no end").version;
        }
        app.clock.advance(1);
    }
    // What they have asked for is still there for them.
    let mut first = held.pop().expect("a watch");
    let mut seen = 0;
    while seen < at {
        let news = timeout(PATIENCE, first.message()).await.expect("news").expect("no failure").expect("no end");
        assert_eq!(news.events.first().map(|event| event.version), Some(seen + 1));
        seen = news.version;
    }
    let mut replies = playing.pop().expect("a stream");
    for _ in 0..3_000 {
        let reply = timeout(PATIENCE, replies.message()).await.expect("a reply").expect("no failure").expect("no end");
        assert!(matches!(reply.reply, Some(proto::play_response::Reply::GetSession(_))), "{reply:?}");
    }
}
