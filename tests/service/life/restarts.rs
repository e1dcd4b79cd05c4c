//! After every kind of event the server is stopped and started again: the session is read back equal, and goes on.

use super::clocks::{SECOND, byo_yomi};
use super::table::{Table, name, request};
use crate::app::{App, body};
use mancala::service::{Retention, Swept};
use mancala::wire::proto::{self, ProposalKind, Seat};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Copy)]
enum Deed {
    Play,
    Propose(Seat, ProposalKind),
    TakeBack(u32),
    Answer(Seat, ProposalKind, bool),
    Withdraw(Seat, ProposalKind),
    Resign(bool),
    /// So many seconds pass, and somebody looks.
    Wait(i64),
    Claim(Seat),
    Rotate(Seat),
    Revoke(Seat),
    /// Nobody has needed the session for long.
    Expire,
}

async fn act(app: &App, id: &str, deed: Deed) {
    let table = Table { app, id: id.to_owned() };
    match deed {
        Deed::Play => drop(table.play_one().await),
        Deed::Propose(seat, kind) => drop(body(table.propose(seat, kind).await)),
        Deed::TakeBack(to) => drop(body(table.propose_takeback(Seat::South, to).await)),
        Deed::Answer(seat, kind, accept) => drop(body(table.answer(seat, kind, accept).await)),
        Deed::Withdraw(seat, kind) => drop(body(table.withdraw(seat, kind).await)),
        Deed::Resign(whole) => drop(body(table.resign(Seat::South, whole).await)),
        Deed::Claim(seat) => {
            let request = proto::ClaimSeatRequest { session_id: table.id, seat: seat.into(), ..Default::default() };
            body(app.sessions().claim_seat(proto::ClaimSeatRequest { display_name: "Ana".to_owned(), ..request }).await);
        }
        Deed::Rotate(seat) => {
            let request = proto::RotateSeatTokenRequest { session_id: table.id, seat: seat.into(), ..Default::default() };
            body(app.sessions().rotate_seat_token(request).await);
        }
        Deed::Revoke(seat) => {
            let request = proto::RevokeSeatTokenRequest { session_id: table.id, seat: seat.into(), ..Default::default() };
            body(app.sessions().revoke_seat_token(request).await);
        }
        Deed::Expire => {
            app.clock.advance(3_600 * SECOND);
            let term = Some(Duration::from_secs(60));
            let retention = Retention { finished: term, aborted: None, abandoned: None, notice: Duration::from_secs(60) };
            assert_eq!(app.service.sweep(&retention).await, Ok(Swept { announced: 1, deleted: 0 }));
        }
        Deed::Wait(seconds) => {
            app.clock.advance(seconds * SECOND);
            table.session().await;
        }
    }
}

#[tokio::test]
async fn a_session_survives_a_restart_after_every_event() {
    use Deed::{Answer, Claim, Expire, Play, Propose, Resign, Revoke, Rotate, TakeBack, Wait, Withdraw};
    use ProposalKind::{Abort, Draw, EndMatch, Rematch, Takeback};
    use Seat::{North, South};
    let deeds = [
        Claim(North),
        Play,
        Rotate(North),
        Play,
        Play,
        Play,
        Play,
        Wait(12),
        Play,
        Propose(North, Draw),
        Propose(South, Abort),
        Answer(South, Draw, false),
        Withdraw(South, Abort),
        Wait(7),
        Revoke(North),
        TakeBack(5),
        Answer(North, Takeback, true),
        Play,
        Wait(100),
        Play,
        Propose(South, Draw),
        Answer(North, Draw, true),
        Play,
        Resign(false),
        Propose(North, EndMatch),
        Answer(South, EndMatch, true),
        Propose(South, Rematch),
        Answer(North, Rematch, true),
        Expire,
    ];
    let mut app = App::start().await;
    let clock = byo_yomi(10 * SECOND, 5 * SECOND, 3);
    let id = app
        .make(proto::CreateSessionRequest { labels: [("a".into(), "b".into())].into(), ..request("kiothi", 5, Some(clock)) })
        .await;
    let id = id.session_id;
    let mut kinds = BTreeSet::new();
    for deed in deeds {
        act(&app, &id, deed).await;
        let (session, events) = (app.session(&id).await, app.events(&id, 1_000, true).await);
        kinds.extend(events.iter().map(name));
        app = app.restart().await;
        assert_eq!(app.session(&id).await, session);
        assert_eq!(app.events(&id, 1_000, true).await, events);
        for event in &events {
            assert_eq!(app.session_at(&id, event.version).await.version, event.version);
        }
    }
    assert_eq!(kinds.len(), 16, "every kind of event has come: {kinds:?}");
    let next = app.session(&id).await.next_session_id;
    assert_eq!(app.session(&next).await.previous_session_id, id);
}
