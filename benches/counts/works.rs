//! The pieces of work that are counted. What they need is made beforehand; only the closures are counted.

use super::{messages, samples};
use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Move, Record, Rules, SetUp};
use mancala::random::SeededDice;
use prost::Message;
use std::collections::BTreeMap;
use std::hint::black_box;

pub type Work = Box<dyn FnMut()>;

/// A piece that differs from another one only in that it has a sixteenth more to do.
pub const PLANTED: &str = "planted";
pub const PLANTED_IN: &str = "ayoayo legal moves";

const SAMPLES: usize = 256;
/// Goré's games are ten times as long as the others.
const GAMES: u64 = 50;
/// How often a message is read or written.
const TIMES: u32 = 100;

pub fn all() -> BTreeMap<&'static str, Work> {
    let mut all: BTreeMap<&'static str, Work> = BTreeMap::new();
    for game in Game::ALL {
        let [playouts, moves, apply, play, write, read] = names(game);
        let rules = Rules::new(game);
        let taken = samples::samples(&rules, SAMPLES);
        all.insert(playouts, playouts_of(rules));
        all.insert(moves, listing(rules, taken.clone()));
        all.insert(
            apply,
            each(taken.clone(), move |(position, mv)| {
                _ = black_box(rules.check(position, *mv).expect("a legal move").play(&mut ()));
            }),
        );
        all.insert(play, record_of(rules));
        let texts: Vec<_> = taken.iter().map(|(position, mv)| (position.to_string(), mv.to_string())).collect();
        all.insert(write, each(taken, |(position, mv)| drop(black_box((position.to_string(), mv.to_string())))));
        all.insert(
            read,
            each(texts, move |(position, mv)| {
                let set_up = position.parse::<SetUp>().expect("a set-up");
                _ = black_box((set_up.position(&rules).expect("a position"), mv.parse::<Move>().expect("a move")));
            }),
        );
    }
    let ayoayo = Rules::new(Game::Ayoayo);
    let mut more = samples::samples(&ayoayo, SAMPLES);
    more.extend_from_within(..SAMPLES / 16);
    all.insert(PLANTED, listing(ayoayo, more));
    all.insert("protobuf apply request read", reading(&messages::apply_request()));
    all.insert("protobuf apply response written", writing(messages::apply_response()));
    all.insert("protobuf get request read", reading(&messages::get_request()));
    all.insert("protobuf get response written", writing(messages::get_response()));
    all.insert("protobuf moves request read", reading(&messages::moves_request()));
    all.insert("protobuf moves response written", writing(messages::moves_response()));
    all.insert("protobuf watch response written", writing(messages::watch_response()));
    all
}

const fn names(game: Game) -> [&'static str; 6] {
    macro_rules! of {
        ($id:literal) => {
            [
                concat!($id, " playouts"),
                concat!($id, " legal moves"),
                concat!($id, " check and apply"),
                concat!($id, " record"),
                concat!($id, " text written"),
                concat!($id, " text read"),
            ]
        };
    }
    match game {
        Game::AliGuliMane => of!("ali_guli_mane"),
        Game::Ayoayo => of!("ayoayo"),
        Game::Gore => of!("gore"),
        Game::Hoyito3 => of!("hoyito3"),
        Game::Kiothi => of!("kiothi"),
    }
}

fn each<T: 'static>(items: Vec<T>, work: impl Fn(&T) + 'static) -> Work {
    Box::new(move || items.iter().for_each(&work))
}

fn listing(rules: Rules, samples: Vec<samples::Sample>) -> Work {
    each(samples, move |(position, _)| _ = black_box(&rules.legal_moves(position)))
}

fn playouts_of(rules: Rules) -> Work {
    let guards = Guards::of(rules.game());
    let mut record = Record::new(rules, guards, rules.start());
    Box::new(move || {
        for seed in 0..GAMES {
            record.restart();
            black_box(playout(&mut record, guards.max_plies, &mut SeededDice::new(seed)));
        }
    })
}

/// One game, move by move as a session plays it.
fn record_of(rules: Rules) -> Work {
    let moves = samples::whole_game(&rules);
    let mut record = Record::new(rules, Guards::of(rules.game()), rules.start());
    Box::new(move || {
        record.restart();
        for &mv in &moves {
            black_box(record.play(mv, &mut ()).expect("a legal move"));
        }
    })
}

fn reading<M: Message + Default>(message: &M) -> Work {
    let bytes = message.encode_to_vec();
    Box::new(move || {
        for _ in 0..TIMES {
            drop(black_box(M::decode(black_box(bytes.as_slice())).expect("a message")));
        }
    })
}

fn writing<M: Message + 'static>(message: M) -> Work {
    let mut buffer = Vec::with_capacity(1_000);
    Box::new(move || {
        for _ in 0..TIMES {
            buffer.clear();
            black_box(&message).encode(&mut buffer).expect("a vector takes all");
            black_box(&buffer);
        }
    })
}
