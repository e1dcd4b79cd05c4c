//! Matches of rounds: how rounds and matches end, and what follows.

use super::table::{Table, request, told};
use crate::app::{App, apply, body};
use mancala::wire::proto::{self, ProposalKind, Seat, SessionState, event::Body};

#[tokio::test]
async fn rounds_follow_each_other_with_alternating_starters() {
    let app = App::start().await;
    let table = Table::new(&app, request("gore", 3, None)).await;
    let first = table.session().await;
    assert_eq!((first.round, first.rounds, first.ply), (1, 3, 0));
    table.play_any(1).await;
    let lost = body(table.resign(Seat::South, false).await);
    assert_eq!(told(&lost.round_result), ("resignation", Seat::North, 0, 0));
    assert_eq!(lost.match_result, None);
    let second = table.session().await;
    assert_eq!(second.position.as_ref().expect("a position").text, "gore 6,6,6,6/6,6,6,6 0-0 N sow");
    assert_eq!((second.round, second.ply, second.south_points, second.north_points), (2, 0, 0, 1));
    let drawn = table.agree(ProposalKind::Draw).await;
    assert_eq!(told(&drawn.round_result).0, "agreement");
    assert_eq!(drawn.position, "gore 6,6,6,6/6,6,6,6 0-0 S sow");
    assert_eq!(drawn.to_act(), Seat::South);
    let won = body(table.resign(Seat::North, false).await);
    assert_eq!(told(&won.match_result), ("rounds_played", Seat::Unspecified, 1, 1));
    let last = table.session().await;
    assert_eq!(last.round_results.len(), 3);
    assert_eq!(last.state(), SessionState::Finished);
    let story = [
        "created",
        "move_played",
        "resigned",
        "round_ended",
        "round_started",
        "proposed",
        "proposal_answered",
        "round_ended",
        "round_started",
        "resigned",
        "round_ended",
        "ended",
    ];
    assert_eq!(table.story(0).await, story);
}

#[tokio::test]
async fn a_move_that_ends_a_round_says_what_follows() {
    let app = App::start().await;
    let guards = Some(proto::Guards { max_plies: Some(1), ..Default::default() });
    let table = Table::new(&app, proto::CreateSessionRequest { guards, ..request("hoyito3", 2, None) }).await;
    let ended =
        body(app.sessions().apply_move(proto::ApplyMoveRequest { include_position: true, ..apply(&table.id, "2") }).await);
    assert_eq!(ended.round_result.as_ref().expect("a result").reason, "max_plies");
    assert_eq!((ended.match_result.clone(), ended.next_round, ended.version), (None, 2, 4));
    assert_eq!(ended.position, "hoyito3 4,4,4,4,4,4/4,4,4,4,4,4 0-0 N sow");
    assert_eq!(ended.full_position.expect("a position").text, ended.position);
    let events = table.events().await;
    let Some(Body::RoundStarted(started)) = &events[3].body else { panic!("{events:?}") };
    assert_eq!((started.round, &started.position), (2, &ended.position));
    let last = table.play_one().await;
    assert_eq!((last.next_round, last.to_act()), (0, Seat::Unspecified));
    assert_eq!(last.match_result.expect("a result").reason, "rounds_played");
}

#[tokio::test]
async fn the_whole_match_is_given_up_or_ended_by_agreement() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 5, None)).await;
    body(table.resign(Seat::North, false).await);
    body(table.resign(Seat::North, false).await);
    let lost = body(table.resign(Seat::South, true).await);
    assert_eq!(told(&lost.match_result), ("resignation", Seat::North, 2, 1), "whoever gives up has lost");
    assert_eq!(table.session().await.state(), SessionState::Finished);

    let table = Table::new(&app, request("ayoayo", 5, None)).await;
    body(table.resign(Seat::North, false).await);
    table.play_any(3).await;
    let ended = table.agree(ProposalKind::EndMatch).await;
    assert_eq!(told(&ended.match_result), ("agreement", Seat::South, 1, 0), "the round in play does not count");
    assert_eq!(ended.round_result, None);
    let session = table.session().await;
    assert_eq!((session.state(), session.round_results.len()), (SessionState::Finished, 1));

    let table = Table::new(&app, request("ayoayo", 5, None)).await;
    body(table.resign(Seat::North, false).await);
    let aborted = table.agree(ProposalKind::Abort).await;
    assert_eq!(told(&aborted.match_result), ("abort", Seat::Unspecified, 1, 0));
    assert_eq!(table.session().await.state(), SessionState::Aborted);
}

/// What the seats hold decides, not who won rounds.
#[tokio::test]
async fn ali_guli_mane_is_counted_by_holdings() {
    let app = App::start().await;
    let position = "ali_guli_mane 0,0,0,1,0,0,0/0,1,0,0,0,0,0 28-40 S sow".to_owned();
    let set_up = proto::CreateSessionRequest { position, ..request("ali_guli_mane", 4, None) };
    let table = Table::new(&app, set_up.clone()).await;
    body(table.resign(Seat::North, false).await);
    let next = table.session().await.position.expect("a position").text;
    assert_eq!(next, "ali_guli_mane 5,5,5,5,5,x,x/5,5,5,5,5,5,5 4-6 N sow", "29 and 41");
    table.play_any(1).await;
    let ended = table.agree(ProposalKind::EndMatch).await;
    assert_eq!(told(&ended.match_result), ("agreement", Seat::North, 29, 41), "as held before the round in play");
    let points = table.session().await;
    assert_eq!((points.south_points, points.north_points), (1, 0));

    let table = Table::new(&app, set_up).await;
    let lost = body(table.resign(Seat::North, true).await);
    assert_eq!(told(&lost.match_result), ("resignation", Seat::South, 29, 41));

    let position = "ali_guli_mane 0,0,0,1,0,0,0/0,1,0,0,0,0,0 3-65 S sow".to_owned();
    let table = Table::new(&app, proto::CreateSessionRequest { position, ..request("ali_guli_mane", 4, None) }).await;
    let drawn = table.agree(ProposalKind::Draw).await;
    assert_eq!(told(&drawn.match_result), ("cannot_fill", Seat::North, 4, 66));
    assert_eq!(told(&drawn.round_result), ("agreement", Seat::Unspecified, 3, 65));
}

#[tokio::test]
async fn a_match_may_start_where_a_round_is_over() {
    let app = App::start().await;
    let position = "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 20-28 S over:board_empty".to_owned();
    let made = app.make(proto::CreateSessionRequest { position, ..request("ayoayo", 2, None) }).await;
    assert_eq!((made.version, made.round, made.north_points), (3, 2, 1));
    assert_eq!(made.position.expect("a position").to_act(), Seat::North);
}
