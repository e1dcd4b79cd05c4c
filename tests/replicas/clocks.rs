//! Game clocks and retention are looked after by all replicas at once, and each thing is done once.

use crate::fleet::{Fleet, blocking};
use crate::form::by_form;
use crate::postgres::Cluster;
use crate::replica::{Replica, Settings};
use mancala::wire::proto::clock_setting::Kind;
use mancala::wire::proto::event::Body;
use mancala::wire::proto::{self, SessionChange, WatchSessionsRequest};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Finished sessions go as soon as may be.
const SHORT_LIVED: Settings<'static> =
    &[("MANCALA_RETENTION__FINISHED", "1s"), ("MANCALA_RETENTION__NOTICE", "1s"), ("MANCALA_RETENTION__SWEEP_EVERY", "1s")];
/// Each seat's time for the game.
const TIME: Duration = Duration::from_millis(300);

/// What has happened to a session by itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Story {
    timed_out: u32,
    rounds_ended: u32,
    ended: u32,
    expiring: u32,
    deleted: u32,
    /// Versions in the order in which they were told.
    versions: Vec<u32>,
}

impl Story {
    fn take_in(&mut self, change: SessionChange) {
        self.deleted += u32::from(change.deleted);
        for event in change.events {
            self.versions.push(event.version);
            match event.body.expect("an event") {
                Body::TimedOut(_) => self.timed_out += 1,
                Body::RoundEnded(_) => self.rounds_ended += 1,
                Body::Ended(_) => self.ended += 1,
                Body::Expiring(_) => self.expiring += 1,
                _ => {}
            }
        }
    }
}

/// A session in which both seats have moved, so that South's clock runs, and in which nobody moves any more: its three calls go to
/// these places. Gives when the last was sent.
async fn leave_running(fleet: &Fleet, session_id: &str, time: Duration, places: [usize; 3]) -> Instant {
    let at = |call: usize| fleet.replica(places[call] % fleet.len()).sessions();
    let duration = |time: Duration| prost_types::Duration::try_from(time).ok();
    let clock = proto::TotalTime { main: duration(time), increment: duration(Duration::ZERO) };
    let create = proto::CreateSessionRequest {
        session_id: session_id.to_owned(),
        game: "ayoayo".to_owned(),
        clock: Some(proto::ClockSetting { kind: Some(Kind::Total(clock)) }),
        ..Default::default()
    };
    at(0).create_session(create).await.expect("a session");
    let mut sent = Instant::now();
    for (call, mv) in [(1, "2"), (2, "6")] {
        let r#move = Some(proto::Move { kind: None, text: mv.to_owned() });
        let play = proto::ApplyMoveRequest { session_id: session_id.to_owned(), r#move, ..Default::default() };
        sent = Instant::now();
        at(call).apply_move(play).await.expect("a move");
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_end_once_and_sessions_expire_once() {
    let begun = Instant::now();
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let fleet = Fleet::direct(&cluster.url(&database), 3, SHORT_LIVED);
    let follow = WatchSessionsRequest { from_start: true, ..Default::default() };
    let mut feed = fleet.replica(0).sessions().watch_sessions(follow).await.expect("a feed").into_inner();
    let mut stories = BTreeMap::<String, Story>::new();
    let sessions = by_form(20, 2_000);
    let leaving = async {
        for number in 0..sessions {
            leave_running(&fleet, &format!("left-{number}"), TIME, [number, number + 1, number + 2]).await;
        }
    };
    let following = async {
        while stories.values().filter(|story| story.deleted > 0).count() < sessions {
            let news = timeout(Duration::from_secs(60), feed.message()).await.expect("news in time");
            for change in news.expect("the feed goes on").expect("the feed goes on").changes {
                stories.entry(change.session_id.clone()).or_default().take_in(change);
            }
        }
    };
    tokio::join!(leaving, following);
    for (session, story) in &stories {
        // Created, two moves, and what they have come to.
        let versions = (1..=story.versions.len() as u32).collect();
        let once = Story { timed_out: 1, rounds_ended: 1, ended: 1, expiring: 1, deleted: 1, versions };
        assert_eq!(*story, once, "{session}");
    }
    report!("{} sessions ended by time and expired once each, in {:?}", stories.len(), begun.elapsed());
}

/// By so much two clocks differ where they do.
const APART: Duration = Duration::from_secs(2);
/// Each seat's time for the game there.
const ENOUGH: Duration = Duration::from_secs(3);

/// One replica's clock is a second ahead, another's a second behind.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_end_once_and_no_earlier_than_clocks_differ() {
    use crate::sandbox::{build_preload, text};
    let cluster = blocking(Cluster::shared);
    let database = blocking(|| cluster.database());
    let (url, folder) = (cluster.url(&database), tempfile::TempDir::new().expect("a folder"));
    let fleet = Fleet::direct(&url, 3, &[]);
    let library = blocking(|| build_preload("jumping_clock", folder.path()));
    for (place, ahead) in [(1, "1"), (2, "-1")] {
        let file = folder.path().join(ahead);
        std::fs::write(&file, ahead).expect("a file");
        let settings = [("LD_PRELOAD", text(&library)), ("CLOCK_AHEAD", text(&file))];
        let replica = blocking(|| Replica::start(&url, &settings));
        replica.until_serving(true).await;
        fleet.replace(place, replica);
    }
    let follow = WatchSessionsRequest { from_start: true, ..Default::default() };
    let mut feed = fleet.replica(0).sessions().watch_sessions(follow).await.expect("a feed").into_inner();
    let (mut sent, mut stories, mut earliest) = (BTreeMap::new(), BTreeMap::<String, Story>::new(), Duration::MAX);
    for number in 0..by_form(12, 600) {
        let session = format!("apart-{number}");
        // All at one of them, or one after the other.
        let places = [0, 1, 2].map(|call| number + call * (number / 3 % 2));
        sent.insert(session.clone(), leave_running(&fleet, &session, ENOUGH, places).await);
        while sent.len().is_multiple_of(12) && stories.values().filter(|story| story.ended > 0).count() < sent.len() {
            let news = timeout(Duration::from_secs(60), feed.message()).await.expect("news in time");
            for change in news.expect("the feed goes on").expect("the feed goes on").changes {
                let (since, story) = (sent[&change.session_id].elapsed(), stories.entry(change.session_id.clone()).or_default());
                story.take_in(change);
                if story.timed_out > 0 {
                    earliest = earliest.min(since);
                }
            }
        }
    }
    let shown = async |place, session_id: &str| {
        let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version: None };
        fleet.replica(place).sessions().get_session(request).await.expect("an answer").into_inner()
    };
    // Of a session a server that is behind tells the time of its last event, which may be another server's.
    let time = async |place| {
        let listed = fleet.replica(place).sessions().list_sessions(proto::ListSessionsRequest::default()).await;
        listed.expect("an answer").into_inner().server_time.expect("a time")
    };
    // Asked one after the other.
    let [behind, ahead] = [time(2).await, time(1).await];
    assert!(ahead.seconds - behind.seconds >= 2, "the clocks differ: {behind:?} and {ahead:?}");
    // Whoever ends a round a second time does so by now.
    tokio::time::sleep(APART).await;
    for (session, story) in &stories {
        let version = shown(0, session).await.session.expect("a session").version;
        let once = Story { timed_out: 1, rounds_ended: 1, ended: 1, versions: (1..=version).collect(), ..Story::default() };
        assert_eq!(*story, once, "{session}");
    }
    report!(
        "{} sessions ended by time once each, at the earliest {earliest:?} after the last move, of {ENOUGH:?}",
        stories.len()
    );
    assert!(earliest >= ENOUGH - APART, "{earliest:?}");
}
