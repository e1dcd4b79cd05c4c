//! What the tests of the rules share: reading text, all option values, and reproducible dice.

#![allow(dead_code, reason = "each test binary uses its own part")]

use mancala::game::{Dice, Game, Move, Position, Rules, SetUp, SetUpFault};

/// SplitMix64: good enough to draw moves for tests, and the rules need no library for it.
pub struct TestDice(pub u64);

impl Dice for TestDice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(sides)) >> 64) as u64
    }
}

/// Dice that always show the same side, and remember how many sides there were.
pub struct Loaded {
    pub shows: u64,
    pub sides: u64,
}

impl Dice for Loaded {
    fn below(&mut self, sides: u64) -> u64 {
        self.sides = sides;
        self.shows.min(sides - 1)
    }
}

/// Fisher and Yates.
pub fn shuffle<T>(items: &mut [T], dice: &mut TestDice) {
    for i in (1..items.len()).rev() {
        items.swap(i, dice.below(i as u64 + 1) as usize);
    }
}

/// More cases when `MANCALA_TEST_LONG=1`.
pub fn cases(short: u32, long: u32) -> u32 {
    if std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// The rules of a game, some of its options chosen by numbers.
pub fn rules_with_choices(game: Game, choices: [u8; 3]) -> Rules {
    let specs = Rules::new(game).option_specs();
    let options =
        specs.iter().zip(choices).map(|(spec, choice)| (spec.name, spec.values[usize::from(choice) % spec.values.len()]));
    Rules::with_options(game, options).expect("listed options and values are known")
}

/// The rules of the game that a position's text begins with, with options written like `bonus=optional`.
pub fn rules_of(position: &str, options: &[&str]) -> Rules {
    let game = Game::from_id(position.split(' ').next().unwrap_or_default()).unwrap_or_else(|| panic!("{position}"));
    let options = options.iter().map(|option| option.split_once('=').expect("NAME=VALUE"));
    Rules::with_options(game, options).unwrap_or_else(|faults| panic!("{faults:?}"))
}

pub fn set_up(text: &str) -> SetUp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn accepted(rules: &Rules, text: &str) -> Position {
    set_up(text).position(rules).unwrap_or_else(|faults| panic!("{text}: {}", joined(&faults)))
}

pub fn mv(text: &str) -> Move {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn joined(faults: &[SetUpFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The position after a move, as text.
pub fn after(rules: &Rules, from: &str, move_text: &str) -> String {
    let position = accepted(rules, from);
    let legal = rules.check(&position, mv(move_text)).unwrap_or_else(|illegal| panic!("{move_text} in {from}: {illegal}"));
    legal.play(&mut ()).0.to_string()
}

/// All legal moves as text, in the order listed.
pub fn listed(rules: &Rules, position: &str) -> Vec<String> {
    rules.legal_moves(&accepted(rules, position)).iter().map(ToString::to_string).collect()
}
