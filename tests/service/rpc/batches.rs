//! Batches: their limits at the edge and one beyond, their answers, and what becomes of callers that go away.

use crate::app::{App, PATIENCE, body, faulty_fields, refusal};
use mancala::game::{Game, Rules};
use mancala::random::SeededDice;
use mancala::wire::proto;
use prost::Message;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::{Code, Request};

/// Nothing can be played from it, so that it costs nothing.
const OVER: &str = "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S over:board_empty last=S";

fn item(position: &str, moves: usize) -> proto::PositionStep {
    proto::PositionStep { position: position.to_owned(), moves: vec!["0".to_owned(); moves] }
}

fn stepping(game: &str, items: Vec<proto::PositionStep>) -> proto::StepPositionsRequest {
    proto::StepPositionsRequest { game: game.to_owned(), items: items.into_iter().collect(), ..Default::default() }
}

fn playing_out(game: &str, positions: Vec<&str>, playouts: u32) -> proto::PlayoutPositionsRequest {
    let positions = positions.into_iter().map(str::to_owned).collect();
    proto::PlayoutPositionsRequest { game: game.to_owned(), positions, playouts, seed: 1, ..Default::default() }
}

/// More than any test waits for.
fn endless() -> proto::PlayoutPositionsRequest {
    playing_out("hoyito3", vec![""; 100], 10_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn stepping_has_limits() {
    let app = App::start().await;
    let step = async |items| app.rules().step_positions(stepping("ayoayo", items)).await;
    assert_eq!(body(step(vec![item(OVER, 0); 1_000]).await).results.len(), 1_000);
    assert_eq!(faulty_fields(step(vec![item(OVER, 0); 1_001]).await), ["items"]);
    let long = body(step(vec![item(OVER, 2_000)]).await).results.iter().next().expect("a result");
    assert_eq!((long.refusal.expect("a refusal").reason.as_str(), long.refused_move, long.plies), ("GAME_OVER", Some(0), 0));
    assert_eq!(faulty_fields(step(vec![item(OVER, 0), item(OVER, 2_001)]).await), ["items[1].moves"]);
    assert_eq!(body(step(vec![item(OVER, 2_000); 50]).await).results.len(), 50);
    let mut items = vec![item(OVER, 2_000); 50];
    items.push(item(OVER, 1));
    assert_eq!(faulty_fields(step(items).await), ["items"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn playouts_have_limits() {
    let app = App::start().await;
    let play = async |positions, playouts| app.rules().playout_positions(playing_out("ayoayo", positions, playouts)).await;
    assert_eq!(body(play(vec![OVER; 1_000], 1).await).tallies.len(), 1_000);
    assert_eq!(faulty_fields(play(vec![OVER; 1_001], 1).await), ["positions"]);
    assert_eq!(body(play(vec![OVER; 100], 10_000).await).tallies[99].draws, 10_000);
    assert_eq!(faulty_fields(play(vec![OVER; 101], 10_000).await), ["playouts"]);
    assert_eq!(faulty_fields(play(vec![OVER], 10_001).await), ["playouts"]);
    assert_eq!(faulty_fields(play(vec![OVER], 0).await), ["playouts"]);
    assert_eq!(faulty_fields(play(vec![OVER, "nonsense", OVER, "gore"], 1).await), ["positions[1]", "positions[3]"]);
    assert_eq!(body(play(vec![], 3).await).tallies.len(), 1, "the start position");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_gives_the_same_answer() {
    let app = App::start().await;
    for game in Game::ALL {
        let request = playing_out(game.id(), vec!["", ""], 10);
        let first = body(app.rules().playout_positions(request.clone()).await);
        assert_eq!(body(app.rules().playout_positions(request.clone()).await), first);
        for tally in &first.tallies {
            assert_eq!(tally.south_wins + tally.north_wins + tally.draws, 10);
        }
        assert_ne!(first.tallies[0], first.tallies[1], "each place has dice of its own");
        let other = proto::PlayoutPositionsRequest { seed: 2, ..request.clone() };
        assert_ne!(body(app.rules().playout_positions(other).await), first);
        let alone = proto::PlayoutPositionsRequest { positions: vec![String::new()], ..request };
        assert_eq!(body(app.rules().playout_positions(alone).await).tallies[0], first.tallies[0], "by its place alone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_answer_for_themselves() {
    let app = App::start().await;
    let moves = |moves: &[&str]| moves.iter().map(|&mv| mv.to_owned()).collect();
    let items = vec![
        proto::PositionStep { position: String::new(), moves: moves(&["0", "5", "2"]) },
        proto::PositionStep { position: "ayoayo".to_owned(), moves: moves(&["0"]) },
        proto::PositionStep { position: String::new(), moves: moves(&["0", "?", "2"]) },
        proto::PositionStep { position: String::new(), moves: moves(&["0", "0"]) },
    ];
    let results: Vec<_> = body(app.rules().step_positions(stepping("gore", items)).await).results.iter().collect();
    let told: Vec<_> = results
        .iter()
        .map(|result| (result.plies, result.refused_move, result.refusal.as_ref().map_or("", |refusal| &refusal.reason)))
        .collect();
    assert_eq!(told, [(3, None, ""), (0, None, "INVALID_POSITION"), (1, Some(1), "INVALID_MOVE"), (1, Some(1), "PIT_NOT_YOURS")]);
    assert_eq!(results[2].position, results[3].position, "before the refused move");
}

/// A random game's moves and the position that they lead to.
fn random_game(game: Game, seed: u64) -> (Vec<String>, String) {
    let rules = Rules::new(game);
    let mut dice = SeededDice::new(seed);
    let mut position = rules.start();
    let mut moves = Vec::new();
    while moves.len() < 100
        && let Some(mv) = rules.sample(&position, &mut dice)
    {
        position = rules.check(&position, mv).expect("a drawn move is legal").play(&mut ()).0;
        moves.push(mv.to_string());
    }
    (moves, position.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_is_refused() {
    const LIMIT: usize = 4 << 20;
    let app = App::start().await;
    let steps = async |moves: &[String], items: usize, include_steps: bool| {
        let item = proto::PositionStep { position: String::new(), moves: moves.to_vec() };
        let request = proto::StepPositionsRequest { include_steps, ..stepping("hoyito3", vec![item; items]) };
        app.rules().step_positions(request).await
    };
    for seed in 0..100 {
        let (moves, end) = random_game(Game::Hoyito3, seed);
        let bytes = body(steps(&moves, 1, true).await).encoded_len();
        if bytes * 1_000 < LIMIT * 11 / 10 {
            continue;
        }
        assert_eq!(body(steps(&moves, LIMIT / bytes - 10, true).await).results.len(), LIMIT / bytes - 10);
        let refused = refusal(steps(&moves, LIMIT / bytes + 1, true).await);
        assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "REPLY_TOO_LARGE"));
        assert_eq!(refused.fact("limit_bytes"), LIMIT.to_string());
        let lean = body(steps(&moves, 1_000, false).await).results;
        assert!(lean.iter().all(|result| result.position == end));
        return;
    }
    panic!("no game is long enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_go_away_free_their_place() {
    let app = App::start().await;
    // There is one place; were the first not freed, the others would wait for minutes.
    for _ in 0..3 {
        let mut rules = app.rules();
        let call = timeout(Duration::from_millis(100), rules.playout_positions(endless()));
        call.await.expect_err("it takes far longer");
    }
    let mut request = Request::new(endless());
    request.set_timeout(Duration::from_millis(100));
    let status = app.rules().playout_positions(request).await.expect_err("its deadline");
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    let mut rules = app.rules();
    let answer = timeout(PATIENCE, rules.playout_positions(playing_out("gore", vec![""], 1))).await;
    assert_eq!(body(answer.expect("a free place")).tallies.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_wait_are_told_so_at_once() {
    let app = App::start().await;
    let mut calls = JoinSet::new();
    for _ in 0..64 + 6 {
        let mut rules = app.rules();
        calls.spawn(async move { rules.playout_positions(endless()).await });
    }
    for _ in 0..6 {
        let call = timeout(PATIENCE, calls.join_next()).await.expect("at once").expect("a call").expect("no panic");
        assert_eq!(refusal(call).reason, "BUSY");
    }
    // They hold nobody up who computes nothing, and nobody at all once they are gone.
    body(app.rules().list_games(proto::ListGamesRequest {}).await);
    calls.shutdown().await;
    let small = async {
        // The server hears of each that goes.
        loop {
            match app.rules().playout_positions(playing_out("gore", vec![""], 1)).await {
                Err(status) if status.code() == Code::Unavailable => tokio::task::yield_now().await,
                answer => return body(answer),
            }
        }
    };
    assert_eq!(timeout(PATIENCE, small).await.expect("a free place").tallies.len(), 1);
}
