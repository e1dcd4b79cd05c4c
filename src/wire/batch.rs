//! Batches: many positions stepped or played out in one call.

use super::convert::{end_result, game_in, position_in, steps};
use super::fields::Fields;
use super::proto;
use super::refuse::{Refused, invalid_position, unreadable_move};
use super::session_request::{rules_in, start_in};
use crate::game::observer::Step;
use crate::game::playout::playout;
use crate::game::{Guards, Move, Position, Record, Rules, Seat};
use crate::random::SeededDice;
use crate::service::Cancel;
use prost::Message;
use std::fmt::Write;
use tonic::Status;

/// The most items or positions of a call.
const MAX_ITEMS: usize = 1_000;
/// The most moves of an item, and of all items of a call.
const MAX_MOVES_OF_ITEM: usize = 2_000;
const MAX_MOVES: usize = 100_000;
/// The most playouts of a position, and of all positions of a call.
const MAX_PLAYOUTS_OF_POSITION: u32 = 10_000;
const MAX_PLAYOUTS: usize = 1_000_000;

/// A checked request, to be computed.
pub trait Batch: Send + 'static {
    type Reply: Send + 'static;

    /// Computes the answer, or stops early when nobody waits for it any more.
    fn compute(self, cancel: &Cancel) -> Result<Self::Reply, Refused>;
}

/// A StepPositions request.
pub struct Steps {
    rules: Rules,
    items: proto::Items,
    include_legal_moves: bool,
    include_steps: bool,
}

impl Steps {
    pub fn new(request: proto::StepPositionsRequest) -> Result<Steps, Status> {
        let proto::StepPositionsRequest { game, options, items, include_legal_moves, include_steps } = request;
        let mut fields = Fields::new();
        let rules = fields.take("game", game_in(&game)).and_then(|game| rules_in(&mut fields, game, &options));
        if items.len() > MAX_ITEMS {
            fields.fault("items", format_args!("at most {MAX_ITEMS}"));
        }
        if let Some(item) = items.iter().position(|item| item.moves().len() > MAX_MOVES_OF_ITEM) {
            fields.fault(format!("items[{item}].moves"), format_args!("at most {MAX_MOVES_OF_ITEM}"));
        }
        if items.iter().map(|item| item.moves().len()).sum::<usize>() > MAX_MOVES {
            fields.fault("items", format_args!("at most {MAX_MOVES} moves in all"));
        }
        let rules = fields.done(rules)?;
        Ok(Steps { rules, items, include_legal_moves, include_steps })
    }

    /// Plays an item into a result, whose memory is used again.
    fn step(&self, item: proto::Item<'_>, cancel: &Cancel, result: &mut proto::PositionStepResult) {
        result.clear();
        let mut position = match position_in(&self.rules, item.position()) {
            Ok(position) => position,
            Err(error) => {
                result.refusal = Some(invalid_position(&error).into_refusal());
                return;
            }
        };
        let mut seen = Vec::new();
        for (place, text) in (0..).zip(item.moves()) {
            if cancel.is_set() {
                break;
            }
            match self.play(&mut position, text, result, &mut seen) {
                Ok(()) => result.plies += 1,
                Err(refused) => {
                    result.refusal = Some(refused.into_refusal());
                    result.refused_move = Some(place);
                    break;
                }
            }
        }
        write!(result.position, "{position}").expect("a string takes all");
        result.result = position.outcome().map(|outcome| end_result(&outcome));
        result.steps = steps(&seen);
        if self.include_legal_moves {
            self.rules.each_legal_move(&position, |mv| result.legal_moves.push(mv.to_string()));
        }
    }

    fn play(
        &self,
        position: &mut Position,
        text: &str,
        result: &mut proto::PositionStepResult,
        seen: &mut Vec<Step>,
    ) -> Result<(), Refused> {
        let mv: Move = text.parse().map_err(unreadable_move)?;
        let legal = self.rules.check(position, mv).map_err(|illegal| Refused::from(&illegal))?;
        let (after, ply) = if self.include_steps {
            let mut steps = Vec::new();
            let played = legal.play(&mut steps);
            seen.append(&mut steps);
            played
        } else {
            legal.play(&mut ())
        };
        match position.to_act() {
            Seat::South => result.south_captured += u32::from(ply.captured),
            Seat::North => result.north_captured += u32::from(ply.captured),
        }
        *position = after;
        Ok(())
    }
}

impl Batch for Steps {
    type Reply = proto::StepPositionsResponse;

    fn compute(self, cancel: &Cancel) -> Result<Self::Reply, Refused> {
        let mut results = proto::Results::with_capacity(self.items.len());
        let mut result = proto::PositionStepResult::default();
        for item in self.items.iter() {
            self.step(item, cancel, &mut result);
            results.push(&result);
            if results.encoded_len() > super::MAX_REPLY {
                return Err(Refused::reply_too_large());
            }
        }
        Ok(proto::StepPositionsResponse { results })
    }
}

/// A PlayoutPositions request.
pub struct Playouts {
    rules: Rules,
    positions: Vec<Position>,
    playouts: u32,
    seed: u32,
}

impl Playouts {
    pub fn new(request: proto::PlayoutPositionsRequest) -> Result<Playouts, Status> {
        let proto::PlayoutPositionsRequest { game, options, positions, playouts, seed } = request;
        let mut fields = Fields::new();
        let rules = fields.take("game", game_in(&game)).and_then(|game| rules_in(&mut fields, game, &options));
        if !(1..=MAX_PLAYOUTS_OF_POSITION).contains(&playouts) {
            fields.fault("playouts", format_args!("1 to {MAX_PLAYOUTS_OF_POSITION}"));
        }
        if positions.len() > MAX_ITEMS {
            fields.fault("positions", format_args!("at most {MAX_ITEMS}"));
        } else if positions.len().saturating_mul(playouts as usize) > MAX_PLAYOUTS {
            fields.fault("playouts", format_args!("at most {MAX_PLAYOUTS} in all: positions times playouts"));
        }
        let texts = if positions.is_empty() { vec![String::new()] } else { positions };
        let positions = rules.map(|rules| {
            let read = texts.iter().take(MAX_ITEMS).enumerate();
            read.filter_map(|(place, text)| start_in(&mut fields, &rules, &format!("positions[{place}]"), text)).collect()
        });
        let (rules, positions) = fields.done(rules.zip(positions))?;
        Ok(Playouts { rules, positions, playouts, seed })
    }

    /// Plays one position out. Its dice depend on the seed and its place alone.
    fn tally(&self, place: u64, start: Position, cancel: &Cancel) -> proto::PlayoutTally {
        let guards = Guards::of(self.rules.game());
        let mut record = Record::new(self.rules, guards, start);
        let mut dice = SeededDice::new(u64::from(self.seed) << 32 | place);
        let mut tally = proto::PlayoutTally::default();
        let mut margin = 0i64;
        for _ in 0..self.playouts {
            if cancel.is_set() {
                break;
            }
            record.restart();
            let outcome = playout(&mut record, guards.max_plies, &mut dice).expect("guards end every game");
            match outcome.winner {
                Some(Seat::South) => tally.south_wins += 1,
                Some(Seat::North) => tally.north_wins += 1,
                None => tally.draws += 1,
            }
            tally.plies += record.moves().len() as u32;
            margin += i64::from(outcome.banks[Seat::South]) - i64::from(outcome.banks[Seat::North]);
        }
        tally.mean_margin = margin as f64 / f64::from(self.playouts);
        tally
    }
}

impl Batch for Playouts {
    type Reply = proto::PlayoutPositionsResponse;

    fn compute(self, cancel: &Cancel) -> Result<Self::Reply, Refused> {
        let tallies = (0..).zip(&self.positions).map(|(place, &start)| self.tally(place, start, cancel)).collect();
        Ok(proto::PlayoutPositionsResponse { tallies })
    }
}
