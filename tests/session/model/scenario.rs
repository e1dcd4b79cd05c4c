//! Random sessions and random requests for them.

use crate::game;
use mancala::game::{Game, Guards, Position, Rules, Seat, SetUp};
use mancala::session::{ClockSetting, Micros, ProposalKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use std::sync::LazyLock;

pub const SECOND: Micros = 1_000_000;
pub const HOUR: Micros = 3_600 * SECOND;
pub const TEN_YEARS: Micros = 87_600 * HOUR;

#[derive(Debug, Clone)]
pub struct Scenario {
    pub game: Game,
    pub choices: [u8; 3],
    pub start: Start,
    pub guards: Guards,
    pub rounds: u32,
    pub clock: Option<ClockSetting>,
    pub steps: Vec<Step>,
}

/// What a session starts with.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    OfTheGame,
    /// One of a list of positions: sparse ones, or some plies before the end of a game.
    Listed(Index),
    /// Ali Guli Mane: a seat that can't fill a pit any more. Other games: as if listed.
    Poor(Index),
}

#[derive(Debug, Clone)]
pub struct Step {
    pub time: Time,
    pub seat: Option<Seat>,
    pub expected: Expected,
    /// One of a few ids, so that they are used again for something else.
    pub id: Option<u8>,
    pub wish: Wish,
}

/// What the clock does before a request.
#[derive(Debug, Clone, Copy)]
pub enum Time {
    Passes(Micros),
    /// To the deadline, if there is one, and a bit before or after it.
    ToDeadline(Micros),
}

/// The version that a request expects.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    Any,
    Current,
    Off(i8),
}

/// What somebody wants.
#[derive(Debug, Clone)]
pub enum Wish {
    /// A legal move, drawn by this seed.
    Move(u64),
    /// Any text of a move.
    Text(&'static str),
    Resign(bool),
    /// With a version: one of those that there are, or one more.
    Propose(ProposalKind, Option<Index>),
    /// A takeback to where a move was played that may still stand.
    TakeBack(Index),
    Answer(ProposalKind, bool),
    /// To one of the proposals that are open.
    AnswerOpen(Index, bool),
    Withdraw(ProposalKind),
    WithdrawOpen(Index),
    Claim,
    /// An earlier request, word by word.
    Again(Index),
    /// No request: somebody looks.
    Look,
    /// No request: everything in memory is forgotten.
    Restart,
}

fn seat() -> impl Strategy<Value = Option<Seat>> {
    select(vec![None, None, None, None, Some(Seat::South), Some(Seat::North)])
}

fn kind() -> impl Strategy<Value = ProposalKind> {
    select(ProposalKind::ALL.to_vec())
}

fn wish() -> impl Strategy<Value = Wish> {
    let texts = ["0", "3", "5", "8", "12", "pass", "accept", "decline", "offer 0", "offer 1+2", "bogus:9", "13x2"];
    let texts: Vec<_> = texts.into_iter().filter(|text| text.parse::<mancala::game::Move>().is_ok()).collect();
    prop_oneof![
        24 => any::<u64>().prop_map(Wish::Move),
        2 => select(texts).prop_map(Wish::Text),
        1 => prop::bool::weighted(0.3).prop_map(Wish::Resign),
        5 => (kind(), prop::option::weighted(0.1, any::<Index>())).prop_map(|(kind, to)| Wish::Propose(kind, to)),
        6 => any::<Index>().prop_map(Wish::TakeBack),
        1 => (kind(), any::<bool>()).prop_map(|(kind, accept)| Wish::Answer(kind, accept)),
        9 => (any::<Index>(), prop::bool::weighted(0.7)).prop_map(|(which, accept)| Wish::AnswerOpen(which, accept)),
        1 => kind().prop_map(Wish::Withdraw),
        1 => any::<Index>().prop_map(Wish::WithdrawOpen),
        1 => Just(Wish::Claim),
        3 => any::<Index>().prop_map(Wish::Again),
        1 => Just(Wish::Look),
        1 => Just(Wish::Restart),
    ]
}

fn time() -> impl Strategy<Value = Time> {
    let jumps = vec![HOUR, -HOUR, TEN_YEARS, -TEN_YEARS];
    prop_oneof![
        4 => Just(Time::Passes(0)),
        20 => (0..3 * SECOND).prop_map(Time::Passes),
        2 => (0..30 * SECOND).prop_map(Time::Passes),
        1 => (-30 * SECOND..0).prop_map(Time::Passes),
        1 => select(jumps).prop_map(Time::Passes),
        2 => (-1..=1i64).prop_map(Time::ToDeadline),
    ]
}

fn clock() -> impl Strategy<Value = Option<ClockSetting>> {
    let time = || prop_oneof![1..=5 * SECOND, 1..=60 * SECOND];
    prop_oneof![
        Just(None),
        time().prop_map(|limit| Some(ClockSetting::PerMove { limit })),
        (time(), 0..=5 * SECOND).prop_map(|(main, increment)| Some(ClockSetting::Total { main, increment })),
        (0..=20 * SECOND, time(), 1..=5u32).prop_map(|(main, period, periods)| Some(ClockSetting::ByoYomi {
            main,
            period,
            periods
        })),
    ]
}

fn guards() -> impl Strategy<Value = Guards> {
    (select(vec![0, 2, 3]), select(vec![0, 0, 3, 200]), select(vec![0, 3, 8, 8, 15]))
        .prop_map(|(repetition, quiet, max_plies)| Guards { repetition, quiet, max_plies })
}

pub fn scenario() -> impl Strategy<Value = Scenario> {
    let expected = prop_oneof![
        8 => Just(Expected::Any),
        8 => Just(Expected::Current),
        1 => (-3..=3i8).prop_map(Expected::Off),
    ];
    let step = (time(), seat(), expected, prop::option::weighted(0.4, 0..40u8), wish());
    let step = step.prop_map(|(time, seat, expected, id, wish)| Step { time, seat, expected, id, wish });
    let start = prop_oneof![
        2 => Just(Start::OfTheGame),
        6 => any::<Index>().prop_map(Start::Listed),
        2 => any::<Index>().prop_map(Start::Poor),
    ];
    let set_up = (select(Game::ALL.to_vec()), any::<[u8; 3]>(), start, guards());
    let rounds = prop_oneof![2 => Just(1u32), 3 => 2..=5u32];
    (set_up, rounds, clock(), vec(step, 1..80)).prop_map(|((game, choices, start, guards), rounds, clock, steps)| Scenario {
        game,
        choices,
        start,
        guards,
        rounds,
        clock,
        steps,
    })
}

impl Scenario {
    pub fn rules(&self) -> Rules {
        game::rules_with_choices(self.game, self.choices)
    }

    pub fn start(&self) -> Position {
        let rules = self.rules();
        let set_up = match self.start {
            Start::OfTheGame => None,
            Start::Poor(_) if self.game == Game::AliGuliMane => Some(&*POOR),
            Start::Listed(index) | Start::Poor(index) => {
                let of_game: Vec<_> = LISTED.iter().filter(|set_up| set_up.game == self.game).collect();
                Some(of_game[index.index(of_game.len())])
            }
        };
        // With other options the same position may be none.
        set_up.and_then(|set_up| set_up.position(&rules).ok()).unwrap_or(rules.start())
    }
}

static POOR: LazyLock<SetUp> = LazyLock::new(|| game::set_up("ali_guli_mane 0,0,0,1,0,0,0/0,1,0,0,0,0,0 2-66 S sow"));

static LISTED: LazyLock<Vec<SetUp>> = LazyLock::new(|| {
    let sparse = [
        include_str!("../../vectors/ali_guli_mane.positions.jsonl"),
        include_str!("../../vectors/ayoayo.positions.jsonl"),
        include_str!("../../vectors/gore.positions.jsonl"),
        include_str!("../../vectors/hoyito3.positions.jsonl"),
        include_str!("../../vectors/kiothi.positions.jsonl"),
    ];
    let games = [
        include_str!("../../vectors/ali_guli_mane.games.jsonl"),
        include_str!("../../vectors/ayoayo.games.jsonl"),
        include_str!("../../vectors/gore.games.jsonl"),
        include_str!("../../vectors/hoyito3.games.jsonl"),
        include_str!("../../vectors/kiothi.games.jsonl"),
    ];
    let read = |line: &str| -> Value { serde_json::from_str(line).expect("a JSON object a line") };
    let text = |position: &Value| game::set_up(position.as_str().expect("a position"));
    let sparse = sparse.into_iter().flat_map(str::lines).map(|line| text(&read(line)["position"]));
    let near_the_end = games.into_iter().flat_map(str::lines).flat_map(|line| {
        let game = read(line);
        let plies = game["plies"].as_array().expect("plies");
        plies.iter().rev().skip(1).take(8).map(|ply| text(&ply[1])).collect::<Vec<_>>()
    });
    sparse.chain(near_the_end).collect()
});
