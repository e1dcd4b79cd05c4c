//! Game clocks and retention are looked after by all replicas at once, and each thing is done once.

use crate::fleet::{Fleet, blocking};
use crate::form::by_form;
use crate::postgres::Cluster;
use crate::replica::Settings;
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

/// A session in which both seats have moved, so that South's clock runs, and in which nobody moves any more.
async fn leave_running(fleet: &Fleet, number: u32) {
    let session_id = format!("left-{number}");
    let at = |attempt: u32| fleet.replica((number + attempt) as usize % fleet.len()).sessions();
    let duration = |time: Duration| Some(prost_types::Duration { seconds: 0, nanos: time.as_nanos() as i32 });
    let clock = proto::TotalTime { main: duration(TIME), increment: duration(Duration::ZERO) };
    let create = proto::CreateSessionRequest {
        session_id: session_id.clone(),
        game: "ayoayo".to_owned(),
        clock: Some(proto::ClockSetting { kind: Some(Kind::Total(clock)) }),
        ..Default::default()
    };
    at(0).create_session(create).await.expect("a session");
    for (attempt, mv) in [(1, "2"), (2, "6")] {
        let r#move = Some(proto::Move { kind: None, text: mv.to_owned() });
        let play = proto::ApplyMoveRequest { session_id: session_id.clone(), r#move, ..Default::default() };
        at(attempt).apply_move(play).await.expect("a move");
    }
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
            leave_running(&fleet, number).await;
        }
    };
    let following = async {
        while stories.values().filter(|story| story.deleted > 0).count() < sessions as usize {
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
