//! The rules work without allocation: legal moves, checks, moves, and whole random games once a record has its memory.

use crate::support::TestDice;
use allocation_counter::measure;
use mancala::game::playout::playout;
use mancala::game::{Game, Guards, Record, Rules};
use mancala::random::SeededDice;
use std::hint::black_box;

/// That allocations are seen at all.
#[test]
fn a_vector_is_counted() {
    assert_eq!(measure(|| drop(black_box(vec![1u8; 10]))).count_total, 1);
}

#[test]
fn moves_are_listed_checked_and_played_without_allocation() {
    for game in Game::ALL {
        let rules = Rules::new(game);
        let mut dice = TestDice(5);
        let mut positions = 0;
        let counted = measure(|| {
            for _ in 0..20 {
                let mut position = rules.start();
                for _ in 0..500 {
                    let Some(drawn) = rules.sample(&position, &mut dice) else { break };
                    for mv in rules.legal_moves(&position) {
                        black_box(rules.check(&position, mv).expect("a listed move is legal").play(&mut ()));
                    }
                    position = rules.check(&position, drawn).expect("a drawn move is legal").play(&mut ()).0;
                    positions += 1;
                }
            }
        });
        assert_eq!(counted.count_total, 0, "{game:?}");
        assert!(positions > 200, "{game:?}: {positions}");
    }
}

#[test]
fn playouts_reuse_the_memory_of_their_record() {
    for game in Game::ALL {
        let rules = Rules::new(game);
        let guards = Guards::of(game);
        let mut record = Record::new(rules, guards, rules.start());
        let mut games = || {
            for seed in 0..200 {
                record.restart();
                playout(&mut record, guards.max_plies, &mut SeededDice::new(seed)).expect("guards end every game");
            }
        };
        games();
        assert_eq!(measure(games).count_total, 0, "{game:?}");
    }
}
