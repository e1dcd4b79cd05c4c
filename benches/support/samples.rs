//! Positions and moves out of random games, the same in every run.

#![allow(dead_code, reason = "each program uses its own part")]

use mancala::game::{Dice, Game, Guards, Move, Phase, Position, Record, Rules};
use mancala::random::SeededDice;

/// A position, and a move that is legal in it.
pub type Sample = (Position, Move);

/// So many samples out of random games, Kiothi's openings left out, which have no list of moves.
pub fn samples(rules: &Rules, count: usize) -> Vec<Sample> {
    collect(rules, count, |position, _| !matches!(position.phase(), Phase::Open1 | Phase::Open2))
}

/// Positions of Goré in which there is something to trade, with an offer each.
pub fn offers(count: usize) -> Vec<Sample> {
    collect(&Rules::new(Game::Gore), count, |_, mv| matches!(mv, Move::Offer(_)))
}

/// Positions of Kiothi with a harvest that leaves something in its pit.
pub fn partial_harvests(count: usize) -> Vec<Sample> {
    let is_partial = |position: &Position, mv: &Move| match mv {
        Move::Sow { pit, seeds: Some(seeds) } => *seeds < position.seeds(*pit),
        _ => false,
    };
    collect(&Rules::new(Game::Kiothi), count, is_partial)
}

fn collect(rules: &Rules, count: usize, fits: impl Fn(&Position, &Move) -> bool) -> Vec<Sample> {
    let mut dice = SeededDice::new(7);
    let mut record = Record::new(*rules, Guards::of(rules.game()), rules.start());
    let mut samples = Vec::with_capacity(count);
    while samples.len() < count {
        match rules.sample(record.position(), &mut dice) {
            Some(mv) => {
                // Not every ply, so that they come out of many games.
                if dice.below(8) == 0 && fits(record.position(), &mv) {
                    samples.push((*record.position(), mv));
                }
                record.play(mv, &mut ()).expect("a drawn move is legal");
            }
            None => record.restart(),
        }
    }
    samples
}

/// The moves of one game of usual length for its kind, to its end.
pub fn whole_game(rules: &Rules) -> Vec<Move> {
    let mut record = Record::new(*rules, Guards::of(rules.game()), rules.start());
    let mut dice = SeededDice::new(3);
    while let Some(mv) = rules.sample(record.position(), &mut dice) {
        record.play(mv, &mut ()).expect("a drawn move is legal");
    }
    record.moves().to_vec()
}
