//! Laws that hold in every position of every game with every option, on random games and random set-ups.

use crate::laws::{assert_listed_is_checked, assert_move_laws, assert_text_is_lossless, conceivable_moves};
use crate::set_ups::{any_start, config, walk};
use crate::support::{Loaded, TestDice, rules_with_choices, shuffle};
use mancala::game::{Dice, EndReason, Game, Guards, MAX_PITS, Move, Phase, PitSet, Position, Record, Redistribution, Seat};
use proptest::prelude::*;
use std::collections::HashMap;

/// A move as a careless hand writes it: sets in any order, blanks wherever they may stand.
fn scrambled(mv: &Move, dice: &mut TestDice) -> String {
    let mut parts = |set: Vec<String>, joint: &str| {
        let mut set = set;
        shuffle(&mut set, dice);
        let blanks = [" ", "", "\t ", "  "];
        set.join(&format!("{}{joint}{}", blanks[dice.below(4) as usize], blanks[dice.below(4) as usize]))
    };
    let names = |pits: &PitSet| pits.iter().map(|pit| pit.to_string()).collect();
    let text = match mv {
        Move::Offer(pits) => format!("offer   {}", parts(names(pits), "+")),
        Move::Redistribute(Redistribution { emptied, placed }) => {
            let placed = placed.iter().enumerate().map(|(pit, seeds)| format!("{pit} : {seeds}")).collect();
            format!("{} > {}", parts(names(emptied), "+"), parts(placed, ","))
        }
        Move::Sow { pit, seeds: Some(seeds) } => format!("{pit} x {seeds}"),
        Move::Sow { seeds: None, .. } | Move::Answer { .. } | Move::Pass => mv.to_string(),
    };
    format!(" {text}\t ")
}

proptest! {
    #![proptest_config(config(96, 4_000))]

    #[test]
    fn laws_of_positions((rules, start) in any_start(), seed: u64) {
        walk(&rules, start, seed, 24, |position, _| {
            assert_listed_is_checked(&rules, position);
            assert_text_is_lossless(&rules, position);
        });
    }

    /// A drawn move is the one at the drawn place of the list, so that each is as likely as any other.
    #[test]
    fn moves_are_drawn_from_the_list((rules, start) in any_start(), seed: u64) {
        walk(&rules, start, seed, 24, |position, _| {
            for (shows, listed) in (0..).zip(rules.legal_moves(position)) {
                let mut dice = Loaded { shows, sides: 0 };
                assert_eq!(rules.sample(position, &mut dice), Some(listed), "{position}");
                assert_eq!(dice.sides, rules.legal_moves(position).len() as u64, "{position}");
            }
        });
    }

    #[test]
    fn laws_of_moves((rules, start) in any_start(), seed: u64) {
        let mut dice = TestDice(seed);
        walk(&rules, start, seed, 200, |position, legal| {
            for mv in rules.legal_moves(position) {
                assert_move_laws(position, rules.check(position, mv).expect("a listed move is legal"));
            }
            if let Some(legal) = legal {
                assert_move_laws(position, legal);
                let text = scrambled(&legal.mv(), &mut dice);
                assert_eq!(text.parse(), Ok(legal.mv()), "{text:?}");
            }
        });
    }

    /// What is legal among redistributions, said in another way than the engine does.
    #[test]
    fn redistributions_are_checked(choices: [u8; 3], seed: u64, changes in any::<[(u8, u8); 2]>(), emptied in 0..1u32 << 22) {
        let mut dice = TestDice(seed);
        let rules = rules_with_choices(Game::Kiothi, choices);
        let start = rules.start();
        let Some(Move::Redistribute(drawn)) = rules.sample(&start, &mut dice) else { panic!("an opening is drawn") };
        let mut changed = drawn;
        for (pit, seeds) in changes {
            changed.placed[usize::from(pit) % MAX_PITS] = seeds % 12;
        }
        if seed % 2 == 0 {
            changed.emptied = (0..22).filter(|pit| emptied >> pit & 1 == 1).collect();
        }
        for Redistribution { emptied, placed } in [drawn, changed] {
            let lifted: u32 = emptied.iter().map(|pit| u32::from(start.seeds(pit))).sum();
            let fits = emptied.len() == 2
                && emptied.iter().all(|pit| pit < 10 && start.seeds(pit) > 0)
                && lifted == placed.iter().map(|&seeds| u32::from(seeds)).sum::<u32>();
            let mv = Move::Redistribute(Redistribution { emptied, placed });
            prop_assert_eq!(rules.check(&start, mv).is_ok(), fits, "{}", mv);
            prop_assert_eq!(mv.to_string().parse(), Ok(mv));
        }
    }

    #[test]
    fn games_end_under_their_guards((rules, start) in any_start(), seed: u64) {
        let guards = Guards::of(rules.game());
        let mut record = Record::new(rules, guards, start);
        let mut dice = TestDice(seed);
        while let Some(mv) = rules.sample(record.position(), &mut dice) {
            record.play(mv, &mut ()).expect("a drawn move is legal");
        }
        prop_assert!(record.moves().len() <= guards.max_plies as usize);
        prop_assert!(record.position().is_over() && record.position().outcome().is_some());
        assert_text_is_lossless(&rules, record.position());
    }

    /// Guards against the plainest way to keep them: a table of all texts, and counts that start anew at captures.
    #[test]
    fn guards_count_as_they_say(
        (rules, start) in any_start(), seed: u64, repetition in 0..4u32, quiet in 0..30u32, max_plies in 0..120u32,
    ) {
        let same = |p: &Position| (p.pits().to_vec(), p.banks(), p.to_act(), p.phase(), p.controlled(Seat::North), p.marked());
        let mut record = Record::new(rules, Guards { repetition, quiet, max_plies }, start);
        let mut dice = TestDice(seed);
        let mut seen = HashMap::from([(same(&start), 1)]);
        let mut quiet_plies = 0;
        for plies in 1..=300 {
            let Some(mv) = rules.sample(record.position(), &mut dice) else { break };
            let by_rules = rules.check(record.position(), mv).unwrap().play(&mut ()).0;
            let previewed = record.preview(mv, &mut ()).unwrap();
            let ply = record.play(mv, &mut ()).unwrap();
            prop_assert_eq!((previewed.position, previewed.ply), (*record.position(), ply));
            let times = *seen.entry(same(&by_rules)).and_modify(|times| *times += 1).or_insert(1);
            if ply.captured > 0 {
                quiet_plies = 0;
            } else if !matches!(mv, Move::Answer { .. }) {
                quiet_plies += 1;
            }
            let reached = |limit: u32, count: u32| limit > 0 && count >= limit;
            let expected = if by_rules.is_over() {
                by_rules.phase()
            } else if reached(repetition, times) {
                Phase::Over(EndReason::Repetition)
            } else if reached(quiet, quiet_plies) {
                Phase::Over(EndReason::Quiet)
            } else if reached(max_plies, plies) {
                Phase::Over(EndReason::MaxPlies)
            } else {
                by_rules.phase()
            };
            prop_assert_eq!(record.position().phase(), expected, "ply {}, {}", plies, record.position());
            assert_text_is_lossless(&rules, record.position());
        }
        record.restart();
        prop_assert_eq!(format!("{record:?}"), format!("{:?}", Record::new(rules, record.guards(), start)));
    }

    #[test]
    fn a_refused_move_changes_nothing((rules, start) in any_start(), seed: u64) {
        let mut record = Record::new(rules, Guards::of(rules.game()), start);
        let mut dice = TestDice(seed);
        for _ in 0..10 {
            let before = format!("{record:?}");
            for mv in conceivable_moves() {
                if rules.check(record.position(), mv).is_err() {
                    let mut steps = Vec::new();
                    prop_assert!(record.play(mv, &mut steps).is_err());
                    prop_assert_eq!(steps, vec![]);
                }
            }
            prop_assert_eq!(format!("{record:?}"), before);
            let Some(mv) = rules.sample(record.position(), &mut dice) else { break };
            record.play(mv, &mut ()).unwrap();
        }
    }
}
