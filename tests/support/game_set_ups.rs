//! Where random games begin: set-ups of all kinds, as strategies for proptest.

#![allow(dead_code, reason = "each test binary uses its own part")]

use crate::support::{TestDice, cases, rules_with_choices};
use mancala::game::{BySeat, EndReason, Game, Legal, Phase, Position, Rules, Seat, SetUp, SetUpPit};
use proptest::prelude::*;
use proptest::sample::select;

pub fn config(short: u32, long: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(short, long)) }
}

pub fn any_rules() -> impl Strategy<Value = Rules> {
    (select(&Game::ALL[..]), any::<[u8; 3]>()).prop_map(|(game, choices)| rules_with_choices(game, choices))
}

pub fn any_seat() -> impl Strategy<Value = Seat> {
    select(&Seat::BOTH[..])
}

pub fn any_phase() -> impl Strategy<Value = Phase> {
    let ends = EndReason::ALL.map(Phase::Over);
    let offers = (0..8u8, 0..8u8, 0..8u8).prop_map(|(a, b, c)| Phase::Answer([a, b, c].into_iter().collect()));
    let plain = vec![Phase::Sow, Phase::Open1, Phase::Open2, Phase::Bonus];
    prop_oneof![3 => select(plain), 2 => offers, 1 => select(ends.to_vec())]
}

/// A phase that the game has: mostly a sowing, at times another, rarely an end.
pub fn phase_of(game: Game) -> BoxedStrategy<Phase> {
    let other = any_phase().prop_filter("a phase of the game", move |phase| game.has_phase(*phase));
    prop_oneof![Just(Phase::Sow), other].boxed()
}

/// A set-up of the game that is mostly playable: its seeds thrown into few or many places, its flags only where they can be.
pub fn sensible_set_up(rules: Rules) -> impl Strategy<Value = SetUp> {
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

pub fn any_pit() -> impl Strategy<Value = SetUpPit> {
    let seeds = prop_oneof![8 => 0..9u16, 1 => any::<u16>()];
    let rarely = || proptest::bool::weighted(0.05);
    (seeds, rarely(), rarely(), rarely()).prop_map(|(seeds, crossed, marked, closed)| SetUpPit { seeds, crossed, marked, closed })
}

/// Any set-up at all, of which hardly one makes sense.
pub fn wild_set_up() -> impl Strategy<Value = SetUp> {
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
pub fn any_start() -> impl Strategy<Value = (Rules, Position)> {
    any_rules().prop_flat_map(|rules| {
        let set_ups = sensible_set_up(rules).prop_filter_map("not playable", move |set_up| set_up.position(&rules).ok());
        let starts = any_seat().prop_map(move |first| rules.start_with(first));
        prop_oneof![1 => starts, 3 => set_ups].prop_map(move |position| (rules, position))
    })
}

/// The positions of a random game, the first one and the last one included, with the move that was drawn in each.
pub fn walk(rules: &Rules, start: Position, seed: u64, plies: usize, mut visit: impl FnMut(&Position, Option<Legal>)) {
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
