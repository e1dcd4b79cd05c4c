//! Text as a position, by the rules of every game with every option: refused with reasons, or a position in good order.

use super::laws::{all_rules, assert_listed_is_checked, assert_move_laws, assert_text_is_lossless, total};
use super::planted;
use mancala::game::text::MAX_TEXT;
use mancala::game::{Dice, Game, Move, PitSet, Position, Redistribution, Rules, SetUp};
use std::collections::BTreeSet;

/// The text of a position, and after a line feed bytes that drive moves from it.
pub fn check(input: &[u8]) {
    let line_end = input.iter().position(|&byte| byte == b'\n');
    let (text, drive) = line_end.map_or((input, &[][..]), |end| (&input[..end], &input[end + 1..]));
    let text = String::from_utf8_lossy(text);
    match text.parse::<SetUp>() {
        Err(error) => {
            let within = 1..=text.chars().count().max(MAX_TEXT) + 1;
            assert!(within.contains(&error.at) && !error.expected.is_empty(), "{text:?}: {error}");
        }
        Ok(set_up) => {
            planted::never("a position is written with two blanks", text.contains("  "));
            let chosen = text.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % 65_521);
            Game::ALL.into_iter().for_each(|game| judge(&set_up, game, chosen, drive));
        }
    }
}

/// By every choice of a game's options; the laws, which take long, by the default ones and by those that the text chooses.
fn judge(set_up: &SetUp, game: Game, chosen: usize, drive: &[u8]) {
    let all = all_rules(game);
    for (place, rules) in all.iter().enumerate() {
        match set_up.position(rules) {
            Ok(position) => {
                assert_eq!(game, set_up.game, "{position}");
                assert_eq!(total(&position), rules.start().on_board(), "{position}");
                assert_text_is_lossless(rules, &position);
                if place == 0 || place == chosen % all.len() {
                    assert_listed_is_checked(rules, &position);
                    follow(rules, position, drive);
                }
            }
            Err(faults) => {
                let distinct: BTreeSet<_> = faults.iter().map(ToString::to_string).collect();
                assert!(!faults.is_empty() && distinct.len() == faults.len(), "none or twice the same fault: {faults:?}");
            }
        }
    }
}

/// Plays every listed move for its laws, then one that the bytes choose, and so on.
fn follow(rules: &Rules, mut position: Position, drive: &[u8]) {
    for byte in drive.iter().take(16).map(Some).chain([None]) {
        let listed = rules.legal_moves(&position);
        for &mv in &listed {
            let legal = rules.check(&position, mv).expect("a listed move is legal");
            assert_eq!(legal.mv(), mv, "a listed move is as it is written");
            assert_move_laws(&position, legal);
            assert_text_is_lossless(rules, &legal.play(&mut ()).0);
        }
        let Some(&byte) = byte else { return };
        let drawn = match rules.redistributions(&position) {
            Some(_) => rules.sample(&position, &mut Bytes(byte)).inspect(|&mv| try_redistributions(rules, &position, mv, byte)),
            None => listed.get(usize::from(byte) % listed.len().max(1)).copied(),
        };
        let Some(mv) = drawn else { return };
        position = rules.check(&position, mv).expect("a drawn move is legal").play(&mut ()).0;
    }
}

/// A redistribution that is drawn is legal; one that is changed in one place is not.
fn try_redistributions(rules: &Rules, position: &Position, mv: Move, byte: u8) {
    let Move::Redistribute(drawn) = mv else { panic!("{mv} is due in {position}") };
    assert_move_laws(position, rules.check(position, mv).expect("a drawn move is legal"));
    let mut more = drawn;
    more.placed[usize::from(byte) % more.placed.len()] ^= 1 + byte / 32;
    let emptied: PitSet = drawn.emptied.iter().chain([byte % 32]).collect();
    let fewer = Redistribution { emptied: drawn.emptied.iter().skip(1).collect(), ..drawn };
    for wrong in [more, fewer].into_iter().chain((emptied != drawn.emptied).then_some(Redistribution { emptied, ..drawn })) {
        let refused = rules.check(position, Move::Redistribute(wrong));
        assert!(refused.is_err(), "{} is legal in {position}", Move::Redistribute(wrong));
    }
}

/// Dice that a byte determines.
struct Bytes(u8);

impl Dice for Bytes {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(77).wrapping_add(29);
        ((u128::from(self.0) * u128::from(sides)) >> 8) as u64
    }
}
