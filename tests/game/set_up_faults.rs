//! Every fault of a set-up, of an option and of a text: alone, and with others.

use crate::support::{joined, rules_of, set_up};
use mancala::game::{BySeat, Game, Move, OptionFault, Rules, SetUp, SetUpFault, SetUpPit};
use std::collections::BTreeSet;

/// How many faults there are. A new one has no number in [`number`] until it is given one, and then must have a case.
const FAULTS: usize = 22;

fn number(fault: &SetUpFault) -> usize {
    match fault {
        SetUpFault::OtherGame { .. } => 0,
        SetUpFault::RowLength { .. } => 1,
        SetUpFault::SeedTotal { .. } => 2,
        SetUpFault::NoTrades { .. } => 3,
        SetUpFault::NoMarks { .. } => 4,
        SetUpFault::NoClosedPits { .. } => 5,
        SetUpFault::NoSuchPhase { .. } => 6,
        SetUpFault::NoLastSower { .. } => 7,
        SetUpFault::NoHeir { .. } => 8,
        SetUpFault::NoRefusals { .. } => 9,
        SetUpFault::MarkOutOfPlace { .. } => 10,
        SetUpFault::TooFewToRedistribute { .. } => 11,
        SetUpFault::NothingForBonus { .. } => 12,
        SetUpFault::ControlsNoPit { .. } => 13,
        SetUpFault::OfferImpossible { .. } => 14,
        SetUpFault::OfferNotAffordable { .. } => 15,
        SetUpFault::HasEnded { .. } => 16,
        SetUpFault::NotHandedOut { .. } => 17,
        SetUpFault::ClosedPitsHoldSeeds { .. } => 18,
        SetUpFault::NoSuchEnd { .. } => 19,
        SetUpFault::OfferInsteadOfPass { .. } => 20,
        SetUpFault::HasSeeds { .. } => 21,
    }
}

/// Options, a set-up as text, and all that is said against it.
const CASES: &[(&[&str], &str, &str)] = &[
    // One fault.
    (&[], "ayoayo 4,4,4,4,4/4,4,4,4,4,4 4-0 S sow", "South's row has 5 pits and must have 6"),
    (&[], "gore 6,6,6,6/6,6,6,6,0 0-0 S sow", "North's row has 5 pits and must have 4"),
    (&[], "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 1-0 S sow", "board and banks hold 49 seeds together and must hold 48"),
    (
        &["opening=five_of_five"],
        "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1",
        "board and banks hold 60 seeds together and must hold 50",
    ),
    (&[], "hoyito3 9999,9999,0,0,0,0/0,0,0,0,0,0 0-0 S sow", "board and banks hold 19998 seeds together and must hold 48"),
    (&[], "ayoayo 4^,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow", "Ayoayo's pits can't change controller; leave ^ out"),
    (&[], "hoyito3 4*,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow", "Hoyito III has no marked pits; leave * out"),
    (&[], "gore 6,6,6,6/6,6,6,x 6-0 S sow", "Goré has no closed pits; leave x out"),
    (&[], "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S bonus", "Ayoayo has no phase bonus"),
    (&[], "gore 6,6,6,6/6,6,6,6 0-0 S open1", "Goré has no phase open1"),
    (&[], "hoyito3 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S answer:0", "Hoyito III has no phase answer:0"),
    (&[], "gore 0,0,0,0/0,0,0,0 24-24 S over:final_four", "Goré does not end by final_four"),
    (&[], "gore 6,6,6,6/6,6,6,6 0-0 S sow last=S", "Goré does not need to know who sowed last; leave last= out"),
    (&[], "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow heir=N", "Ayoayo has no heir; leave heir= out"),
    (&[], "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow refused=N", "Ayoayo has no offers to refuse; leave refused= out"),
    (
        &[],
        "kiothi 0*,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S sow",
        "pit 0 can't be marked: only occupied pits are, and only after the openings",
    ),
    (
        &[],
        "kiothi 0,0,0,0,5*,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 N open2",
        "pit 4 can't be marked: only occupied pits are, and only after the openings",
    ),
    (
        &[],
        "kiothi 0,0,0,0,0,0,0,0,0,9/0,0,0,0,5,5,5,5,5,5 21-0 S open2",
        "South must redistribute two occupied pits of its row and has 1",
    ),
    // North would be stuck after South's redistribution.
    (
        &[],
        "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,0,0,0,0,0,0 0-30 S open1",
        "North must redistribute two occupied pits of its row and has 0",
    ),
    (
        &[],
        "ali_guli_mane 0,0,0,0,0,0,0/5,5,5,5,5,5,5 35-0 S bonus",
        "South has nothing to sow, so that there is no second sowing",
    ),
    (&[], "gore 6^,6^,6^,6^/6,6,6,6 0-0 N sow", "South controls no pit and must control at least one"),
    (
        &[],
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:4",
        "South can't offer these pits: an offer is one to three pits that its maker controls, and not all of them",
    ),
    (
        &[],
        "gore 6,6,0,0/0,0,0,0 12-24 N answer:0+1+2+3",
        "South can't offer these pits: an offer is one to three pits that its maker controls, and not all of them",
    ),
    (
        &[],
        "gore 6,6^,0^,0^/6,0,0,0 12-18 N answer:0",
        "South can't offer these pits: an offer is one to three pits that its maker controls, and not all of them",
    ),
    (
        &[],
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:31",
        "South can't offer these pits: an offer is one to three pits that its maker controls, and not all of them",
    ),
    (&[], "gore 6,6,6,6/6,6,6,0 0-6 N answer:0+1", "the offer costs 12 seeds, and North has 6 in its bank"),
    (&[], "gore 0,0,0,0/3,3,3,3 18-18 N answer:0", "South can't have made an offer: it has nothing to sow, and must have passed"),
    (
        &[],
        "ali_guli_mane 5,5,5,5,5,5,5/5,5,5,5,5,5,5 0-0 S over:no_seeds",
        "the game is not over by no_seeds: South has seeds to sow",
    ),
    (&[], "gore 2,2,2,2/2,2,2,2 16-16 S sow", "by the rules the game has ended here (all_below_three)"),
    (&[], "gore 2,2,2,2/2,2,2,2 16-16 S answer:4", "by the rules the game has ended here (all_below_three)"),
    (&[], "ayoayo 0,0,0,0,0,0/1,0,0,0,0,0 24-23 S sow", "by the rules the game has ended here (cannot_feed)"),
    (&[], "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S sow", "by the rules the game has ended here (board_empty)"),
    (&[], "kiothi 0,0,0,0,0,0,0,0,0,0/0,0,0,0,5,5,5,5,5,5 0-30 S sow", "by the rules the game has ended here (no_move)"),
    (&[], "ali_guli_mane 0,0,0,0,0,0,0/5,5,5,5,5,5,5 35-0 S sow", "by the rules the game has ended here (no_seeds)"),
    (
        &[],
        "gore 2,2,2,2/2,2,2,2 16-16 S over:all_below_three",
        "the game is over, but 16 seeds are still on the board and not in a bank",
    ),
    (
        &["leftovers=row_owner"],
        "ali_guli_mane 0,0,0,0,0,0,0/5,5,5,5,5,5,5 35-0 S over:no_seeds",
        "the game is over, but 35 seeds are still on the board and not in a bank",
    ),
    // All that can be said before there is a board.
    (
        &[],
        "gore 6,6,6*/6,6,6,x 0-0 S bonus last=N heir=S",
        "South's row has 3 pits and must have 4; board and banks hold 36 seeds together and must hold 48; \
         Goré has no marked pits; leave * out; Goré has no closed pits; leave x out; Goré has no phase bonus; \
         Goré does not need to know who sowed last; leave last= out; Goré has no heir; leave heir= out",
    ),
    (
        &[],
        "ayoayo 4^*,x,4,4,4,4/4,4,4,4,4,4 4-0 S sow refused=SN",
        "Ayoayo's pits can't change controller; leave ^ out; Ayoayo has no marked pits; leave * out; \
         Ayoayo has no closed pits; leave x out; Ayoayo has no offers to refuse; leave refused= out",
    ),
    // All that can be said of a board.
    (
        &[],
        "gore 2,2,2,2/2^,2^,2^,2^ 32-0 N answer:0",
        "the offer costs 6 seeds, and North has 0 in its bank; North controls no pit and must control at least one; \
         by the rules the game has ended here (all_below_three)",
    ),
    (
        &[],
        "kiothi 0*,0,0,0,0,0,0,0,0,1*/0,0,0,0,0,0,0,0,0,0 30-29 S open1",
        "South must redistribute two occupied pits of its row and has 1; \
         North must redistribute two occupied pits of its row and has 0; \
         pit 0 can't be marked: only occupied pits are, and only after the openings; \
         pit 9 can't be marked: only occupied pits are, and only after the openings",
    ),
];

fn faults(rules: &Rules, set_up: &SetUp) -> Vec<SetUpFault> {
    set_up.position(rules).expect_err("the set-up can't be played")
}

/// A set-up that says what no text can: seeds in a closed pit.
fn seeds_in_closed_pits() -> SetUp {
    let mut made = set_up("ali_guli_mane 5,5,5,5,5,5,5/5,5,5,5,5,5,5 0-0 S sow");
    let closed = SetUpPit { seeds: 5, closed: true, ..SetUpPit::default() };
    let mut row = vec![closed; 2];
    row.extend([SetUpPit { closed: false, ..closed }; 5]);
    made.rows = BySeat::new(row.clone(), row);
    made
}

#[test]
fn set_ups_are_refused_with_all_their_faults() {
    for (options, text, said) in CASES {
        assert_eq!(joined(&faults(&rules_of(text, options), &set_up(text))), *said, "{text}");
    }
    let ali = Rules::new(Game::AliGuliMane);
    assert_eq!(joined(&faults(&ali, &seeds_in_closed_pits())), "4 closed pits hold seeds; a closed pit is empty");
}

#[test]
fn a_set_up_of_another_game_is_not_looked_at() {
    let found = faults(&Rules::new(Game::Hoyito3), &set_up("ayoayo 1/2 3-4 S bonus"));
    assert_eq!(found, [SetUpFault::OtherGame { found: Game::Ayoayo, expected: Game::Hoyito3 }]);
    assert_eq!(joined(&found), "the position is of ayoayo, and the game is hoyito3");
}

#[test]
fn every_fault_is_met_alone() {
    let mut alone = BTreeSet::new();
    let mut add = |found: Vec<SetUpFault>| {
        if let [only] = found[..] {
            alone.insert(number(&only));
        }
    };
    CASES.iter().for_each(|(options, text, _)| add(faults(&rules_of(text, options), &set_up(text))));
    add(faults(&Rules::new(Game::AliGuliMane), &seeds_in_closed_pits()));
    add(faults(&Rules::new(Game::Hoyito3), &set_up("ayoayo 1/2 3-4 S bonus")));
    assert_eq!(alone, (0..FAULTS).collect());
}

#[test]
fn options_are_refused_with_their_place() {
    let with = |game, options: &[(&'static str, &'static str)]| Rules::with_options(game, options.iter().copied());
    let rules = with(Game::Ayoayo, &[("leftovers", "row_owner")]).unwrap();
    assert_eq!(rules.options().collect::<Vec<_>>(), [("leftovers", "row_owner")]);
    assert_eq!(with(Game::Ayoayo, &[]), Ok(Rules::new(Game::Ayoayo)));
    let faults = with(Game::Kiothi, &[("opening", "six"), ("leftmost_bonus", "run"), ("bonus", "optional")]).unwrap_err();
    assert_eq!(faults.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 2]);
    let said: Vec<_> = faults.iter().map(|(_, fault)| fault.to_string()).collect();
    assert_eq!(
        said,
        [
            "option opening has no such value; choose six_of_five, five_of_five or five_of_six",
            "kiothi has no option of this name; it has opening, leftmost_bonus or two_counter_win",
        ]
    );
    let known = |fault: &OptionFault| match fault {
        OptionFault::UnknownOption { known, .. } => known.len(),
        OptionFault::UnknownValue { values, .. } => values.len(),
    };
    assert_eq!(faults.iter().map(|(_, fault)| known(fault)).collect::<Vec<_>>(), [3, 3]);
    let none = with(Game::Gore, &[("leftovers", "row_owner")]).unwrap_err();
    assert_eq!(none[0].1.to_string(), "gore has no option of this name; it has none");
}

/// Every listed value can be set and is told, and the first is the default.
#[test]
fn options_are_as_listed() {
    for game in Game::ALL {
        let defaults: Vec<_> = Rules::new(game).options().collect();
        let specs = Rules::new(game).option_specs();
        assert_eq!(defaults, specs.iter().map(|spec| (spec.name, spec.values[0])).collect::<Vec<_>>());
        for spec in specs {
            for value in spec.values {
                let rules = Rules::with_options(game, [(spec.name, *value)]).unwrap();
                assert!(rules.options().any(|option| option == (spec.name, *value)), "{game:?} {}={value}", spec.name);
                assert_eq!(rules == Rules::new(game), *value == spec.values[0]);
            }
        }
    }
}

const GAME: &str = "a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi";
const PHASE: &str = "a phase: sow, open1, open2, bonus, answer:PITS or over:REASON";
const KEY: &str = "last=, heir=, refused= (each once) or the end of the text";
const ROW: &str = "another pit (,) or a blank, then the banks";

/// Text that is no position, where it goes wrong, and what should have stood there.
const POSITION_TEXTS: &[(&str, usize, &str)] = &[
    ("", 1, GAME),
    ("  oware 1", 3, GAME),
    ("gore", 5, "a blank, then the pits"),
    ("gore ,", 6, "the seeds of a pit, or x"),
    ("gore 6,,6", 8, "the seeds of a pit, or x"),
    ("gore 10000/", 6, "the seeds of a pit, or x"),
    ("gore 6 6", 7, "another pit (,) or North's row (/)"),
    ("gore 6*^/6", 8, "another pit (,) or North's row (/)"),
    ("gore 6/6/6", 9, ROW),
    ("gore 6/6", 9, ROW),
    ("gore 6/6 S sow", 10, "South's bank"),
    ("gore 6/6 1 2", 11, "- and North's bank"),
    ("gore 6/6 1-", 12, "North's bank"),
    ("gore 6/6 1-2", 13, "a blank, then the seat to act"),
    ("gore 6/6 1-2 s sow", 14, "a seat, S or N"),
    ("gore 6/6 1-2 Ssow", 15, "a blank, then the phase"),
    ("gore 6/6 1-2 S sew", 16, PHASE),
    ("gore 6/6 1-2 S answer", 22, ": and the pits on offer"),
    ("gore 6/6 1-2 S answer:", 23, "the index of a pit, 0 to 19"),
    ("gore 6/6 1-2 S answer:1+1", 25, "the index of a pit, 0 to 19, that is not named yet"),
    ("gore 6/6 1-2 S answer:32", 23, "the index of a pit, 0 to 19, that is not named yet"),
    ("gore 6/6 1-2 S over", 20, ": and how the game ended"),
    ("gore 6/6 1-2 S over:rain", 21, "how the game ended, such as no_move"),
    ("gore 6/6 1-2 S sow last=X", 25, "a seat, S or N"),
    ("gore 6/6 1-2 S sow last=S last=N", 27, KEY),
    ("gore 6/6 1-2 S sow refused=SS", 29, KEY),
    ("gore 6/6 1-2 S sow, then", 19, KEY),
    // Characters are counted, not bytes.
    ("gore 6/6 1-2 S sow é", 20, KEY),
    ("é", 1, GAME),
];

const MOVE: &str = "a move: PIT, PITxSEEDS, PIT+PIT>PIT:SEEDS,..., offer PITS, accept, decline or pass";
const AFTER_PIT: &str = "x and a number of seeds, + and another pit, > and placements, or the end of the move";

const TOO_LONG: &str = "the end of the text, which has at most 400 bytes";

/// The same for moves.
const MOVE_TEXTS: &[(&str, usize, &str)] = &[
    ("", 1, MOVE),
    (" sow 3", 2, MOVE),
    ("-1", 1, MOVE),
    ("256", 1, "the index of a pit, 0 to 19"),
    ("3x", 3, "the number of seeds, at most 255"),
    ("3x256", 3, "the number of seeds, at most 255"),
    ("3x2 4", 5, "the end of the move"),
    ("3 4", 3, AFTER_PIT),
    ("3+3>0:1", 3, "the index of a pit, 0 to 19, that is not named yet"),
    ("3+4", 4, "+ and another pit, or > and placements"),
    ("3+4>", 5, "the index of a pit, 0 to 19"),
    ("3+4>1:0,2:0", 5, "placements with at least one seed"),
    ("3+4>20:1", 5, "the index of a pit, 0 to 19, that is not named yet"),
    ("3+4>1:2,1:3", 9, "the index of a pit, 0 to 19, that is not named yet"),
    ("3+4>1", 6, ": and the number of seeds"),
    ("3+4>1:", 7, "the number of seeds, at most 255"),
    ("3+4>1:2;", 8, "another placement (,) or the end of the move"),
    ("offer", 6, "a blank, then the pits on offer"),
    ("offer x", 7, "the index of a pit, 0 to 19"),
    ("offer 1+1", 9, "the index of a pit, 0 to 19, that is not named yet"),
    ("offer 1,2", 8, "+ and another pit, or the end of the move"),
    ("pass!", 5, "the end of the move"),
    ("accepted", 1, MOVE),
];

#[test]
fn texts_are_refused_with_place_and_expectation() {
    let said = |at: usize, expected: &str| format!("at character {at}: expected {expected}");
    for &(text, at, expected) in POSITION_TEXTS {
        assert_eq!(text.parse::<SetUp>().unwrap_err().to_string(), said(at, expected), "{text:?}");
    }
    for &(text, at, expected) in MOVE_TEXTS {
        assert_eq!(text.parse::<Move>().unwrap_err().to_string(), said(at, expected), "{text:?}");
    }
    let long = format!("pass{}", " ".repeat(400));
    assert_eq!(long.parse::<Move>().unwrap_err().to_string(), said(401, TOO_LONG));
    assert_eq!("é".repeat(201).parse::<Move>().unwrap_err().to_string(), said(201, TOO_LONG));
    assert_eq!(long[..400].parse(), Ok(Move::Pass));
}
