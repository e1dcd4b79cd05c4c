//! Positions.

use crate::game::gore::price;
use crate::game::{Game, Outcome, Phase, Position, PositionError, RedistributionFamily, Rules, Seat};
use crate::wire::proto;

/// A seat, outwards.
pub fn seat_out(seat: Seat) -> i32 {
    match seat {
        Seat::South => proto::Seat::South.into(),
        Seat::North => proto::Seat::North.into(),
    }
}

fn optional_seat(seat: Option<Seat>) -> i32 {
    seat.map_or(proto::Seat::Unspecified.into(), seat_out)
}

/// A seat, inwards; `Ok(None)`: not given.
pub fn seat_in(seat: i32) -> Result<Option<Seat>, &'static str> {
    match proto::Seat::try_from(seat) {
        Ok(proto::Seat::Unspecified) => Ok(None),
        Ok(proto::Seat::South) => Ok(Some(Seat::South)),
        Ok(proto::Seat::North) => Ok(Some(Seat::North)),
        Err(_) => Err("a seat: SEAT_SOUTH or SEAT_NORTH"),
    }
}

/// What must be decided.
pub fn phase(phase: Phase) -> proto::Phase {
    match phase {
        Phase::Sow => proto::Phase::Sow,
        Phase::Open1 => proto::Phase::RedistributeFirst,
        Phase::Open2 => proto::Phase::RedistributeSecond,
        Phase::Bonus => proto::Phase::Bonus,
        Phase::Answer(_) => proto::Phase::AnswerTrade,
        Phase::Over(_) => proto::Phase::Over,
    }
}

/// A position from its text; the start position if there is none.
pub fn position_in(rules: &Rules, text: &str) -> Result<Position, PositionError> {
    if text.trim().is_empty() {
        return Ok(rules.start());
    }
    rules.read(text)
}

/// A whole position.
pub fn position_out(p: &Position) -> proto::Position {
    position_with(p, p.to_string())
}

/// The same, of which the text is known.
pub fn position_with(p: &Position, text: String) -> proto::Position {
    let pits = (0..).zip(p.pits()).map(|(pit, &seeds)| proto::Pit {
        index: pit.into(),
        seeds: seeds.into(),
        controller: seat_out(p.controller(pit)),
        marked: p.marked().has(pit),
        closed: p.closed().has(pit),
    });
    let pending_trade = match p.phase() {
        Phase::Answer(pits) => Some(proto::TradeOffer {
            pits: pits.iter().map(u32::from).collect(),
            from: seat_out(p.to_act().other()),
            price: price(pits).into(),
        }),
        _ => None,
    };
    proto::Position {
        game: p.game().id().to_owned(),
        pits: pits.collect(),
        south_bank: p.banks()[Seat::South].into(),
        north_bank: p.banks()[Seat::North].into(),
        to_act: seat_out(p.to_act()),
        phase: phase(p.phase()).into(),
        pending_trade,
        last_sower: optional_seat(p.last_sower()),
        heir: optional_seat(p.heir()),
        refused: Seat::BOTH.into_iter().filter(|&seat| p.refused()[seat]).map(seat_out).collect(),
        result: p.outcome().map(|outcome| end_result(&outcome)),
        text,
    }
}

/// How a position ended.
pub fn end_result(outcome: &Outcome) -> proto::Result {
    proto::Result {
        winner: optional_seat(outcome.winner),
        reason: outcome.reason.name().to_owned(),
        south: outcome.banks[Seat::South].into(),
        north: outcome.banks[Seat::North].into(),
        without_glory: outcome.without_glory,
    }
}

/// What can be redistributed in a position.
pub fn family(p: &Position, family: &RedistributionFamily) -> proto::RedistributionFamily {
    let choice = |pit| proto::Placement { pit: u32::from(pit), seeds: p.seeds(pit).into() };
    proto::RedistributionFamily {
        choices: family.choices.iter().map(choice).collect(),
        emptied: crate::game::opening::EMPTIED,
        targets: family.targets.iter().map(u32::from).collect(),
        total: family.total,
    }
}

/// The game of an identifier.
pub fn game_in(id: &str) -> Result<Game, String> {
    Game::from_id(id).ok_or_else(|| format!("one of {}", Game::ALL.map(Game::id).join(", ")))
}
