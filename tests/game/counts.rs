//! Counts of all move sequences from the start, against those that two independent programs agree on.

use mancala::game::perft::{OpeningNotCounted, perft};
use mancala::game::{Game, Position, Rules, SetUp};

fn assert_counts(rules: &Rules, position: &Position, expected: &[u64]) {
    for (depth, &count) in (1..).zip(expected) {
        assert_eq!(perft(rules, position, depth), Ok(count), "{position} at depth {depth}");
    }
}

fn assert_counts_from_start(game: Game, expected: &[u64]) {
    let rules = Rules::new(game);
    assert_counts(&rules, &rules.start(), expected);
}

#[test]
fn gore() {
    assert_counts_from_start(Game::Gore, &[4, 16, 64, 241, 947, 3_701, 13_970, 54_132]);
}

#[test]
fn ayoayo() {
    assert_counts_from_start(Game::Ayoayo, &[6, 28, 132, 624, 2_870, 13_060, 58_901, 263_866]);
}

#[test]
fn ali_guli_mane() {
    assert_counts_from_start(Game::AliGuliMane, &[7, 36, 184, 806, 3_967, 16_784, 72_682, 288_850]);
}

#[test]
fn hoyito3() {
    assert_counts_from_start(Game::Hoyito3, &[6, 32, 158, 820, 4_056, 20_065, 98_533, 480_668]);
}

#[test]
fn kiothi_after_its_openings() {
    let rules = Rules::new(Game::Kiothi);
    let text = "kiothi 5*,5*,0,0,5*,5*,5*,5*,0,0/0,0,0,0,5*,5*,5*,5*,5*,5* 0-0 S sow";
    let position = text.parse::<SetUp>().unwrap().position(&rules).unwrap();
    assert_counts(&rules, &position, &[18, 276, 3_386, 56_453, 734_747]);
}

#[test]
fn kiothi_openings_are_not_enumerated() {
    let rules = Rules::new(Game::Kiothi);
    assert_eq!(perft(&rules, &rules.start(), 1), Err(OpeningNotCounted));
}
