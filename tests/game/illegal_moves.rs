//! Every reason to refuse a move, in every game in which it can occur, with its facts and its words.

use crate::support::{accepted, mv, rules_of};
use mancala::game::{Game, IllegalMove, Move, PitSet, Rules};
use std::collections::BTreeSet;

/// How many reasons there are. A new one has no number in [`number_and_games`] until it is given one, and then must have cases.
const REASONS: usize = 18;

/// A number for each reason, and the games in which it occurs.
fn number_and_games(illegal: &IllegalMove) -> (usize, &'static [Game]) {
    use Game::{AliGuliMane, Ayoayo, Gore, Hoyito3, Kiothi};
    match illegal {
        IllegalMove::GameOver { .. } => (0, &Game::ALL),
        IllegalMove::WrongPhase { .. } => (1, &[Gore, Kiothi]),
        IllegalMove::NotInThisGame { .. } => (2, &Game::ALL),
        IllegalMove::PitOffBoard { .. } => (3, &Game::ALL),
        IllegalMove::PitNotYours { .. } => (4, &Game::ALL),
        IllegalMove::PitEmpty { .. } => (5, &Game::ALL),
        IllegalMove::PitClosed { .. } => (6, &[AliGuliMane]),
        IllegalMove::SeedsNotChosen { .. } => (7, &[AliGuliMane, Ayoayo, Gore, Hoyito3]),
        IllegalMove::SeedsOutOfRange { .. } => (8, &[Kiothi]),
        IllegalMove::FirstLapEndsInOwnOccupiedPit { .. } => (9, &[Kiothi]),
        IllegalMove::MustFeed { .. } => (10, &[Ayoayo]),
        IllegalMove::MustPass { .. } => (11, &[Ayoayo, Gore, Hoyito3]),
        IllegalMove::CannotPass { .. } => (12, &Game::ALL),
        IllegalMove::TradeSize { .. } => (13, &[Gore]),
        IllegalMove::TradeNotAffordable { .. } => (14, &[Gore]),
        IllegalMove::TradeKeepsNoPit { .. } => (15, &[Gore]),
        IllegalMove::RedistributionSize { .. } => (16, &[Kiothi]),
        IllegalMove::RedistributionUnbalanced { .. } => (17, &[Kiothi]),
    }
}

/// A position, a move, and its refusal: `REASON fact=value ...` and what is said to people.
type Case = (&'static str, &'static str, &'static str, &'static str);

const AYOAYO: &str = "ayoayo 4,4,4,4,4,0/4,4,4,4,4,4 4-0 S sow";
const HOYITO: &str = "hoyito3 4,4,4,4,4,0/4,4,4,4,4,4 4-0 S sow";
const ALI: &str = "ali_guli_mane 5,5,0,5,x,5,5/5,5,5,5,5,5,5 10-0 S sow";
const GORE: &str = "gore 6,0,6,2^/6,6,6,5^ 4-7 S sow";
const KIOTHI: &str = "kiothi 3,0,1,1,0,5,5,5,5,5/5,5,5,5,5,5,0,0,0,0 0-0 S sow";
const OPENING: &str = "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1";

const CASES: &[Case] = &[
    // The game is over.
    (
        "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 20-28 S over:cannot_feed last=N",
        "0",
        "GAME_OVER end=cannot_feed",
        "the game is over: cannot_feed",
    ),
    (
        "hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 20-28 S over:final_four",
        "pass",
        "GAME_OVER end=final_four",
        "the game is over: final_four",
    ),
    (
        "ali_guli_mane 0,0,0,0,0,0,0/1,0,0,0,0,0,0 35-34 S over:no_seeds",
        "7",
        "GAME_OVER end=no_seeds",
        "the game is over: no_seeds",
    ),
    ("gore 0,0,0,0/0,0,0,0 24-24 S over:quiet", "accept", "GAME_OVER end=quiet", "the game is over: quiet"),
    (
        "kiothi 0,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 31-29 N over:no_move",
        "0x1",
        "GAME_OVER end=no_move",
        "the game is over: no_move",
    ),
    // Something else is due.
    (GORE, "accept", "WRONG_PHASE due=a sowing or an offer given=answer", "now a sowing or an offer is due, and no answer"),
    (
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:0",
        "4",
        "WRONG_PHASE due=the answer to an offer given=sowing",
        "now the answer to an offer is due, and no sowing",
    ),
    (
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:0",
        "offer 4",
        "WRONG_PHASE due=the answer to an offer given=offer",
        "now the answer to an offer is due, and no offer",
    ),
    (
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:0",
        "pass",
        "WRONG_PHASE due=the answer to an offer given=pass",
        "now the answer to an offer is due, and no pass",
    ),
    (OPENING, "4x2", "WRONG_PHASE due=a redistribution given=sowing", "now a redistribution is due, and no sowing"),
    (KIOTHI, "5+6>0:10", "WRONG_PHASE due=a sowing given=redistribution", "now a sowing is due, and no redistribution"),
    // No such move.
    (AYOAYO, "offer 0", "NOT_IN_THIS_GAME game=ayoayo given=offer", "Ayoayo has no offer"),
    (HOYITO, "accept", "NOT_IN_THIS_GAME game=hoyito3 given=answer", "Hoyito III has no answer"),
    (ALI, "0+1>0:10", "NOT_IN_THIS_GAME game=ali_guli_mane given=redistribution", "Ali Guli Mane has no redistribution"),
    (GORE, "0+2>0:12", "NOT_IN_THIS_GAME game=gore given=redistribution", "Goré has no redistribution"),
    (
        "gore 6,6,6,6/6,6,6,0 0-6 N answer:0",
        "4+5>0:12",
        "NOT_IN_THIS_GAME game=gore given=redistribution",
        "Goré has no redistribution",
    ),
    (KIOTHI, "offer 0", "NOT_IN_THIS_GAME game=kiothi given=offer", "Kiothi has no offer"),
    (OPENING, "decline", "NOT_IN_THIS_GAME game=kiothi given=answer", "Kiothi has no answer"),
    // Pits.
    (AYOAYO, "12", "PIT_OFF_BOARD pit=12 pits=12", "there is no pit 12; the board has pits 0 to 11"),
    (HOYITO, "255", "PIT_OFF_BOARD pit=255 pits=12", "there is no pit 255; the board has pits 0 to 11"),
    (ALI, "14", "PIT_OFF_BOARD pit=14 pits=14", "there is no pit 14; the board has pits 0 to 13"),
    (GORE, "8", "PIT_OFF_BOARD pit=8 pits=8", "there is no pit 8; the board has pits 0 to 7"),
    (GORE, "offer 0+31", "PIT_OFF_BOARD pit=31 pits=8", "there is no pit 31; the board has pits 0 to 7"),
    (KIOTHI, "20x1", "PIT_OFF_BOARD pit=20 pits=20", "there is no pit 20; the board has pits 0 to 19"),
    (OPENING, "4+20>0:5", "PIT_OFF_BOARD pit=20 pits=20", "there is no pit 20; the board has pits 0 to 19"),
    (AYOAYO, "6", "PIT_NOT_YOURS pit=6 seat=South owner=North", "pit 6 is North's; South must choose a pit of its own"),
    (HOYITO, "11", "PIT_NOT_YOURS pit=11 seat=South owner=North", "pit 11 is North's; South must choose a pit of its own"),
    (
        "ali_guli_mane 5,5,0,5,x,5,5/5,5,5,5,5,5,5 10-0 N sow",
        "0",
        "PIT_NOT_YOURS pit=0 seat=North owner=South",
        "pit 0 is South's; North must choose a pit of its own",
    ),
    (GORE, "3", "PIT_NOT_YOURS pit=3 seat=South owner=North", "pit 3 is North's; South must choose a pit of its own"),
    (GORE, "offer 2+3", "PIT_NOT_YOURS pit=3 seat=South owner=North", "pit 3 is North's; South must choose a pit of its own"),
    (KIOTHI, "10x1", "PIT_NOT_YOURS pit=10 seat=South owner=North", "pit 10 is North's; South must choose a pit of its own"),
    (
        OPENING,
        "4+14>0:10",
        "PIT_NOT_YOURS pit=14 seat=South owner=North",
        "pit 14 is North's; South must choose a pit of its own",
    ),
    (AYOAYO, "5", "PIT_EMPTY pit=5", "pit 5 holds no seeds"),
    (HOYITO, "5", "PIT_EMPTY pit=5", "pit 5 holds no seeds"),
    (ALI, "2", "PIT_EMPTY pit=2", "pit 2 holds no seeds"),
    (GORE, "1", "PIT_EMPTY pit=1", "pit 1 holds no seeds"),
    (KIOTHI, "1x1", "PIT_EMPTY pit=1", "pit 1 holds no seeds"),
    (OPENING, "0+4>0:5", "PIT_EMPTY pit=0", "pit 0 holds no seeds"),
    (ALI, "4", "PIT_CLOSED pit=4", "pit 4 is closed in this round"),
    // Numbers of seeds.
    (
        AYOAYO,
        "0x4",
        "SEEDS_NOT_CHOSEN pit=0 held=4",
        "in this game a sowing takes all seeds of the pit (pit 0 holds 4); leave the number out",
    ),
    (
        HOYITO,
        "1x0",
        "SEEDS_NOT_CHOSEN pit=1 held=4",
        "in this game a sowing takes all seeds of the pit (pit 1 holds 4); leave the number out",
    ),
    (
        ALI,
        "0x1",
        "SEEDS_NOT_CHOSEN pit=0 held=5",
        "in this game a sowing takes all seeds of the pit (pit 0 holds 5); leave the number out",
    ),
    (
        GORE,
        "7x5",
        "SEEDS_NOT_CHOSEN pit=7 held=5",
        "in this game a sowing takes all seeds of the pit (pit 7 holds 5); leave the number out",
    ),
    (KIOTHI, "5x0", "SEEDS_OUT_OF_RANGE pit=5 seeds=0 held=5", "from pit 5 1 to 5 seeds can be sown, not 0"),
    (KIOTHI, "5x6", "SEEDS_OUT_OF_RANGE pit=5 seeds=6 held=5", "from pit 5 1 to 5 seeds can be sown, not 6"),
    (
        KIOTHI,
        "0x2",
        "FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT pit=0 seeds=2 last=2",
        "2 from pit 0 end the first lap in pit 2, an occupied pit of your own row",
    ),
    (
        KIOTHI,
        "0",
        "FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT pit=0 seeds=3 last=3",
        "3 from pit 0 end the first lap in pit 3, an occupied pit of your own row",
    ),
    // Feeding and passing.
    (
        "ayoayo 1,0,0,0,0,1/0,0,0,0,0,0 23-23 S sow last=N",
        "0",
        "MUST_FEED pit=0 hungry=North",
        "North's row is empty and must be given a seed; pit 0 gives none",
    ),
    ("ayoayo 0,0,0,0,0,0/0,0,0,0,0,2 23-23 S sow last=N", "0", "MUST_PASS seat=South", "South has nothing to sow and must pass"),
    ("hoyito3 0,0,0,0,0,0/0,0,0,5,0,0 24-19 S sow", "0", "MUST_PASS seat=South", "South has nothing to sow and must pass"),
    ("gore 0,0,0,0/6,6,6,0 12-18 S sow", "0", "MUST_PASS seat=South", "South has nothing to sow and must pass"),
    ("gore 0,0,0,0/6,6,6,0 12-18 S sow", "offer 0", "MUST_PASS seat=South", "South has nothing to sow and must pass"),
    ("gore 0,0,0,0/6,6,6,0 12-18 S sow", "accept", "MUST_PASS seat=South", "South has nothing to sow and must pass"),
    (AYOAYO, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    (HOYITO, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    (ALI, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    (
        "ali_guli_mane 5,5,0,5,x,5,5/5,5,5,5,5,5,5 10-0 S bonus",
        "pass",
        "CANNOT_PASS seat=South",
        "South can move and may not pass",
    ),
    (GORE, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    (KIOTHI, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    (OPENING, "pass", "CANNOT_PASS seat=South", "South can move and may not pass"),
    // Offers.
    (GORE, "offer 0+1+2+7", "TRADE_SIZE pits=4 most=3", "an offer names 1 to 3 pits, not 4"),
    (
        GORE,
        "offer 0+1",
        "TRADE_NOT_AFFORDABLE price=12 bank=7 payer=North",
        "the pits cost 12 seeds, and North has 7 in its bank",
    ),
    (
        "gore 6,0,6^,6^/6,6,0,0 0-18 S sow",
        "offer 0+1",
        "TRADE_KEEPS_NO_PIT pits=2 seat=South",
        "South offers all its 2 pits and must keep at least one",
    ),
    // Redistributions.
    (OPENING, "4>0:5", "REDISTRIBUTION_SIZE emptied=1 required=2", "a redistribution empties 2 pits, not 1"),
    (OPENING, "4+5+6>0:15", "REDISTRIBUTION_SIZE emptied=3 required=2", "a redistribution empties 2 pits, not 3"),
    (OPENING, "4+5>0:9", "REDISTRIBUTION_UNBALANCED lifted=10 placed=9", "the emptied pits hold 10 seeds, and 9 are placed"),
    (
        OPENING,
        "4+5>0:255,1:255",
        "REDISTRIBUTION_UNBALANCED lifted=10 placed=510",
        "the emptied pits hold 10 seeds, and 510 are placed",
    ),
];

fn refusal(rules: &Rules, position: &str, mv: Move) -> IllegalMove {
    match rules.check(&accepted(rules, position), mv) {
        Ok(legal) => panic!("{} is legal in {position}", legal.mv()),
        Err(illegal) => illegal,
    }
}

#[test]
fn refusals_name_their_reason_and_their_facts() {
    for &(position, text, reason_and_facts, said) in CASES {
        let illegal = refusal(&rules_of(position, &[]), position, mv(text));
        let facts: String = illegal.facts().iter().map(|(name, value)| format!(" {name}={value}")).collect();
        assert_eq!(format!("{}{facts}", illegal.reason()), reason_and_facts, "{text} in {position}");
        assert_eq!(illegal.to_string(), said, "{text} in {position}");
    }
}

#[test]
fn every_reason_is_met_in_every_game_that_has_it() {
    let mut met = vec![BTreeSet::new(); REASONS];
    let mut expected = met.clone();
    let mut names = BTreeSet::new();
    for &(position, text, ..) in CASES {
        let rules = rules_of(position, &[]);
        let illegal = refusal(&rules, position, mv(text));
        let (number, games) = number_and_games(&illegal);
        met[number].insert(rules.game());
        expected[number].extend(games);
        names.insert(illegal.reason());
    }
    assert!(met.iter().all(|games| !games.is_empty()), "every reason has a case: {met:?}");
    assert_eq!(met, expected);
    assert_eq!(names.len(), REASONS, "no two reasons share a name");
}

/// An offer of nothing can't be written, but a message can hold it.
#[test]
fn an_offer_of_nothing_has_the_wrong_size() {
    let illegal = refusal(&Rules::new(Game::Gore), GORE, Move::Offer(PitSet::EMPTY));
    assert_eq!(illegal, IllegalMove::TradeSize { pits: 0, most: 3 });
}

#[test]
fn where_several_reasons_hold_the_nearest_is_told() {
    // Not on the board at all, before the number of seeds.
    assert_eq!(refusal(&Rules::new(Game::Ayoayo), AYOAYO, mv("12x9")).reason(), "PIT_OFF_BOARD");
    // Another seat's pit, before the duty to feed.
    let hungry = "ayoayo 1,0,0,0,0,1/0,0,0,0,0,0 23-23 S sow last=N";
    assert_eq!(refusal(&Rules::new(Game::Ayoayo), hungry, mv("6")).reason(), "PIT_NOT_YOURS");
    assert_eq!(refusal(&Rules::new(Game::Ayoayo), hungry, mv("0x1")).reason(), "SEEDS_NOT_CHOSEN");
    // What an offer names, before what it costs.
    assert_eq!(refusal(&Rules::new(Game::Gore), GORE, mv("offer 3+4+5")).reason(), "PIT_NOT_YOURS");
}
