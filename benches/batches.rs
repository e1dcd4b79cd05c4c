//! `cargo bench --bench batches`: what StepPositions and PlayoutPositions cost a ply inside the server, so that the network's part can be
//! told: the rules alone, the handler that reads and writes text, and the messages as protobuf besides. Batches are of 1,000 positions.

#[path = "support/samples.rs"]
mod samples;

use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Move, Position, Record, Rules};
use mancala::random::SeededDice;
use mancala::service::Compute;
use mancala::wire::RulesHandlers;
use mancala::wire::proto::rules_service_server::RulesService;
use mancala::wire::proto::{self, PositionStep, StepPositionsRequest};
use prost::Message;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tonic::Request;

const POSITIONS: usize = 1_000;
const PLAYOUTS: u32 = 10;
const TURNS: u32 = 15;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    println!("ns a ply                            rules  handler  with protobuf");
    for game in Game::ALL {
        for moves in [1, 20] {
            report(game, &format!("{moves} moves a position"), steps(&runtime, game, moves));
        }
        report(game, "playouts", playouts(&runtime, game));
    }
}

fn report(game: Game, what: &str, [rules, handler, protobuf]: [f64; 3]) {
    println!("{:<14} {what:<19} {rules:>6.0} {handler:>8.0} {protobuf:>14.0}", game.id());
}

/// Nanoseconds a ply of three ways to do the same, which take turns: the best turn of each.
fn best(plies: u64, mut ways: [&mut dyn FnMut(); 3]) -> [f64; 3] {
    let mut best = [Duration::MAX; 3];
    for _ in 0..TURNS {
        for (best, way) in best.iter_mut().zip(&mut ways) {
            let from = Instant::now();
            way();
            *best = (*best).min(from.elapsed());
        }
    }
    best.map(|time| time.as_nanos() as f64 / plies as f64)
}

/// Positions of random games, each with so many moves from there on, or fewer if the game ends.
fn ways(rules: &Rules, moves: usize) -> Vec<(Position, Vec<Move>)> {
    let mut dice = SeededDice::new(11);
    let starts = samples::samples(rules, POSITIONS);
    let way = |(start, _): samples::Sample| {
        let mut position = start;
        let mut way = Vec::new();
        while way.len() < moves
            && let Some(mv) = rules.sample(&position, &mut dice)
        {
            position = rules.check(&position, mv).expect("a drawn move is legal").play(&mut ()).0;
            way.push(mv);
        }
        (start, way)
    };
    starts.into_iter().map(way).collect()
}

fn steps(runtime: &Runtime, game: Game, moves: usize) -> [f64; 3] {
    let rules = Rules::new(game);
    let ways = ways(&rules, moves);
    let plies = ways.iter().map(|(_, moves)| moves.len() as u64).sum();
    let items = ways.iter().map(|(position, moves)| PositionStep {
        position: position.to_string(),
        moves: moves.iter().map(Move::to_string).collect(),
    });
    let request = StepPositionsRequest { game: game.id().to_owned(), items: items.collect(), ..Default::default() };
    let bytes = request.encode_to_vec();
    let handlers = RulesHandlers::new(Compute::new(1));
    let answer = |request| runtime.block_on(handlers.step_positions(Request::new(request))).expect("an answer").into_inner();
    let reply = answer(request.clone());
    assert_eq!(reply.results.iter().map(|result| u64::from(result.plies)).sum::<u64>(), plies);
    best(
        plies,
        [
            &mut || {
                for (start, moves) in &ways {
                    let mut position = *start;
                    for &mv in moves {
                        position = rules.check(&position, mv).expect("a legal move").play(&mut ()).0;
                    }
                    black_box(position);
                }
            },
            &mut || drop(black_box(answer(request.clone()))),
            &mut || {
                let request = StepPositionsRequest::decode(bytes.as_slice()).expect("a request");
                black_box(answer(request).encode_to_vec());
            },
        ],
    )
}

fn playouts(runtime: &Runtime, game: Game) -> [f64; 3] {
    let rules = Rules::new(game);
    let guards = Guards::of(game);
    let starts: Vec<_> = samples::samples(&rules, POSITIONS).into_iter().map(|(position, _)| position).collect();
    let request = proto::PlayoutPositionsRequest {
        game: game.id().to_owned(),
        positions: starts.iter().map(Position::to_string).collect(),
        playouts: PLAYOUTS,
        seed: 1,
        ..Default::default()
    };
    let bytes = request.encode_to_vec();
    let handlers = RulesHandlers::new(Compute::new(1));
    let answer = |request| runtime.block_on(handlers.playout_positions(Request::new(request))).expect("an answer").into_inner();
    let plies = answer(request.clone()).tallies.iter().map(|tally| u64::from(tally.plies)).sum();
    best(
        plies,
        [
            &mut || {
                for (place, &start) in (0..).zip(&starts) {
                    let mut record = Record::new(rules, guards, start);
                    let mut dice = SeededDice::new(1 << 32 | place);
                    for _ in 0..PLAYOUTS {
                        record.restart();
                        black_box(playout(&mut record, guards.max_plies, &mut dice));
                    }
                }
            },
            &mut || drop(black_box(answer(request.clone()))),
            &mut || {
                let request = proto::PlayoutPositionsRequest::decode(bytes.as_slice()).expect("a request");
                black_box(answer(request).encode_to_vec());
            },
        ],
    )
}
