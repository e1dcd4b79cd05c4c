//! The loops that the engine is measured by play the same games: held against the vectors and, in whole games, against the engine.

use crate::by_hand::ali_guli_mane::AliGuliMane;
use crate::by_hand::ayoayo::Ayoayo;
use crate::by_hand::gore::Gore;
use crate::by_hand::hoyito3::Hoyito3;
use crate::by_hand::kiothi::Kiothi;
use crate::by_hand::{self, Board};
use crate::support::{Loaded, accepted, cases, mv};
use crate::translate::Translate;
use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Move, Position, Record, Rules};
use mancala::random::SeededDice;
use serde_json::Value;
use std::collections::BTreeMap;

/// All moves that a board draws.
fn moves<B: Board>(board: &B) -> Vec<B::Move> {
    let mut dice = Loaded { shows: 0, sides: 1 };
    let mut all = Vec::new();
    while dice.shows < dice.sides {
        all.push(board.draw(&mut dice));
        dice.shows += 1;
    }
    all
}

fn lines(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}

/// The loops know single games only: no closed pits, no heirs.
fn is_of_a_single_game(position: &Position) -> bool {
    position.closed().is_empty() && position.heir().is_none()
}

fn assert_moves_of_the_vectors<B: Translate>(game: Game) {
    let rules = Rules::new(game);
    let mut compared = 0;
    for line in lines(&format!("{}.positions.jsonl", game.id())) {
        let position = accepted(&rules, text(&line["position"]));
        if !is_of_a_single_game(&position) {
            continue;
        }
        let board = B::of(&position);
        let expected: BTreeMap<_, _> = line["legal"]
            .as_object()
            .expect("moves")
            .iter()
            .map(|(name, to)| (mv(name).to_string(), B::of(&accepted(&rules, text(to)))))
            .collect();
        let found = moves(&board).into_iter().map(|mv| {
            let mut after = board;
            after.play(mv);
            (B::name(mv).to_string(), after)
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{position}");
        compared += 1;
    }
    assert!(compared >= 100, "{game:?}: {compared} positions compared");
}

fn assert_games_of_the_vectors<B: Translate>(game: Game) {
    let rules = Rules::new(game);
    let mut plies = 0;
    for line in lines(&format!("{}.games.jsonl", game.id())) {
        let mut board = B::of(&accepted(&rules, text(&line["start"])));
        assert_eq!(board, B::start());
        for ply in line["plies"].as_array().expect("plies") {
            board.play(B::read(mv(text(&ply[0]))));
            assert_eq!(board, B::of(&accepted(&rules, text(&ply[1]))), "{} after {}", line["id"], ply[0]);
            plies += 1;
        }
    }
    assert!(plies > 500, "{game:?}: {plies} plies compared");
}

/// The same seed is the same game, move for move: as long, with the same end. In short games every position and all its moves are
/// compared too.
fn assert_games_of_the_engine<B: Translate>(game: Game) {
    let rules = Rules::new(game);
    let usual = Guards::of(game);
    for history in [true, false] {
        let guards = if history { usual } else { Guards { repetition: 0, ..usual } };
        let mut record = Record::new(rules, guards, rules.start());
        let mut seen = history.then(B::History::default);
        for seed in 0..u64::from(cases(500, 100_000)) {
            record.restart();
            playout(&mut record, guards.max_plies, &mut SeededDice::new(seed)).expect("guards end every game");
            let (board, plies) = by_hand::playout::<B>(seen.as_mut(), &mut SeededDice::new(seed));
            assert_eq!(plies as usize, record.moves().len(), "{game:?}, seed {seed}");
            assert_eq!(board, B::of(record.position()), "{game:?}, seed {seed}");
            if seed < 20 {
                assert_same_way::<B>(&rules, record.moves());
            }
        }
    }
}

fn assert_same_way<B: Translate>(rules: &Rules, way: &[Move]) {
    let mut position = rules.start();
    let mut board = B::start();
    for &mv in way {
        let listed: Vec<_> = rules.legal_moves(&position).into_iter().collect();
        if rules.redistributions(&position).is_none() {
            assert_eq!(moves(&board).into_iter().map(B::name).collect::<Vec<_>>(), listed, "{position}");
        }
        let (after, ply) = rules.check(&position, mv).expect("a move that was played is legal").play(&mut ());
        assert_eq!(board.play(B::read(mv)), ply.captured, "{mv} in {position}");
        position = after;
        assert_eq!(board, B::of(&position));
    }
}

macro_rules! checks {
    ($($name:ident: $board:ty, $game:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn moves_are_those_of_the_vectors() {
                assert_moves_of_the_vectors::<$board>($game);
            }

            #[test]
            fn games_go_as_in_the_vectors() {
                assert_games_of_the_vectors::<$board>($game);
            }

            #[test]
            fn games_go_as_the_engine_plays_them() {
                assert_games_of_the_engine::<$board>($game);
            }
        }
    )*};
}

checks! {
    ali_guli_mane: AliGuliMane, Game::AliGuliMane;
    ayoayo: Ayoayo, Game::Ayoayo;
    gore: Gore, Game::Gore;
    hoyito3: Hoyito3, Game::Hoyito3;
    kiothi: Kiothi, Game::Kiothi;
}
