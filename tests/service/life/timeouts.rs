//! A seat whose time is out loses the round when anyone looks or claims, exactly once.

use super::clocks::{SECOND, total};
use super::table::{Table, micros, request, told};
use crate::app::{App, Refusal, START, apply, body, refusal, text};
use mancala::store::Store;
use mancala::wire::proto::{self, ProposalKind, Seat, SessionState};
use std::sync::Arc;

/// Both have moved, and South has ten seconds for the rest of the round.
async fn running(app: &App, rounds: u32) -> Table<'_> {
    app.clock.set(START);
    let table = Table::new(app, request("ayoayo", rounds, Some(total(10 * SECOND, 0)))).await;
    table.play("2").await;
    table.play_one().await;
    table
}

async fn expired(app: &App, rounds: u32) -> Table<'_> {
    let table = running(app, rounds).await;
    app.clock.set(START + 10 * SECOND + 1);
    table
}

const LOST: [&str; 3] = ["timed_out", "round_ended", "ended"];

#[tokio::test]
async fn a_decision_at_the_deadline_is_in_time_and_one_after_it_is_not() {
    let app = App::start().await;
    let table = running(&app, 1).await;
    app.clock.set(START + 10 * SECOND);
    assert_eq!(refusal(table.claim().await).reason, "TIME_NOT_OUT");
    let played = table.play("0").await;
    assert_eq!(played.clock.expect("clocks").south_remaining.expect("time").seconds, 0);

    let table = expired(&app, 1).await;
    let late = refusal(app.sessions().apply_move(apply(&table.id, "0")).await);
    assert_eq!((late.reason.as_str(), late.fact("cause")), ("SESSION_OVER", "timeout"));
    let session = table.session().await;
    assert_eq!(told(&session.result), ("timeout", Seat::North, 7, 0));
    assert_eq!((session.state(), session.version), (SessionState::Finished, 6));
    let events = table.events().await;
    assert_eq!(table.story(3).await, LOST);
    let Some(proto::event::Body::TimedOut(out)) = &events[3].body else { panic!("{events:?}") };
    assert_eq!((micros(&out.deadline), micros(&events[3].time)), (START + 10 * SECOND, START + 10 * SECOND + 1));
    assert_eq!(events[3].seat(), Seat::South);

    let table = expired(&app, 1).await;
    let request = proto::ApplyMoveRequest { expected_version: Some(3), ..apply(&table.id, "0") };
    let late = refusal(app.sessions().apply_move(request).await);
    assert_eq!((late.reason.as_str(), late.fact("current_version")), ("STALE_VERSION", "6"));
}

/// Every call that reads or changes a session as it is now.
#[tokio::test]
async fn whoever_looks_ends_the_round() {
    let app = App::start().await;
    let looks = ["get", "list_moves", "sample", "check", "events", "apply", "resign", "propose", "answer", "withdraw", "claim"];
    for look in looks {
        let table = expired(&app, 1).await;
        let mut calls = app.sessions();
        let session_id = table.id.clone();
        let refused: Option<Refusal> = match look {
            "get" => {
                let session = body(calls.get_session(proto::GetSessionRequest { session_id, version: None }).await).session;
                assert_eq!(session.expect("a session").version, 6);
                None
            }
            "list_moves" => {
                let listed = body(calls.list_legal_moves(proto::ListLegalMovesRequest { session_id }).await);
                assert_eq!((listed.version, listed.moves.len(), listed.to_act()), (6, 0, Seat::Unspecified));
                None
            }
            "sample" => {
                let drawn = body(calls.sample_moves(proto::SampleMovesRequest { session_id, count: 5, seed: 1 }).await);
                assert_eq!((drawn.version, drawn.moves.len()), (6, 0));
                None
            }
            "check" => {
                let request = proto::CheckMoveRequest { session_id, r#move: text("0"), ..Default::default() };
                let checked = body(calls.check_move(request).await);
                assert_eq!((checked.version, checked.refusal.expect("a refusal").reason.as_str()), (6, "SESSION_OVER"));
                None
            }
            "events" => {
                let request = proto::ListEventsRequest { session_id, after_version: 3, ..Default::default() };
                let page = body(calls.list_events(request).await);
                assert_eq!((page.version, page.events.len()), (6, 3));
                None
            }
            "apply" => Some(refusal(calls.apply_move(apply(&session_id, "0")).await)),
            "resign" => Some(refusal(table.resign(Seat::North, false).await)),
            "propose" => Some(refusal(table.propose(Seat::South, ProposalKind::Draw).await)),
            "answer" => Some(refusal(table.answer(Seat::South, ProposalKind::Draw, true).await)),
            "withdraw" => Some(refusal(table.withdraw(Seat::South, ProposalKind::Draw).await)),
            "claim" => {
                let claimed = body(table.claim().await);
                assert_eq!(claimed.version, 6);
                assert_eq!(told(&claimed.round_result), ("timeout", Seat::North, 7, 0));
                assert_eq!(claimed.match_result, claimed.round_result);
                None
            }
            other => panic!("{other}"),
        };
        let reason = refused.map(|refusal| refusal.reason);
        let expected = match look {
            "apply" | "resign" | "propose" => Some("SESSION_OVER"),
            "answer" | "withdraw" => Some("PROPOSAL_NOT_FOUND"),
            _ => None,
        };
        assert_eq!(reason.as_deref(), expected, "{look}");
        assert_eq!(table.story(3).await, LOST, "{look}");
    }
}

#[tokio::test]
async fn lists_and_earlier_versions_show_what_is_stored() {
    let app = App::start().await;
    let table = expired(&app, 1).await;
    let list = async || body(app.sessions().list_sessions(proto::ListSessionsRequest::default()).await).sessions.swap_remove(0);
    assert_eq!(list().await.state(), SessionState::Active);
    assert_eq!(app.session_at(&table.id, 3).await.state(), SessionState::Active);
    table.session().await;
    assert_eq!(list().await.state(), SessionState::Finished);
    assert_eq!(app.session_at(&table.id, 3).await.result, None);
}

#[tokio::test]
async fn a_claim_says_until_when_there_is_time() {
    let app = App::start().await;
    let free = Table::plain(&app).await;
    let none = refusal(free.claim().await);
    assert_eq!((none.reason.as_str(), none.fact("deadline"), none.fact("to_act")), ("TIME_NOT_OUT", "none", "South"));
    let table = running(&app, 1).await;
    let early = refusal(table.claim().await);
    assert_eq!((early.reason.as_str(), early.fact("deadline")), ("TIME_NOT_OUT", "2020-09-13T12:26:50Z"));
}

#[tokio::test]
async fn in_a_match_only_the_round_is_lost_and_late_commands_do_not_hit_the_next() {
    let app = App::start().await;
    for look in ["apply", "resign", "propose", "get"] {
        let table = expired(&app, 3).await;
        let late = match look {
            "apply" => Some(refusal(app.sessions().apply_move(apply(&table.id, "8")).await)),
            "resign" => Some(refusal(table.resign(Seat::South, false).await)),
            "propose" => Some(refusal(table.propose(Seat::South, ProposalKind::Draw).await)),
            _ => None,
        };
        if let Some(late) = late {
            assert_eq!((late.reason.as_str(), late.fact("expected_version")), ("STALE_VERSION", "3"), "{look}");
            assert_eq!(late.fact("current_version"), "6");
        }
        let session = table.session().await;
        assert_eq!((session.version, session.round, session.north_points, session.south_points), (6, 2, 1, 0), "{look}");
        assert_eq!(session.state(), SessionState::Active);
        assert_eq!(table.story(3).await, ["timed_out", "round_ended", "round_started"]);
        assert_eq!(micros(&session.clock.expect("clocks").deadline), START + 20 * SECOND + 1, "full clocks again");
    }
}

#[tokio::test]
async fn a_round_is_lost_once_however_many_look() {
    let app = Arc::new(App::start().await);
    for rounds in [1, 2] {
        let id = expired(&app, rounds).await.id;
        let looks = (0..50).map(|number| {
            let (mut calls, session_id) = (app.sessions(), id.clone());
            tokio::spawn(async move {
                match number % 4 {
                    0 => body(calls.get_session(proto::GetSessionRequest { session_id, version: None }).await)
                        .session
                        .is_some_and(|session| session.version == 6),
                    1 => body(calls.list_legal_moves(proto::ListLegalMovesRequest { session_id }).await).version == 6,
                    2 => calls.apply_move(apply(&session_id, "0")).await.is_err(),
                    _ => {
                        calls.claim_timeout(proto::ClaimTimeoutRequest { session_id, ..Default::default() }).await.ok();
                        true
                    }
                }
            })
        });
        for look in looks.collect::<Vec<_>>() {
            let right = look.await.expect("no panic");
            // In the next round North is to act and pit 0 is South's.
            assert!(right);
        }
        let table = Table { app: &app, id };
        let last = if rounds == 1 { "ended" } else { "round_started" };
        assert_eq!(table.story(3).await, ["timed_out", "round_ended", last]);
    }
}

#[tokio::test]
async fn time_runs_out_while_no_server_runs() {
    let app = App::start().await;
    let id = running(&app, 1).await.id;
    let app = app.restart().await;
    assert_eq!(Table { app: &app, id: id.clone() }.session().await.version, 3);
    app.clock.set(START + 11 * SECOND);
    let app = app.restart().await;
    let table = Table { app: &app, id };
    assert_eq!(table.session().await.result.expect("a result").reason, "timeout");
    assert_eq!(table.story(3).await, LOST);
}

/// Nobody looks: the server itself ends what is lost, once, also what was lost while no server ran.
#[tokio::test]
async fn the_server_itself_ends_what_is_lost_by_time() {
    let app = App::start().await;
    let lost = expired(&app, 1).await.id;
    let mut request = request("ayoayo", 1, Some(total(60 * SECOND, 0)));
    request.session_id = "still-in-time".to_owned();
    let table = Table::new(&app, request).await;
    table.play("2").await;
    table.play_one().await;
    let app = app.restart().await;
    let stored = async |id: &str| app.store.head(id).await.expect("a store").expect("a session").version;
    assert_eq!(stored(&lost).await, 3, "nobody has looked");
    assert_eq!(app.service.settle_overdue().await, Ok(1));
    assert_eq!(stored(&lost).await, 6);
    assert_eq!(stored("still-in-time").await, 3);
    assert_eq!(app.service.settle_overdue().await, Ok(0), "once");
    app.clock.advance(61 * SECOND);
    assert_eq!(app.service.settle_overdue().await, Ok(1));
    assert_eq!(stored("still-in-time").await, 6);
}
