//! Laws that hold in every position of every game with every option, on random games and random set-ups.

#[path = "support/game.rs"]
mod support;

use mancala::game::observer::{Board, Step};
use mancala::game::{
    BySeat, Dice, EndReason, Game, Guards, Legal, MAX_PITS, Move, Phase, PitSet, Position, Record, Redistribution, Rules, Seat,
    SetUp, SetUpPit,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{HashMap, HashSet};
use support::{TestDice, cases, rules_with_choices};

fn config(short: u32, long: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(short, long)) }
}

// Strategies.

fn any_rules() -> impl Strategy<Value = Rules> {
    (select(&Game::ALL[..]), any::<[u8; 3]>()).prop_map(|(game, choices)| rules_with_choices(game, choices))
}

fn any_seat() -> impl Strategy<Value = Seat> {
    select(&Seat::BOTH[..])
}

fn any_phase() -> impl Strategy<Value = Phase> {
    let ends = EndReason::ALL.map(Phase::Over);
    let offers = (0..8u8, 0..8u8, 0..8u8).prop_map(|(a, b, c)| Phase::Answer([a, b, c].into_iter().collect()));
    let plain = vec![Phase::Sow, Phase::Open1, Phase::Open2, Phase::Bonus];
    prop_oneof![3 => select(plain), 2 => offers, 1 => select(ends.to_vec())]
}

/// A phase that the game has: mostly a sowing, at times another, rarely an end.
fn phase_of(game: Game) -> BoxedStrategy<Phase> {
    let other = any_phase().prop_filter("a phase of the game", move |phase| game.has_phase(*phase));
    prop_oneof![Just(Phase::Sow), other].boxed()
}

/// A set-up of the game that is mostly playable: its seeds thrown into few or many places, its flags only where they can be.
fn sensible_set_up(rules: Rules) -> impl Strategy<Value = SetUp> {
    let game = rules.game();
    let row = usize::from(game.ring().row);
    let total = rules.start().on_board() as usize;
    let places = proptest::collection::vec(0..2 * row + 2, 1..=2 * row + 2);
    let throws = proptest::collection::vec(any::<prop::sample::Index>(), total);
    // For each flag: on which pits, and whether to set it at all; then whether only where it makes sense.
    let flags = (any::<([u32; 3], [bool; 3])>(), proptest::bool::weighted(0.95));
    let rest = (phase_of(game), any_seat(), proptest::option::of(any_seat()), any::<(bool, bool)>());
    (places, throws, flags, rest).prop_map(move |(places, throws, ((masks, set), apt), (phase, to_act, seat, refused))| {
        let mut seeds = vec![0u16; 2 * row + 2];
        for throw in throws {
            seeds[places[throw.index(places.len())]] += 1;
        }
        let flag = |which: usize, of: Game, pit: usize| game == of && set[which] && masks[which] >> pit & 1 == 1;
        let pits: Vec<_> = (0..2 * row)
            .map(|pit| SetUpPit {
                seeds: seeds[pit],
                crossed: flag(0, Game::Gore, pit),
                marked: flag(1, Game::Kiothi, pit) && (!apt || (seeds[pit] > 0 && phase == Phase::Sow)),
                closed: flag(2, Game::AliGuliMane, pit) && (!apt || seeds[pit] == 0),
            })
            .collect();
        SetUp {
            game,
            rows: BySeat::new(pits[..row].to_vec(), pits[row..].to_vec()),
            banks: BySeat::new(seeds[2 * row], seeds[2 * row + 1]),
            to_act,
            phase,
            last_sower: seat.filter(|_| game == Game::Ayoayo),
            heir: seat.filter(|_| game == Game::Hoyito3),
            refused: if game == Game::Gore { BySeat::new(refused.0, refused.1) } else { BySeat::default() },
        }
    })
}

fn any_pit() -> impl Strategy<Value = SetUpPit> {
    let seeds = prop_oneof![8 => 0..9u16, 1 => any::<u16>()];
    let rarely = || proptest::bool::weighted(0.05);
    (seeds, rarely(), rarely(), rarely()).prop_map(|(seeds, crossed, marked, closed)| SetUpPit { seeds, crossed, marked, closed })
}

/// Any set-up at all, of which hardly one makes sense.
fn wild_set_up() -> impl Strategy<Value = SetUp> {
    let row = || proptest::collection::vec(any_pit(), 0..12);
    let seat = || proptest::option::weighted(0.2, any_seat());
    let head = (select(&Game::ALL[..]), row(), row(), any::<(u8, u8)>(), any_seat(), any_phase());
    (head, seat(), seat(), any::<(bool, bool)>()).prop_map(
        |((game, south, north, banks, to_act, phase), last_sower, heir, refused)| SetUp {
            game,
            rows: BySeat::new(south, north),
            banks: BySeat::new(banks.0.into(), banks.1.into()),
            to_act,
            phase,
            last_sower,
            heir,
            refused: BySeat::new(refused.0, refused.1),
        },
    )
}

/// Where random games begin: at the game's start, or at a set-up that was found playable.
fn any_start() -> impl Strategy<Value = (Rules, Position)> {
    any_rules().prop_flat_map(|rules| {
        let set_ups = sensible_set_up(rules).prop_filter_map("not playable", move |set_up| set_up.position(&rules).ok());
        let starts = any_seat().prop_map(move |first| rules.start_with(first));
        prop_oneof![1 => starts, 3 => set_ups].prop_map(move |position| (rules, position))
    })
}

/// The positions of a random game, the first one and the last one included, with the move that was drawn in each.
fn walk(rules: &Rules, start: Position, seed: u64, plies: usize, mut visit: impl FnMut(&Position, Option<Legal>)) {
    let mut dice = TestDice(seed);
    let mut position = start;
    for _ in 0..plies {
        let legal = rules.sample(&position, &mut dice).map(|mv| rules.check(&position, mv).expect("a drawn move is legal"));
        visit(&position, legal);
        let Some(legal) = legal else { return };
        position = legal.play(&mut ()).0;
    }
    visit(&position, None);
}

// What is looked at in a position.

fn total(position: &Position) -> u32 {
    position.on_board() + Seat::BOTH.map(|seat| u32::from(position.banks()[seat])).iter().sum::<u32>()
}

/// Every move that can be thought of but redistributions, legal or not.
fn conceivable_moves() -> Vec<Move> {
    let counts = || std::iter::once(None).chain((0..=61).chain([255]).map(Some));
    let sowings = (0..=20).chain([31, 32, 255]).flat_map(|pit| counts().map(move |seeds| Move::Sow { pit, seeds }));
    let offers = (0..1u32 << 9).map(|bits| Move::Offer((0..9).filter(|pit| bits >> pit & 1 == 1).collect()));
    let rest = [Move::Pass, Move::Answer { accept: true }, Move::Answer { accept: false }, Move::Offer(PitSet::of(31))];
    sowings.chain(offers).chain(rest).collect()
}

fn assert_listed_is_checked(rules: &Rules, position: &Position) {
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

fn assert_text_is_lossless(rules: &Rules, position: &Position) {
    let text = position.to_string();
    let set_up: SetUp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(set_up.position(rules).as_ref(), Ok(position), "{text}");
}

/// The drawn move, played: seeds stay, steps lead to the same board, watching changes nothing, text is read as written.
fn assert_move_laws(position: &Position, legal: Legal) {
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

fn shuffle<T>(items: &mut [T], dice: &mut TestDice) {
    for i in (1..items.len()).rev() {
        items.swap(i, dice.below(i as u64 + 1) as usize);
    }
}

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
    fn redistributions_are_checked(rules in any_rules(), seed: u64, changes in any::<[(u8, u8); 2]>(), emptied in 0..1u32 << 22) {
        let mut dice = TestDice(seed);
        let start = rules.start();
        prop_assume!(rules.redistributions(&start).is_some());
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
            prop_assert_eq!(previewed, (*record.position(), ply));
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
    let within = 1..=text.chars().count().max(mancala::game::text::MAX_TEXT) + 1;
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

    /// Keys are read in any order, and every gap may be wider than one blank.
    #[test]
    fn fields_of_a_position_may_be_spaced(seed: u64, last in any_seat(), heir in any_seat(), refused in any_seat()) {
        let mut dice = TestDice(seed);
        let [last_key, heir_key, refused_key] = [("last", last), ("heir", heir), ("refused", refused)]
            .map(|(key, seat)| format!("{key}={}", seat.letter()));
        let mut keys = [last_key.clone(), heir_key.clone(), refused_key.clone()];
        shuffle(&mut keys, &mut dice);
        let plain = format!("ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow {last_key} {heir_key} {refused_key}").parse::<SetUp>();
        let spaced = format!(" ayoayo  4,4,4,4,4,4/4,4,4,4,4,4\t0-0   S  sow  {} ", keys.join("  ")).parse::<SetUp>();
        prop_assert!(plain.is_ok());
        prop_assert_eq!(plain, spaced);
    }
}
