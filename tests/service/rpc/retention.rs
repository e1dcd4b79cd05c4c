//! Retention: sessions are announced to expire, kept if something happens to them, and deleted once.

use crate::app::{App, START, body, refusal};
use mancala::service::{Retention, Sessions, Swept};
use mancala::session::Micros;
use mancala::store::Store;
use mancala::wire::proto::{self, event::Body};
use prost_types::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Micros = 3_600_000_000;
const HOURS: Duration = Duration::from_secs(3_600);

/// Finished sessions are kept for an hour, aborted ones for two, abandoned ones for ten; a day's notice.
const RETENTION: Retention = Retention {
    finished: Some(HOURS),
    aborted: Some(HOURS.saturating_mul(2)),
    abandoned: Some(HOURS.saturating_mul(10)),
    notice: HOURS.saturating_mul(24),
};

fn swept(announced: usize, deleted: usize) -> Swept {
    Swept { announced, deleted }
}

fn time(micros: Micros) -> Option<Timestamp> {
    Some(Timestamp { seconds: micros / 1_000_000, nanos: 0 })
}

impl App {
    async fn sweep(&self) -> Swept {
        self.service.sweep(&RETENTION).await.expect("a sweep")
    }

    async fn resign(&self, session_id: &str) {
        let resign = proto::ResignRequest { session_id: session_id.to_owned(), ..Default::default() };
        body(self.sessions().resign(resign).await);
    }

    async fn abort(&self, session_id: &str) {
        let session_id = session_id.to_owned();
        let kind = proto::ProposalKind::Abort.into();
        let propose = proto::ProposeRequest { session_id: session_id.clone(), kind, ..Default::default() };
        body(self.sessions().propose(propose).await);
        let answer = proto::AnswerProposalRequest { session_id, kind, accept: true, ..Default::default() };
        body(self.sessions().answer_proposal(answer).await);
    }

    async fn is_there(&self, session_id: &str) -> bool {
        self.store.head(session_id).await.expect("head").is_some()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_state_has_its_time_and_then_its_notice() {
    let app = App::start().await;
    let (finished, aborted, active) = (app.create("gore").await, app.create("gore").await, app.create("gore").await);
    app.resign(&finished).await;
    app.abort(&aborted).await;
    for (after, id, expected_version) in [(HOUR, &finished, 5), (2 * HOUR, &aborted, 5), (10 * HOUR, &active, 2)] {
        app.clock.set(START + after - 1);
        assert_eq!(app.sweep().await, swept(0, 0), "not before its time");
        app.clock.set(START + after);
        assert_eq!(app.sweep().await, swept(1, 0));
        assert_eq!(app.sweep().await, swept(0, 0), "once");
        let session = app.session(id).await;
        assert_eq!(session.expire_time, time(START + after + 24 * HOUR));
        assert_eq!((session.version, session.update_time), (expected_version, time(START + after)));
        let last = app.events(id, 100, false).await.pop().expect("events");
        let Some(Body::Expiring(expiring)) = last.body else { panic!("{last:?}") };
        assert_eq!((last.version, expiring.expire_time), (expected_version, session.expire_time));
    }
    let listed = body(app.sessions().list_sessions(proto::ListSessionsRequest::default()).await).sessions;
    assert!(listed.iter().all(|session| session.expire_time.is_some()), "lists show it too");

    for (after, id) in [(25 * HOUR, &finished), (26 * HOUR, &aborted), (34 * HOUR, &active)] {
        app.clock.set(START + after - 1);
        assert_eq!(app.sweep().await, swept(0, 0), "not before the notice is over");
        assert!(app.is_there(id).await);
        app.clock.set(START + after);
        assert_eq!(app.sweep().await, swept(0, 1));
        assert!(!app.is_there(id).await);
        let get = proto::GetSessionRequest { session_id: id.clone(), version: None };
        assert_eq!(refusal(app.sessions().get_session(get).await).reason, "SESSION_NOT_FOUND");
        let again = proto::CreateSessionRequest { game: "gore".to_owned(), session_id: id.clone(), ..Default::default() };
        assert_eq!(refusal(app.sessions().create_session(again).await).reason, "SESSION_ID_TAKEN");
    }
    assert_eq!(app.sweep().await, swept(0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_ever_is_left_alone() {
    let app = App::start().await;
    let (finished, active) = (app.create("gore").await, app.create("gore").await);
    app.resign(&finished).await;
    app.clock.advance(100_000 * HOUR);
    let only_finished = Retention { aborted: None, abandoned: None, ..RETENTION };
    assert_eq!(app.service.sweep(&only_finished).await, Ok(swept(1, 0)));
    app.clock.advance(100_000 * HOUR);
    // Announced, but the operator has thought better of it.
    let none = Retention { finished: None, ..only_finished };
    assert_eq!(app.service.sweep(&none).await, Ok(swept(0, 0)));
    assert_eq!(app.service.sweep(&only_finished).await, Ok(swept(0, 1)));
    assert_eq!(app.session(&active).await.expire_time, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_to_a_session_keeps_it() {
    let app = App::start().await;
    let (moved, proposed, left) = (app.create("gore").await, app.create("gore").await, app.create("gore").await);
    app.clock.advance(10 * HOUR);
    assert_eq!(app.sweep().await, swept(3, 0));
    app.clock.advance(24 * HOUR - 1);
    app.play(&moved, "0").await;
    let kind = proto::ProposalKind::Draw.into();
    let propose = proto::ProposeRequest { session_id: proposed.clone(), kind, ..Default::default() };
    body(app.sessions().propose(propose).await);
    for id in [&moved, &proposed] {
        assert_eq!(app.session(id).await.expire_time, None);
        assert!(app.session_at(id, 2).await.expire_time.is_some(), "as it was");
    }
    app.clock.advance(1);
    assert_eq!(app.sweep().await, swept(0, 1));
    assert!(!app.is_there(&left).await);
    // Their time begins anew.
    app.clock.advance(10 * HOUR - 2);
    assert_eq!(app.sweep().await, swept(0, 0));
    app.clock.advance(1);
    assert_eq!(app.sweep().await, swept(2, 0));
    app.clock.advance(24 * HOUR);
    assert_eq!(app.sweep().await, swept(0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_takes_up_where_it_was() {
    let app = App::start().await;
    let id = app.create("gore").await;
    app.clock.advance(10 * HOUR);
    let app = app.restart().await;
    assert_eq!(app.sweep().await, swept(1, 0));
    let before = app.session(&id).await;
    let app = app.restart().await;
    assert_eq!(app.session(&id).await, before, "read from its events");
    assert_eq!(app.sweep().await, swept(0, 0), "it is not announced again");
    // Down for so long that all of the notice has passed.
    app.clock.advance(1_000 * HOUR);
    let app = app.restart().await;
    assert_eq!(app.sweep().await, swept(0, 1));
    assert!(!app.is_there(&id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_servers_on_one_store_do_each_step_once() {
    const SESSIONS: usize = 250;
    let app = App::start().await;
    for _ in 0..SESSIONS {
        app.create("gore").await;
    }
    let servers: Vec<_> = (0..3).map(|_| Sessions::new(app.store.clone() as Arc<dyn Store>, app.clock.clone(), 16)).collect();
    let all = async |expected: Swept| {
        let sweeps = tokio::join!(servers[0].sweep(&RETENTION), servers[1].sweep(&RETENTION), servers[2].sweep(&RETENTION));
        let sweeps = [sweeps.0, sweeps.1, sweeps.2].map(|sweep| sweep.expect("a sweep"));
        let sum = |count: fn(&Swept) -> usize| sweeps.iter().map(count).sum::<usize>();
        let mut done = swept(sum(|it| it.announced), sum(|it| it.deleted));
        // A server that finds all of a batch taken leaves the rest to the others; what was left over is for the next sweep.
        for server in &servers {
            let more = server.sweep(&RETENTION).await.expect("a sweep");
            done = swept(done.announced + more.announced, done.deleted + more.deleted);
        }
        assert_eq!(done, expected);
    };
    app.clock.advance(10 * HOUR);
    all(swept(SESSIONS, 0)).await;
    let mut request = proto::ListSessionsRequest { page_size: 1_000, ..Default::default() };
    let listed = body(app.sessions().list_sessions(request.clone()).await).sessions;
    assert_eq!(listed.len(), SESSIONS);
    assert!(listed.iter().all(|session| session.version == 2 && session.expire_time.is_some()), "one event each");
    app.clock.advance(24 * HOUR);
    all(swept(0, SESSIONS)).await;
    request.page_size = 1;
    assert_eq!(body(app.sessions().list_sessions(request).await).sessions.len(), 0);
}

/// A session whose time on the clock is out ends by that, and is then a finished one.
#[tokio::test(flavor = "multi_thread")]
async fn time_that_is_out_comes_before_the_announcement() {
    let app = App::start().await;
    let clock = proto::ClockSetting { kind: Some(proto::clock_setting::Kind::DaysPerMove(1)) };
    let new = proto::CreateSessionRequest { game: "gore".to_owned(), clock: Some(clock), ..Default::default() };
    let id = app.make(new).await.session_id;
    app.play(&id, "0").await;
    app.play(&id, "4").await;
    app.clock.advance(25 * HOUR);
    assert_eq!(app.sweep().await, swept(0, 0));
    assert_eq!(app.session(&id).await.state(), proto::SessionState::Finished);
    assert_eq!(app.sweep().await, swept(0, 0), "its hour begins with its end");
    app.clock.advance(HOUR);
    assert_eq!(app.sweep().await, swept(1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_read_does_not_hold_up_the_others() {
    let app = App::start().await;
    let good = app.create("gore").await;
    let mut head = app.store.head(&good).await.expect("head").expect("the session");
    // Before the good one in the sweep's order, and more of them than are swept at a time.
    for n in 0..150 {
        head.session_id = format!("bad-{n:03}");
        head.updated = START - 1;
        let bad = mancala::store::Create { head: head.clone(), events: vec!["{}".to_owned()], request: None };
        app.store.create(bad).await.expect("create");
    }
    app.clock.advance(10 * HOUR);
    assert_eq!(app.sweep().await, swept(1, 0));
    assert!(app.session(&good).await.expire_time.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_sweep_runs_by_itself() {
    let app = App::start().await;
    let id = app.create("gore").await;
    let sweep = tokio::spawn(app.service.clone().keep_swept(RETENTION, Duration::from_millis(5)));
    let patience = Instant::now() + crate::app::PATIENCE;
    app.clock.advance(10 * HOUR);
    while app.session(&id).await.expire_time.is_none() {
        assert!(Instant::now() < patience, "it is never announced");
    }
    app.clock.advance(24 * HOUR);
    while app.is_there(&id).await {
        assert!(Instant::now() < patience, "it is never deleted");
    }
    sweep.abort();
    assert!(sweep.await.expect_err("it runs without end").is_cancelled());
}
