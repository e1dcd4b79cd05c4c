//! Hoyito III: relay sowing, fours captured at the end of a lap, and another turn for every capture.
#![doc = include_str!("pages/hoyito3.md")]

use super::observer::{Observer, Step};
use super::sowing::{Laps, RelayJudge, Sowing, laps};
use super::variant::{Ply, Variant, check_sowing};
use super::{EndReason, Game, IllegalMove, MAX_PITS, Move, OptionSpec, Phase, PitSet, Position, Ring, Seat};

const RING: Ring = Ring { row: 6 };
static LAPS: Laps<12, 49, 16> = laps(false);
const SOWING: Sowing<12, 49, 16> = Sowing { table: &LAPS, skip_origin: false };

/// The rules of Hoyito III. No options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hoyito3;

impl Variant for Hoyito3 {
    const GAME: Game = Game::Hoyito3;
    const OPTIONS: &'static [OptionSpec] = &[];

    fn option(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn set_option(&mut self, _: &str, _: usize) {}

    fn start(&self, first: Seat) -> Position {
        let mut pits = [0; MAX_PITS];
        pits[..12].fill(4);
        Position::new(Game::Hoyito3, pits, first, Phase::Sow)
    }

    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove> {
        match *mv {
            Move::Pass if row(p).is_empty() => Ok(()),
            Move::Pass => Err(IllegalMove::CannotPass { seat: p.to_act }),
            Move::Sow { .. } if row(p).is_empty() => Err(IllegalMove::MustPass { seat: p.to_act }),
            Move::Sow { pit, seeds } => check_sowing(p, pit, seeds),
            _ => Err(IllegalMove::NotInThisGame { game: p.game, given: mv.kind() }),
        }
    }

    #[inline]
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move)) {
        let own = row(p);
        if own.is_empty() {
            visit(Move::Pass);
        }
        own.iter().for_each(|pit| visit(Move::sow(pit)));
    }

    #[inline]
    fn pits_to_sow(&self, p: &Position) -> PitSet {
        row(p)
    }

    #[inline]
    fn play(&self, p: &mut Position, mv: Move, observer: &mut impl Observer) -> Ply {
        let before = *p;
        let mut ply = Ply::default();
        if let Move::Sow { pit, .. } = mv {
            ply = match sow(p, pit, observer) {
                Some(captured) => Ply { captured, endless: false },
                None => p.void(&before, observer),
            };
        }
        // Rule 2: a capture gives another turn, if there is anything to sow.
        let again = ply.captured > 0 && !row(p).is_empty();
        let next = if again { p.to_act } else { p.to_act.other() };
        if ply.captured > 0 && p.on_board() == 4 {
            self.finish(p, EndReason::FinalFour, observer);
            p.to_act = next;
        } else {
            p.to_act = next;
            observer.step(Step::Turn(next));
        }
        ply
    }

    /// Only a capture ends the game (rule 4).
    fn end(&self, _: &Position) -> Option<EndReason> {
        None
    }

    fn leftovers_to(&self, p: &Position, pit: u8, reason: EndReason) -> Option<Seat> {
        if reason.is_guard() { Some(RING.row_of(pit)) } else { Some(p.heir.unwrap_or(p.to_act)) }
    }
}

/// The occupied pits of the row of the seat to act.
#[inline(always)]
fn row(p: &Position) -> PitSet {
    p.occupied() & RING.row(p.to_act)
}

/// Rule 1: the seeds captured, or `None` when the sowing is endless.
#[inline(always)]
fn sow(p: &mut Position, pit: u8, observer: &mut impl Observer) -> Option<u8> {
    let mut judge = RelayJudge::new();
    let mut last = SOWING.lap(&mut p.pits, pit, false, observer);
    loop {
        match p.seeds(last) {
            4 => return Some(p.capture(last, observer)),
            1 => return Some(0),
            _ if judge.is_endless(&p.pits, last) => return None,
            _ => last = SOWING.lap(&mut p.pits, last, true, observer),
        }
    }
}
