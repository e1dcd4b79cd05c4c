//! `cargo bench --bench batches`: what StepPositions and PlayoutPositions cost a ply inside the server, so that the network's part can be
//! told: the rules alone on values, the rules with text in and out as a program would use the library that keeps its positions as text, the
//! handler, and the messages as protobuf besides. Last what it takes a server that is called over a connection: processor time of its
//! process, the system's for it included. Batches are of 1,000 positions.

#[path = "support/samples.rs"]
mod samples;
#[path = "support/served.rs"]
mod served;

use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Move, Position, Record, Rules};
use mancala::random::SeededDice;
use mancala::service::Compute;
use mancala::wire::RulesHandlers;
use mancala::wire::proto::rules_service_client::RulesServiceClient;
use mancala::wire::proto::rules_service_server::RulesService;
use mancala::wire::proto::{self, PositionStep, StepPositionsRequest};
use prost::Message;
use served::Served;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tonic::Request;
use tonic::transport::Channel;

const POSITIONS: usize = 1_000;
const PLAYOUTS: u32 = 10;
const TURNS: u32 = 15;
/// So long a server is called in a turn.
const SERVED: Duration = Duration::from_millis(100);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let served = Served::start();
    println!("ns a ply                            rules  with text  handler  with protobuf  server");
    for game in Game::ALL {
        for moves in [1, 20] {
            report(game, &format!("{moves} moves a position"), steps(&runtime, &served, game, moves));
        }
        report(game, "playouts", playouts(&runtime, &served, game));
    }
}

fn report(game: Game, what: &str, [rules, text, handler, protobuf, server]: [f64; 5]) {
    println!("{:<14} {what:<19} {rules:>6.0} {text:>10.0} {handler:>8.0} {protobuf:>14.0} {server:>7.0}", game.id());
}

/// Nanoseconds a ply of four ways to do the same, which take turns: the best turn of each.
fn best(plies: u64, mut ways: [&mut dyn FnMut(); 4]) -> [f64; 4] {
    let mut best = [Duration::MAX; 4];
    for _ in 0..TURNS {
        for (best, way) in best.iter_mut().zip(&mut ways) {
            let from = Instant::now();
            way();
            *best = (*best).min(from.elapsed());
        }
    }
    best.map(|time| time.as_nanos() as f64 / plies as f64)
}

/// Nanoseconds a ply of a server's processor time, by calls one after the other: the best turn, as of the other ways.
fn over_connection(runtime: &Runtime, served: &Served, plies: u64, call: impl AsyncFn(&mut RulesServiceClient<Channel>)) -> f64 {
    runtime.block_on(async {
        let mut client = served.connect().await;
        call(&mut client).await;
        let mut best = f64::MAX;
        for _ in 0..TURNS {
            let mut calls = 0;
            let time = served.time_for(async {
                let begun = Instant::now();
                while begun.elapsed() < SERVED {
                    call(&mut client).await;
                    calls += 1;
                }
            });
            let time = time.await.as_nanos() as f64;
            best = best.min(time / (calls * plies) as f64);
        }
        best
    })
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

fn read(rules: &Rules, text: &str) -> Position {
    rules.read(text).expect("a position")
}

fn steps(runtime: &Runtime, served: &Served, game: Game, moves: usize) -> [f64; 5] {
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
    let [rules_only, text, handler, protobuf] = best(
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
            &mut || {
                for item in request.items.iter() {
                    let mut position = read(&rules, item.position());
                    for mv in item.moves() {
                        let mv = mv.parse().expect("a move");
                        position = rules.check(&position, mv).expect("a legal move").play(&mut ()).0;
                    }
                    black_box(position.to_string());
                }
            },
            &mut || drop(black_box(answer(request.clone()))),
            &mut || {
                let request = StepPositionsRequest::decode(bytes.as_slice()).expect("a request");
                black_box(answer(request).encode_to_vec());
            },
        ],
    );
    let server = over_connection(runtime, served, plies, async |client| {
        black_box(client.step_positions(request.clone()).await.expect("an answer"));
    });
    [rules_only, text, handler, protobuf, server]
}

fn playouts(runtime: &Runtime, served: &Served, game: Game) -> [f64; 5] {
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
    let [rules_only, text, handler, protobuf] = best(
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
            &mut || {
                for (place, start) in (0..).zip(&request.positions) {
                    let mut record = Record::new(rules, guards, read(&rules, start));
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
    );
    let server = over_connection(runtime, served, plies, async |client| {
        black_box(client.playout_positions(request.clone()).await.expect("an answer"));
    });
    [rules_only, text, handler, protobuf, server]
}
