//! The boards of the loops, out of the engine's positions, and their moves.

use crate::by_hand::Board;
use crate::by_hand::ali_guli_mane::AliGuliMane;
use crate::by_hand::ayoayo::{self, Ayoayo};
use crate::by_hand::gore::{self, Gore};
use crate::by_hand::hoyito3::{self, Hoyito3};
use crate::by_hand::kiothi::{self, Kiothi};
use mancala::game::{MAX_PITS, Move, Phase, PitSet, Position, Redistribution, Seat};
use std::fmt::Debug;

pub trait Translate: Board + PartialEq + Debug {
    fn of(position: &Position) -> Self;

    /// The engine's name of a move.
    fn name(mv: Self::Move) -> Move;

    fn read(mv: Move) -> Self::Move;
}

fn pits<const N: usize>(position: &Position) -> [u8; N] {
    position.pits().try_into().expect("a board of this game")
}

fn banks(position: &Position) -> [u8; 2] {
    Seat::BOTH.map(|seat| position.banks()[seat])
}

fn seat(position: &Position) -> usize {
    position.to_act() as usize
}

fn bits(pits: PitSet) -> u8 {
    pits.iter().fold(0, |bits, pit| bits | 1 << pit)
}

fn set(bits: u8) -> PitSet {
    (0..8).filter(|pit| bits >> pit & 1 == 1).collect()
}

/// A pit, or what stands for a pass.
fn sowing(pit: usize, pass: usize) -> Move {
    if pit == pass { Move::Pass } else { Move::sow(pit as u8) }
}

fn pit_of(mv: Move, pass: usize) -> usize {
    match mv {
        Move::Sow { pit, .. } => usize::from(pit),
        Move::Pass => pass,
        _ => panic!("{mv} is not of this game"),
    }
}

impl Translate for Ayoayo {
    fn of(position: &Position) -> Ayoayo {
        Ayoayo {
            pits: pits(position),
            banks: banks(position),
            seat: seat(position),
            last_sower: position.last_sower().map(|seat| seat as usize),
            over: position.is_over(),
        }
    }

    fn name(mv: usize) -> Move {
        sowing(mv, ayoayo::PASS)
    }

    fn read(mv: Move) -> usize {
        pit_of(mv, ayoayo::PASS)
    }
}

impl Translate for Hoyito3 {
    fn of(position: &Position) -> Hoyito3 {
        Hoyito3 { pits: pits(position), banks: banks(position), seat: seat(position), over: position.is_over() }
    }

    fn name(mv: usize) -> Move {
        sowing(mv, hoyito3::PASS)
    }

    fn read(mv: Move) -> usize {
        pit_of(mv, hoyito3::PASS)
    }
}

impl Translate for AliGuliMane {
    fn of(position: &Position) -> AliGuliMane {
        AliGuliMane {
            pits: pits(position),
            banks: banks(position),
            seat: seat(position),
            bonus: position.phase() == Phase::Bonus,
            over: position.is_over(),
        }
    }

    fn name(mv: usize) -> Move {
        Move::sow(mv as u8)
    }

    fn read(mv: Move) -> usize {
        pit_of(mv, usize::MAX)
    }
}

impl Translate for Gore {
    fn of(position: &Position) -> Gore {
        let offer = if let Phase::Answer(pits) = position.phase() { bits(pits) } else { 0 };
        Gore {
            pits: pits(position),
            banks: banks(position),
            seat: seat(position),
            controller: std::array::from_fn(|pit| position.controller(pit as u8) as usize),
            offer,
            refused: Seat::BOTH.map(|seat| position.refused()[seat]),
            over: position.is_over(),
        }
    }

    fn name(mv: gore::Move) -> Move {
        match mv {
            gore::Move::Sow(pit) => Move::sow(pit as u8),
            gore::Move::Offer(pits) => Move::Offer(set(pits)),
            gore::Move::Answer(accept) => Move::Answer { accept },
            gore::Move::Pass => Move::Pass,
        }
    }

    fn read(mv: Move) -> gore::Move {
        match mv {
            Move::Sow { pit, .. } => gore::Move::Sow(usize::from(pit)),
            Move::Offer(pits) => gore::Move::Offer(bits(pits)),
            Move::Answer { accept } => gore::Move::Answer(accept),
            Move::Pass => gore::Move::Pass,
            Move::Redistribute(_) => panic!("{mv} is not of this game"),
        }
    }
}

impl Translate for Kiothi {
    fn of(position: &Position) -> Kiothi {
        let phase = match position.phase() {
            Phase::Open1 => kiothi::Phase::Open1,
            Phase::Open2 => kiothi::Phase::Open2,
            Phase::Over(_) => kiothi::Phase::Over,
            _ => kiothi::Phase::Sow,
        };
        Kiothi {
            pits: pits(position),
            marked: std::array::from_fn(|pit| position.marked().has(pit as u8)),
            banks: banks(position),
            seat: seat(position),
            phase,
        }
    }

    fn name(mv: kiothi::Move) -> Move {
        match mv {
            kiothi::Move::Sow { pit, seeds } => Move::Sow { pit: pit as u8, seeds: Some(seeds) },
            kiothi::Move::Redistribute { emptied: [a, b], placed } => {
                let emptied = PitSet::of(a as u8) | PitSet::of(b as u8);
                Move::Redistribute(Redistribution { emptied, placed })
            }
        }
    }

    fn read(mv: Move) -> kiothi::Move {
        match mv {
            Move::Sow { pit, seeds: Some(seeds) } => kiothi::Move::Sow { pit: usize::from(pit), seeds },
            Move::Redistribute(Redistribution { emptied, placed }) => {
                let mut pits = (0..MAX_PITS).filter(|&pit| emptied.has(pit as u8));
                let pair = [pits.next().expect("a pit"), pits.next().expect("another pit")];
                kiothi::Move::Redistribute { emptied: pair, placed }
            }
            _ => panic!("{mv} is not of this game"),
        }
    }
}
