//! How clocks are set, what they show, and what the server's time may do.

use super::table::{Table, micros, request};
use crate::app::{App, START, apply, body, faulty_fields};
use mancala::wire::proto::{self, ProposalKind, Seat, clock_setting::Kind};
use prost_types::Duration;

pub const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
const TEN_YEARS: i64 = 87_600 * HOUR;

const fn duration(micros: i64) -> Option<Duration> {
    Some(Duration { seconds: micros.div_euclid(SECOND), nanos: (micros.rem_euclid(SECOND) * 1_000) as i32 })
}

pub const fn per_move(micros: i64) -> Kind {
    Kind::PerMove(duration(micros).expect("a duration"))
}

pub const fn total(main: i64, increment: i64) -> Kind {
    Kind::Total(proto::TotalTime { main: duration(main), increment: duration(increment) })
}

pub const fn byo_yomi(main: i64, period: i64, periods: u32) -> Kind {
    Kind::ByoYomi(proto::ByoYomi { main: duration(main), period: duration(period), periods })
}

fn clock(session: &proto::Session) -> &proto::Clock {
    session.clock.as_ref().expect("clocks")
}

fn kind(session: &proto::Session) -> Kind {
    clock(session).setting.as_ref().and_then(|setting| setting.kind).expect("a setting")
}

#[tokio::test]
async fn clocks_are_shown_as_they_were_set() {
    let app = App::start().await;
    for set in [per_move(1_500_000), Kind::DaysPerMove(366), total(60 * SECOND, 0), byo_yomi(0, 5 * SECOND, 100)] {
        let session = app.make(request("gore", 1, Some(set))).await;
        assert_eq!(kind(&session), set);
        assert_eq!(clock(&session).deadline, None, "no clock runs before its seat's first move");
        let listed = body(app.sessions().list_sessions(proto::ListSessionsRequest::default()).await).sessions;
        assert_eq!(listed[0], session);
    }
    let days = app.make(request("gore", 1, Some(per_move(48 * HOUR)))).await;
    assert_eq!(kind(&days), Kind::DaysPerMove(2), "whole days are shown as days");
    let none = app.make(request("gore", 1, None)).await;
    assert_eq!(none.clock, None);
}

#[tokio::test]
async fn times_out_of_bounds_are_refused() {
    let app = App::start().await;
    let year = 366 * 24 * HOUR;
    let faulty = [
        per_move(0),
        per_move(-SECOND),
        per_move(year + 1),
        Kind::PerMove(Duration { seconds: i64::MAX, nanos: 999_999_999 }),
        Kind::PerMove(Duration { seconds: i64::MIN, nanos: -999_999_999 }),
        // No durations: what they would come to could be meant otherwise.
        Kind::PerMove(Duration { seconds: 1, nanos: 2_000_000_000 }),
        Kind::PerMove(Duration { seconds: 5, nanos: -500_000_000 }),
        Kind::PerMove(Duration { seconds: 5, nanos: i32::MIN }),
        Kind::DaysPerMove(0),
        Kind::DaysPerMove(367),
        Kind::DaysPerMove(u32::MAX),
        total(0, SECOND),
        total(year + 1, 0),
        total(SECOND, -1),
        total(SECOND, year + 1),
        byo_yomi(SECOND, 0, 1),
        byo_yomi(-1, SECOND, 1),
        byo_yomi(SECOND, SECOND, 0),
        byo_yomi(SECOND, SECOND, 101),
    ];
    for set in faulty {
        let answer = app.sessions().create_session(request("gore", 1, Some(set))).await;
        assert_eq!(faulty_fields(answer), ["clock"], "{set:?}");
    }
    let empty = proto::CreateSessionRequest { clock: Some(proto::ClockSetting { kind: None }), ..request("gore", 1, None) };
    assert_eq!(faulty_fields(app.sessions().create_session(empty).await), ["clock"]);
}

#[tokio::test]
async fn a_clock_starts_with_its_seats_first_move() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 1, Some(total(60 * SECOND, 2 * SECOND)))).await;
    app.clock.advance(HOUR);
    let first = table.play("2").await;
    assert_eq!(first.clock.expect("clocks").deadline, None);
    app.clock.advance(HOUR);
    let second = table.play_one().await;
    assert_eq!(micros(&second.clock.expect("clocks").deadline), START + 2 * HOUR + 60 * SECOND);
    assert_eq!(micros(&second.server_time), START + 2 * HOUR);
    app.clock.advance(9 * SECOND + 1);
    table.play_any(1).await;
    let session = table.session().await;
    assert_eq!(clock(&session).south_remaining, duration(53 * SECOND - 1));
    assert_eq!(clock(&session).north_remaining, duration(60 * SECOND));
    let deadline = START + 2 * HOUR + 69 * SECOND + 1;
    assert_eq!(micros(&clock(&session).deadline), deadline);
    assert_eq!(clock(&app.session_at(&table.id, 3).await), &second.clock.expect("clocks"), "as it was");
}

#[tokio::test]
async fn periods_are_used_up_one_by_one() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 1, Some(byo_yomi(10 * SECOND, 5 * SECOND, 3)))).await;
    table.play_any(2).await;
    let mut seen = Vec::new();
    // South thinks so long, North not at all.
    for seconds in [8, 6, 5, 4, 10] {
        app.clock.advance(seconds * SECOND);
        table.play_any(2).await;
        let session = table.session().await;
        let clock = clock(&session);
        seen.push((clock.south_remaining.expect("time").seconds, clock.south_periods));
        assert_eq!((clock.north_remaining, clock.north_periods), (duration(10 * SECOND), 3));
        if session.result.is_some() {
            break;
        }
    }
    // 8 of the 10; 2 and 4 of a period, which stays; a whole one; 4 of one; two whole ones, and none is left.
    assert_eq!(seen, [(2, 3), (0, 3), (0, 2), (0, 2), (0, 0)]);
}

#[tokio::test]
async fn a_limit_is_whole_for_every_decision_and_clocks_are_full_in_every_round() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 2, Some(per_move(10 * SECOND)))).await;
    for _ in 0..6 {
        app.clock.advance(10 * SECOND);
        table.play_any(1).await;
    }
    assert_eq!(table.session().await.ply, 6, "at the deadline is in time");

    let table = Table::new(&app, request("ayoayo", 2, Some(total(10 * SECOND, 0)))).await;
    table.play_any(2).await;
    app.clock.advance(4 * SECOND);
    table.agree(ProposalKind::Draw).await;
    let session = table.session().await;
    assert_eq!(session.round, 2);
    assert_eq!(clock(&session).south_remaining, duration(10 * SECOND));
    assert_eq!(session.position.as_ref().expect("a position").to_act(), Seat::North);
    // North has moved in the session: its clock runs from the start of the round.
    assert_eq!(micros(&clock(&session).deadline), micros(&session.update_time) + 10 * SECOND);
}

/// Whatever the clock does, events stay in order, nobody gets time, and nobody loses by a clock that goes back.
#[tokio::test]
async fn jumps_of_the_clock_change_no_order() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 1, Some(total(20 * HOUR, 0)))).await;
    let free = Table::plain(&app).await;
    for by in [HOUR, -HOUR, -TEN_YEARS, HOUR, TEN_YEARS, -HOUR, HOUR, -TEN_YEARS] {
        app.clock.advance(by);
        let before = table.session().await;
        let served = body(app.sessions().get_session(get(&table.id)).await).server_time;
        assert!(micros(&served) >= micros(&before.update_time), "the server's time is never before an event's");
        table.play_any(1).await;
        free.play_any(1).await;
    }
    for table in [&table, &free] {
        let events = table.events().await;
        assert!(events.iter().map(|event| micros(&event.time)).is_sorted());
        assert!(events.iter().map(|event| event.version).eq(1..=9));
    }
    let left = *clock(&table.session().await);
    assert!(left.south_remaining.expect("time").seconds >= 15 * 3_600, "{left:?}");

    // Ten years on somebody has lost, and stays so when the clock is set back.
    app.clock.set(START + 2 * TEN_YEARS);
    let result = table.session().await.result.expect("a result");
    assert_eq!(result.reason, "timeout");
    app.clock.set(START - TEN_YEARS);
    assert_eq!(table.session().await.result, Some(result));
    assert_eq!(free.session().await.result, None, "without clocks time changes nothing");
    let late = crate::app::refusal(app.sessions().apply_move(apply(&table.id, "0")).await);
    assert_eq!(late.reason, "SESSION_OVER");
}

fn get(id: &str) -> proto::GetSessionRequest {
    proto::GetSessionRequest { session_id: id.to_owned(), version: None }
}
