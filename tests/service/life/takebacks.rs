//! Takebacks: of a capture, of several plies, of the first move; never across rounds; the clock rule.

use super::table::{Table, micros, request};
use crate::app::{App, START, body, refusal};
use mancala::wire::proto::{self, ProposalKind, Seat, clock_setting::Kind, event::Body};
use prost_types::Duration;

#[tokio::test]
async fn a_capture_and_the_first_move_are_taken_back() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    let start = table.session().await.position;
    assert_eq!(table.play("2").await.captured, 7);
    let answer = table.agree_takeback(1).await;
    assert_eq!(answer.position, "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow");
    assert_eq!((answer.version, answer.to_act()), (5, Seat::South), "the version goes on");
    let after = table.session().await;
    assert_eq!((after.position, after.ply), (start, 0));
    let events = table.events().await;
    let Some(Body::TakenBack(back)) = &events[4].body else { panic!("{events:?}") };
    assert_eq!((back.to_version, &back.position), (1, &answer.position));
    assert_eq!(table.play("2").await.captured, 7, "it can be played again");
}

#[tokio::test]
async fn several_plies_are_taken_back_and_what_was_taken_back_is_gone() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    table.play_any(5).await;
    let then = app.session_at(&table.id, 3).await;
    let answer = table.agree_takeback(3).await;
    assert_eq!(answer.version, 9);
    let now = table.session().await;
    assert_eq!((&now.position, now.ply), (&then.position, 2));
    assert_eq!(app.session_at(&table.id, 6).await.ply, 5, "history stays");
    table.play_any(1).await;
    for gone in [4, 5, 6, 9] {
        let refused = refusal(table.propose_takeback(Seat::South, gone).await);
        assert_eq!(refused.reason, "PROPOSAL_IMPOSSIBLE", "version {gone} is no move that stands");
    }
    table.agree_takeback(2).await;
    assert_eq!(table.session().await.ply, 1);
    assert_eq!(table.session().await.position, app.session_at(&table.id, 2).await.position);
}

#[tokio::test]
async fn repetitions_are_counted_as_if_the_moves_had_not_been_played() {
    let app = App::start().await;
    let guards = Some(proto::Guards { repetition: Some(2), quiet: Some(0), max_plies: Some(3) });
    let table = Table::new(&app, proto::CreateSessionRequest { guards, ..request("ayoayo", 1, None) }).await;
    for _ in 0..3 {
        table.play_any(2).await;
        table.agree_takeback(1).await;
    }
    assert_eq!(table.session().await.result, None, "neither a repetition nor too many plies");
    table.play_any(3).await;
    assert_eq!(table.session().await.result.expect("the guard ends it").reason, "max_plies");
}

#[tokio::test]
async fn nothing_is_taken_back_across_rounds() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 3, None)).await;
    table.play_any(2).await;
    body(table.resign(Seat::South, false).await);
    let began = table.session().await;
    assert_eq!((began.version, began.round), (6, 2));
    table.play_any(2).await;
    for earlier in 1..=5 {
        assert_eq!(refusal(table.propose_takeback(Seat::South, earlier).await).reason, "PROPOSAL_IMPOSSIBLE");
    }
    table.agree_takeback(6).await;
    let now = table.session().await;
    assert_eq!((now.position, now.round, now.ply), (began.position, 2, 0));
}

#[tokio::test]
async fn a_takeback_gives_nobody_time_back() {
    const SECOND: i64 = 1_000_000;
    let app = App::start().await;
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let total = Kind::Total(proto::TotalTime { main: seconds(60), increment: seconds(2) });
    let table = Table::new(&app, request("ayoayo", 1, Some(total))).await;
    table.play_any(2).await;
    app.clock.advance(10 * SECOND);
    table.play_any(1).await;
    let left = |session: &proto::Session| {
        let clock = session.clock.expect("clocks");
        (clock.south_remaining.expect("time").seconds, clock.north_remaining.expect("time").seconds, micros(&clock.deadline))
    };
    assert_eq!(left(&table.session().await), (52, 60, START + 70 * SECOND));
    app.clock.advance(30 * SECOND);
    table.agree_takeback(3).await;
    let after = table.session().await;
    assert_eq!(after.position.as_ref().expect("a position").to_act(), Seat::South);
    // South keeps its 52, North has thought for 30; South's decision falls due at the agreement.
    assert_eq!(left(&after), (52, 30, START + 92 * SECOND));
    assert!(refusal(table.answer(Seat::North, ProposalKind::Takeback, true).await).reason == "PROPOSAL_NOT_FOUND");
}
