//! Whatever comes in as text or as a set-up is judged: refused with reasons, or taken as a position in good order. Never a panic.

use crate::laws::{assert_listed_is_checked, assert_move_laws, assert_text_is_lossless, total};
use crate::set_ups::{any_rules, any_seat, any_start, config, sensible_set_up, walk, wild_set_up};
use crate::slow_text;
use crate::support::{TestDice, rules_with_choices, shuffle};
use mancala::game::text::MAX_TEXT;
use mancala::game::{Game, Move, PositionError, Rules, SetUp};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashSet;

/// Whatever comes of a set-up, it is no panic, and what is accepted is a position in good order.
fn assert_set_up_is_judged(set_up: &SetUp) {
    for game in Game::ALL {
        for choices in [[0; 3], [1; 3], [2; 3]] {
            let rules = rules_with_choices(game, choices);
            match set_up.position(&rules) {
                Ok(position) => {
                    assert_eq!(total(&position), rules.start().on_board());
                    assert_text_is_lossless(&rules, &position);
                    assert_listed_is_checked(&rules, &position);
                    if let Some(mv) = rules.sample(&position, &mut TestDice(1)) {
                        assert_move_laws(&position, rules.check(&position, mv).unwrap());
                    }
                }
                Err(faults) => {
                    assert!(!faults.is_empty());
                    let distinct: HashSet<_> = faults.iter().map(ToString::to_string).collect();
                    assert_eq!(distinct.len(), faults.len(), "no fault is told twice: {faults:?}");
                }
            }
        }
    }
}

fn assert_text_is_judged(text: &str) {
    let within = 1..=text.chars().count().max(MAX_TEXT) + 1;
    assert_eq!(text.parse::<SetUp>(), slow_text::set_up(text), "{text:?}");
    assert_eq!(text.parse::<Move>(), slow_text::mv(text), "{text:?}");
    for game in Game::ALL {
        let rules = Rules::new(game);
        let by_set_up = text.parse().map_err(PositionError::Text);
        let by_set_up = by_set_up.and_then(|set_up: SetUp| set_up.position(&rules).map_err(PositionError::SetUp));
        assert_eq!(rules.read(text), by_set_up, "{text:?}");
    }
    match text.parse::<SetUp>() {
        Ok(set_up) => assert_set_up_is_judged(&set_up),
        Err(error) => assert!(within.contains(&error.at), "{text:?}: {error}"),
    }
    match text.parse::<Move>() {
        Ok(mv) => {
            assert_eq!(mv.to_string().parse(), Ok(mv), "{text:?}");
            for game in Game::ALL {
                let rules = Rules::new(game);
                let _ = rules.check(&rules.start(), mv);
            }
        }
        Err(error) => assert!(within.contains(&error.at), "{text:?}: {error}"),
    }
}

/// The text of a position, with some of its characters replaced, left out or written twice.
fn near_text() -> impl Strategy<Value = String> {
    const CHARACTERS: &[char] = &['0', '1', '9', ',', '/', ' ', '-', '^', '*', 'x', 'S', 'N', ':', '+', '=', '>', 'a', 'é', '\0'];
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), 0..3u8, select(CHARACTERS)), 0..4);
    (any_start(), any::<u64>(), 0..60usize, changes).prop_map(|((rules, start), seed, plies, changes)| {
        let mut texts = Vec::new();
        walk(&rules, start, seed, plies, |position, legal| {
            texts.push(position.to_string());
            texts.extend(legal.map(|legal| legal.mv().to_string()));
        });
        let mut text: Vec<char> = texts[seed as usize % texts.len()].chars().collect();
        for (place, change, character) in changes {
            let place = place.index(text.len().max(1));
            match change {
                _ if text.is_empty() => text.push(character),
                0 => text[place] = character,
                1 => text.insert(place, character),
                _ => drop(text.remove(place)),
            }
        }
        text.into_iter().collect()
    })
}

/// Pieces of the notation in any order.
fn token_soup() -> impl Strategy<Value = String> {
    const TOKENS: &[&str] = &[
        "gore",
        "ayoayo",
        "kiothi",
        "6,6,6,6/6,6,6,6",
        " ",
        " ",
        " ",
        "0-0",
        "48-0",
        "S",
        "N",
        "sow",
        "open1",
        "bonus",
        "answer:",
        "over:",
        "quiet",
        "0+1",
        "31",
        "32",
        "9999",
        "10000",
        "x",
        "^",
        "*",
        "last=",
        "heir=",
        "refused=",
        "SN",
        "offer",
        "accept",
        "decline",
        "pass",
        ">",
        "0:3",
        ",",
        "/",
        "-",
        "\u{a0}",
        "٣",
    ];
    proptest::collection::vec(select(TOKENS), 0..16).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(config(200, 20_000))]

    #[test]
    fn wild_set_ups_are_judged(set_up in wild_set_up()) {
        assert_set_up_is_judged(&set_up);
    }

    #[test]
    fn sensible_set_ups_are_judged(set_up in any_rules().prop_flat_map(sensible_set_up)) {
        assert_set_up_is_judged(&set_up);
    }

    #[test]
    fn bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        assert_text_is_judged(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn near_text_is_judged(text in near_text()) {
        assert_text_is_judged(&text);
    }

    #[test]
    fn tokens_are_judged(text in token_soup()) {
        assert_text_is_judged(&text);
    }

    /// Keys are read in any order, every gap may be wider than one blank, and there may be blanks around what parts pits and banks.
    #[test]
    fn fields_of_a_position_may_be_spaced(seed: u64, last in any_seat(), heir in any_seat(), refused in any_seat()) {
        let mut dice = TestDice(seed);
        let [last_key, heir_key, refused_key] = [("last", last), ("heir", heir), ("refused", refused)]
            .map(|(key, seat)| format!("{key}={}", seat.letter()));
        let mut keys = [last_key.clone(), heir_key.clone(), refused_key.clone()];
        shuffle(&mut keys, &mut dice);
        let plain = format!("ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow {last_key} {heir_key} {refused_key}").parse::<SetUp>();
        let keys = keys.join("  ").replace('=', "= ");
        let spaced = format!(" ayoayo  4, 4 ,4,4,4 , 4 /\t4,4 , 4,4, 4,4\t0 -  0   S  sow  {keys} \r\n").parse::<SetUp>();
        prop_assert!(plain.is_ok());
        prop_assert_eq!(plain, spaced);
    }
}
