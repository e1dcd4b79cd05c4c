//! Steps: drops of one lap, captures in a row and the like are one message.

use super::seat_out;
use crate::game::observer::Step;
use crate::game::{PitSet, Seat};
use crate::wire::proto::{self, step::Kind};

/// The steps of moves, outwards.
pub fn steps(steps: &[Step]) -> Vec<proto::Step> {
    let mut out: Vec<Kind> = Vec::new();
    for &step in steps {
        match (step, out.last_mut()) {
            (Step::Drop(pit), Some(Kind::Drop(drop))) => drop.pits.push(pit.into()),
            (Step::Capture { pit, seeds, by }, Some(Kind::Capture(capture))) if capture.by == seat_out(by) => {
                capture.pits.push(placement(pit, seeds));
            }
            (Step::Place { pit, seeds, from_bank }, Some(Kind::Place(place))) if place.from_bank == bank(from_bank) => {
                place.pits.push(placement(pit, seeds));
            }
            (Step::Sweep { pit, seeds, to: Seat::South }, Some(Kind::Sweep(sweep))) => sweep.south.push(placement(pit, seeds)),
            (Step::Sweep { pit, seeds, to: Seat::North }, Some(Kind::Sweep(sweep))) => sweep.north.push(placement(pit, seeds)),
            (step, _) => out.push(first(step)),
        }
    }
    out.into_iter().map(|kind| proto::Step { kind: Some(kind) }).collect()
}

fn first(step: Step) -> Kind {
    match step {
        Step::Lift { pit, seeds, relay } => Kind::Lift(proto::Lift { pit: pit.into(), seeds: seeds.into(), relay }),
        Step::Drop(pit) => Kind::Drop(proto::Drop { pits: vec![pit.into()] }),
        Step::Capture { pit, seeds, by } => Kind::Capture(proto::Capture { pits: vec![placement(pit, seeds)], by: seat_out(by) }),
        Step::Place { pit, seeds, from_bank } => {
            Kind::Place(proto::Place { pits: vec![placement(pit, seeds)], from_bank: bank(from_bank) })
        }
        Step::Transfer { pits, to } => Kind::Transfer(proto::Transfer { pits: indices(pits), to: seat_out(to) }),
        Step::Mark(pits) => Kind::Mark(proto::Mark { pits: indices(pits) }),
        Step::Sweep { pit, seeds, to: Seat::South } => {
            Kind::Sweep(proto::Sweep { south: vec![placement(pit, seeds)], north: Vec::new() })
        }
        Step::Sweep { pit, seeds, to: Seat::North } => {
            Kind::Sweep(proto::Sweep { south: Vec::new(), north: vec![placement(pit, seeds)] })
        }
        Step::Void => Kind::Void(proto::Void {}),
        Step::Turn(seat) => Kind::Turn(proto::Turn { seat: seat_out(seat) }),
    }
}

fn placement(pit: u8, seeds: u8) -> proto::Placement {
    proto::Placement { pit: pit.into(), seeds: seeds.into() }
}

fn bank(seat: Option<Seat>) -> i32 {
    seat.map_or(proto::Seat::Unspecified.into(), seat_out)
}

fn indices(pits: PitSet) -> Vec<u32> {
    pits.iter().map(u32::from).collect()
}
