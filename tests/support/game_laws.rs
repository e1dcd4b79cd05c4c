//! What must hold of every position and every move of every game.

#![allow(dead_code, reason = "each test binary uses its own part")]

use mancala::game::observer::{Board, Step};
use mancala::game::{Legal, Move, PitSet, Position, Rules, Seat, SetUp};
use std::collections::HashSet;

pub fn total(position: &Position) -> u32 {
    position.on_board() + Seat::BOTH.map(|seat| u32::from(position.banks()[seat])).iter().sum::<u32>()
}

/// Every move that can be thought of but redistributions, legal or not.
pub fn conceivable_moves() -> Vec<Move> {
    let counts = || std::iter::once(None).chain((0..=61).chain([255]).map(Some));
    let sowings = (0..=20).chain([31, 32, 255]).flat_map(|pit| counts().map(move |seeds| Move::Sow { pit, seeds }));
    let offers = (0..1u32 << 9).map(|bits| Move::Offer((0..9).filter(|pit| bits >> pit & 1 == 1).collect()));
    let rest = [Move::Pass, Move::Answer { accept: true }, Move::Answer { accept: false }, Move::Offer(PitSet::of(31))];
    sowings.chain(offers).chain(rest).collect()
}

pub fn assert_listed_is_checked(rules: &Rules, position: &Position) {
    let listed = rules.legal_moves(position);
    let mut legal = HashSet::new();
    for mv in conceivable_moves() {
        if let Ok(checked) = rules.check(position, mv) {
            assert_eq!(rules.check(position, checked.mv()), Ok(checked), "the canonical form of {mv} is legal in {position}");
            legal.insert(checked.mv());
        }
    }
    assert_eq!(listed.len(), legal.len(), "nothing is listed twice in {position}: {listed:?}");
    assert_eq!(listed.iter().copied().collect::<HashSet<_>>(), legal, "{position}");
    let family = rules.redistributions(position).map_or(0, |family| family.total);
    assert_eq!(position.is_over(), listed.is_empty() && family == 0, "something can be done in {position}");
}

pub fn assert_text_is_lossless(rules: &Rules, position: &Position) {
    let text = position.to_string();
    let set_up: SetUp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(set_up.position(rules).as_ref(), Ok(position), "{text}");
}

/// The drawn move, played: seeds stay, steps lead to the same board, watching changes nothing, text is read as written.
pub fn assert_move_laws(position: &Position, legal: Legal) {
    let text = legal.mv().to_string();
    assert_eq!(text.parse(), Ok(legal.mv()), "{text}");
    let (to, ply) = legal.play(&mut ());
    let mut steps: Vec<Step> = Vec::new();
    assert_eq!(legal.play(&mut steps), (to, ply), "{text} in {position}, watched");
    assert_eq!(total(position), total(&to), "{text} in {position}");
    let mut board = Board::from(position);
    steps.iter().for_each(|step| board.apply(*step));
    let expected = Board::from(&to);
    // A move that ends the game gives the turn to nobody.
    let to_act = if to.is_over() { board.to_act } else { expected.to_act };
    assert_eq!(board, Board { to_act, ..expected }, "{text} in {position}: {steps:?}");
    let captured = |step: &Step| if let Step::Capture { seeds, .. } = step { u32::from(*seeds) } else { 0 };
    assert_eq!(steps.iter().map(captured).sum::<u32>(), u32::from(ply.captured));
    assert_eq!(steps.contains(&Step::Void), ply.endless);
}
