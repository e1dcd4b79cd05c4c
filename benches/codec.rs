//! What goes over the wire: `cargo bench --bench codec`. Positions and moves as text, and the messages that are sent most as protobuf.

#[path = "support/messages.rs"]
mod messages;
#[path = "support/samples.rs"]
mod samples;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mancala::game::{Game, Move, Rules, SetUp};
use prost::Message;
use std::hint::black_box;

const SAMPLES: usize = 256;

/// Elements are texts.
fn text(criterion: &mut Criterion) {
    for game in Game::ALL {
        let rules = Rules::new(game);
        let samples = samples::samples(&rules, SAMPLES);
        let positions: Vec<_> = samples.iter().map(|(position, _)| position.to_string()).collect();
        let moves: Vec<_> = samples.iter().map(|(_, mv)| mv.to_string()).collect();
        let mut group = criterion.benchmark_group("text");
        group.throughput(Throughput::Elements(SAMPLES as u64));
        group.bench_function(format!("{}/position written", game.id()), |bencher| {
            bencher.iter(|| samples.iter().for_each(|(position, _)| drop(black_box(position.to_string()))));
        });
        group.bench_function(format!("{}/position read", game.id()), |bencher| {
            let read = |text: &String| text.parse::<SetUp>().expect("a set-up").position(&rules).expect("a position");
            bencher.iter(|| positions.iter().for_each(|text| _ = black_box(read(text))));
        });
        group.bench_function(format!("{}/move written", game.id()), |bencher| {
            bencher.iter(|| samples.iter().for_each(|(_, mv)| drop(black_box(mv.to_string()))));
        });
        group.bench_function(format!("{}/move read", game.id()), |bencher| {
            bencher.iter(|| moves.iter().for_each(|text| _ = black_box(text.parse::<Move>())));
        });
    }
}

fn protobuf(criterion: &mut Criterion) {
    message(criterion, "ApplyMoveRequest", &messages::apply_request());
    message(criterion, "ApplyMoveResponse", &messages::apply_response());
    message(criterion, "GetSessionRequest", &messages::get_request());
    message(criterion, "GetSessionResponse", &messages::get_response());
    message(criterion, "ListLegalMovesRequest", &messages::moves_request());
    message(criterion, "ListLegalMovesResponse", &messages::moves_response());
    message(criterion, "WatchSessionResponse", &messages::watch_response());
}

fn message<M: Message + Default>(criterion: &mut Criterion, name: &str, message: &M) {
    let bytes = message.encode_to_vec();
    let mut group = criterion.benchmark_group("protobuf");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let mut buffer = Vec::with_capacity(1_000);
    group.bench_function(format!("{name}/written"), |bencher| {
        bencher.iter(|| {
            buffer.clear();
            black_box(message).encode(&mut buffer).expect("a vector takes all");
            black_box(&buffer);
        });
    });
    group.bench_function(format!("{name}/read"), |bencher| {
        bencher.iter(|| M::decode(black_box(bytes.as_slice())).expect("a message"));
    });
}

criterion_group!(benches, text, protobuf);
criterion_main!(benches);
