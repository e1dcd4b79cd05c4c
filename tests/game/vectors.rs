//! The engine against the vectors: games, sparse positions with all their legal moves, and endless sowings.

use mancala::game::{Game, Guards, Legal, Move, Outcome, Position, Record, Rules, Seat, SetUp};
use serde_json::Value;
use std::collections::BTreeMap;

fn lines(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: Vec<_> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect();
    assert!(!lines.is_empty(), "{path} is empty");
    lines
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}

fn position(rules: &Rules, text: &str) -> Position {
    let set_up: SetUp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    set_up.position(rules).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

fn check(rules: &Rules, position: &Position, text: &str) -> Legal {
    let mv: Move = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    rules.check(position, mv).unwrap_or_else(|illegal| panic!("{text} in {position}: {illegal}"))
}

fn assert_outcome(outcome: Outcome, expected: &Value) {
    let winner = expected["winner"].as_str().map(|letter| Seat::from_letter(letter.chars().next().unwrap()).unwrap());
    assert_eq!(outcome.winner, winner);
    assert_eq!(outcome.reason.name(), text(&expected["reason"]));
    if let Some(without_glory) = expected.get("without_glory") {
        assert_eq!(outcome.without_glory, without_glory.as_bool().unwrap());
    }
}

#[test]
fn games_go_as_recorded() {
    for game in Game::ALL {
        let mut finished = 0;
        for line in lines(&format!("{}.games.jsonl", game.id())) {
            let rules = Rules::new(game);
            let start = position(&rules, text(&line["start"]));
            assert_eq!(start, rules.start());
            let mut record = Record::new(rules, Guards::OFF, start);
            for ply in line["plies"].as_array().unwrap() {
                let mv = check(&rules, record.position(), text(&ply[0])).mv();
                assert_eq!(mv.to_string(), text(&ply[0]));
                record.play(mv, &mut ()).unwrap();
                assert_eq!(record.position().to_string(), text(&ply[1]), "{} after {mv}", line["id"]);
                assert_eq!(position(&rules, text(&ply[1])), *record.position());
            }
            if !line["result"].is_null() {
                assert_outcome(record.position().outcome().expect("the game has ended"), &line["result"]);
                finished += 1;
            }
        }
        assert!(finished > 10, "{} has finished games", game.id());
    }
}

#[test]
fn positions_have_the_recorded_moves() {
    for game in Game::ALL {
        let rules = Rules::new(game);
        for line in lines(&format!("{}.positions.jsonl", game.id())) {
            let position = position(&rules, text(&line["position"]));
            let found: BTreeMap<_, _> = rules
                .legal_moves(&position)
                .iter()
                .map(|mv| (mv.to_string(), rules.check(&position, *mv).unwrap().play(&mut ()).0.to_string()))
                .collect();
            let expected: BTreeMap<_, _> =
                line["legal"].as_object().unwrap().iter().map(|(mv, to)| (mv.clone(), text(to).to_owned())).collect();
            assert_eq!(found, expected, "{position}");
        }
    }
}

#[test]
fn endless_sowings_are_void() {
    for line in lines("endless.jsonl") {
        let set_up: SetUp = text(&line["position"]).parse().unwrap();
        let rules = Rules::new(set_up.game);
        let from = set_up.position(&rules).unwrap();
        let mut steps = Vec::new();
        let (to, ply) = check(&rules, &from, text(&line["endless"])).play(&mut steps);
        assert!(ply.endless, "{from}");
        assert_eq!(ply.captured, 0);
        assert_eq!(to.to_string(), text(&line["to"]));
        assert_eq!(steps.len(), 2, "an endless sowing is one void and one turn: {steps:?}");
    }
}
