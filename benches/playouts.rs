//! `cargo bench --bench playouts`: random games through the public API beside the loop written by hand for each game, as a ratio.
//!
//! The two take turns, many short ones, so that whatever else the machine does meets both; each is given its best turn. Both play the
//! same games: `tests/game/yardstick.rs`. `--json` prints one object; names of games choose some of them.

mod yardstick;

use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Record, Rules};
use mancala::random::SeededDice;
use std::hint::black_box;
use std::time::{Duration, Instant};
use yardstick::Board;
use yardstick::ali_guli_mane::AliGuliMane;
use yardstick::ayoayo::Ayoayo;
use yardstick::gore::Gore;
use yardstick::hoyito3::Hoyito3;
use yardstick::kiothi::Kiothi;

const TURNS: u64 = 40;
const TURN: Duration = Duration::from_millis(25);

/// Plies a second.
struct Speeds {
    engine: f64,
    loop_: f64,
}

impl Speeds {
    fn ratio(&self) -> f64 {
        self.engine / self.loop_
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let chosen = |game: &Game| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|name| name == game.id())
    };
    if !json {
        println!("million plies/s   as usual: engine   loop  ratio   no history: engine   loop  ratio");
    }
    let mut object = Vec::new();
    for game in Game::ALL.into_iter().filter(chosen) {
        let [usual, bare] = [true, false].map(|history| match game {
            Game::AliGuliMane => measure::<AliGuliMane>(game, history),
            Game::Ayoayo => measure::<Ayoayo>(game, history),
            Game::Gore => measure::<Gore>(game, history),
            Game::Hoyito3 => measure::<Hoyito3>(game, history),
            Game::Kiothi => measure::<Kiothi>(game, history),
        });
        if json {
            object.push(format!(
                "\"{}\": {{\"engine\": {:.0}, \"loop\": {:.0}, \"engine_no_history\": {:.0}, \"loop_no_history\": {:.0}}}",
                game.id(),
                usual.engine,
                usual.loop_,
                bare.engine,
                bare.loop_
            ));
        } else {
            let show = |Speeds { engine, loop_ }: &Speeds| format!("{:6.2} {:6.2}", engine / 1e6, loop_ / 1e6);
            println!(
                "{:<27} {}  {:5.2} {:>19} {}  {:5.2}",
                game.id(),
                show(&usual),
                usual.ratio(),
                "",
                show(&bare),
                bare.ratio()
            );
        }
    }
    if json {
        println!("{{{}}}", object.join(", "));
    }
}

fn measure<B: Board>(game: Game, history: bool) -> Speeds {
    let rules = Rules::new(game);
    let usual = Guards::of(game);
    let guards = if history { usual } else { Guards { repetition: 0, ..usual } };
    let mut record = Record::new(rules, guards, rules.start());
    let mut seen = history.then(B::History::default);
    let mut best = Speeds { engine: 0.0, loop_: 0.0 };
    for turn in 0..TURNS {
        let engine = speed(turn, |dice| {
            record.restart();
            black_box(playout(&mut record, guards.max_plies, dice));
            record.moves().len() as u64
        });
        let loop_ = speed(turn, |dice| {
            let (board, plies) = yardstick::playout::<B>(seen.as_mut(), dice);
            black_box(board);
            u64::from(plies)
        });
        best = Speeds { engine: best.engine.max(engine), loop_: best.loop_.max(loop_) };
    }
    best
}

/// Plies a second of games that are played for one turn's time.
fn speed(turn: u64, mut game: impl FnMut(&mut SeededDice) -> u64) -> f64 {
    let mut dice = SeededDice::new(turn);
    let mut plies = 0;
    let from = Instant::now();
    while from.elapsed() < TURN {
        for _ in 0..16 {
            plies += game(&mut dice);
        }
    }
    plies as f64 / from.elapsed().as_secs_f64()
}
