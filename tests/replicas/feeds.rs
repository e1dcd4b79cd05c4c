//! The feed of a database, from one replica to the next.

use crate::fleet::{Fleet, blocking};
use crate::postgres::Cluster;
use mancala::wire::proto::{ApplyMoveRequest, CreateSessionRequest, Move, WatchSessionsRequest, WatchSessionsResponse};
use std::time::Duration;
use tokio::time::timeout;
use tonic::Streaming;

async fn follow(fleet: &Fleet, place: usize, cursor: &str) -> Streaming<WatchSessionsResponse> {
    let request = WatchSessionsRequest { cursor: cursor.to_owned(), ..Default::default() };
    fleet.replica(place).sessions().watch_sessions(request).await.expect("a feed").into_inner()
}

/// The next message that bears changes: their sessions with the versions that they have come to, and the cursor.
async fn next(feed: &mut Streaming<WatchSessionsResponse>) -> (Vec<(String, u32)>, String) {
    loop {
        let message = timeout(Duration::from_secs(30), feed.message()).await.expect("news in time");
        let WatchSessionsResponse { changes, cursor, .. } = message.expect("the feed goes on").expect("the feed goes on");
        if !changes.is_empty() {
            return (changes.into_iter().map(|change| (change.session_id, change.version)).collect(), cursor);
        }
    }
}

/// Of sessions whose ids the server has made, and of one whose id is as long as ids may be: a cursor bears the session's id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_goes_on_at_another_replica_where_it_was_left() {
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::direct(&cluster.url(&database), 2, &[]);
    let mut feed = follow(&fleet, 0, "").await;
    // From now on: what this says first is that it is registered.
    feed.message().await.expect("a feed").expect("a feed");
    let mut cursors = Vec::new();
    for session_id in [String::new(), "x".repeat(63)] {
        let create = CreateSessionRequest { game: "ayoayo".to_owned(), session_id, ..Default::default() };
        let made = fleet.replica(1).sessions().create_session(create).await.expect("a session").into_inner();
        let session_id = made.session.expect("a session").session_id;
        let (changes, cursor) = next(&mut feed).await;
        assert_eq!(changes, [(session_id.clone(), 1)]);
        let r#move = Some(Move { kind: None, text: "2".to_owned() });
        let play = ApplyMoveRequest { session_id: session_id.clone(), r#move, ..Default::default() };
        fleet.replica(1).sessions().apply_move(play).await.expect("a move");
        cursors.push((session_id, cursor));
        next(&mut feed).await;
    }
    drop(feed);
    for (session_id, cursor) in cursors {
        let (changes, _) = next(&mut follow(&fleet, 1, &cursor).await).await;
        assert_eq!(changes[0], (session_id, 2), "{cursor}");
    }
}
