//! The rules through the public API: `cargo bench --bench engine`. Whole playouts beside the loops by hand, and the parts of a ply.

#[path = "support/samples.rs"]
mod samples;
mod yardstick;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Record, Rules};
use mancala::random::SeededDice;
use samples::Sample;
use std::hint::black_box;
use yardstick::Board;

const SAMPLES: usize = 256;
/// Games of a playout's benchmark.
const GAMES: u64 = 64;

fn playouts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("playouts");
    for game in Game::ALL {
        match game {
            Game::AliGuliMane => playouts_of::<yardstick::ali_guli_mane::AliGuliMane>(&mut group, game),
            Game::Ayoayo => playouts_of::<yardstick::ayoayo::Ayoayo>(&mut group, game),
            Game::Gore => playouts_of::<yardstick::gore::Gore>(&mut group, game),
            Game::Hoyito3 => playouts_of::<yardstick::hoyito3::Hoyito3>(&mut group, game),
            Game::Kiothi => playouts_of::<yardstick::kiothi::Kiothi>(&mut group, game),
        }
    }
}

/// Elements are plies.
fn playouts_of<B: Board>(group: &mut BenchmarkGroup<WallTime>, game: Game) {
    let rules = Rules::new(game);
    let guards = Guards::of(game);
    let mut record = Record::new(rules, guards, rules.start());
    let mut engine = || {
        (0..GAMES)
            .map(|seed| {
                record.restart();
                black_box(playout(&mut record, guards.max_plies, &mut SeededDice::new(seed)));
                record.moves().len() as u64
            })
            .sum::<u64>()
    };
    group.throughput(Throughput::Elements(engine()));
    group.bench_function(format!("{}/engine", game.id()), |bencher| bencher.iter(&mut engine));
    let mut seen = B::History::default();
    let mut by_hand = || {
        for seed in 0..GAMES {
            black_box(yardstick::playout::<B>(Some(&mut seen), &mut SeededDice::new(seed)));
        }
    };
    group.bench_function(format!("{}/by_hand", game.id()), |bencher| bencher.iter(&mut by_hand));
}

/// What is asked about positions and moves; elements are positions.
fn parts(criterion: &mut Criterion) {
    let of_game = |game: Game| {
        let rules = Rules::new(game);
        (game.id(), rules, samples::samples(&rules, SAMPLES))
    };
    let special = [
        ("gore offers", Rules::new(Game::Gore), samples::offers(SAMPLES)),
        ("kiothi partial harvests", Rules::new(Game::Kiothi), samples::partial_harvests(SAMPLES)),
    ];
    let sets: Vec<_> = Game::ALL.into_iter().map(of_game).chain(special).collect();
    let mut each = |name: &str, part: fn(&Rules, &Sample)| {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(SAMPLES as u64));
        for (set, rules, samples) in &sets {
            group.bench_function(*set, |bencher| bencher.iter(|| samples.iter().for_each(|sample| part(rules, sample))));
        }
    };
    each("legal_moves", |rules, (position, _)| {
        black_box(&rules.legal_moves(position));
    });
    each("each_legal_move", |rules, (position, _)| {
        rules.each_legal_move(position, |mv| _ = black_box(mv));
    });
    each("check", |rules, (position, mv)| {
        black_box(rules.check(position, *mv).is_ok());
    });
    each("apply", |rules, (position, mv)| {
        black_box(rules.check(position, *mv).expect("a legal move").play(&mut ()));
    });
}

/// Whole games move by move, as a session plays them, with history and guards; elements are plies.
fn records(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("record");
    for game in Game::ALL {
        let rules = Rules::new(game);
        let moves = samples::whole_game(&rules);
        let mut record = Record::new(rules, Guards::of(game), rules.start());
        group.throughput(Throughput::Elements(moves.len() as u64));
        group.bench_function(format!("{}/play", game.id()), |bencher| {
            bencher.iter(|| {
                record.restart();
                for &mv in &moves {
                    black_box(record.play(mv, &mut ()).expect("a legal move"));
                }
            });
        });
    }
}

criterion_group!(benches, playouts, parts, records);
criterion_main!(benches);
