//! What a game must say about itself, and what follows from that.

use super::observer::{Observer, Step};
use super::{Dice, EndReason, Game, IllegalMove, Move, OptionSpec, Phase, PitSet, Position, Seat};

/// What a played move did, beside changing the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ply {
    /// Seeds that it captured, into either bank. What an end hands out is not among them.
    pub captured: u8,
    /// The sowing was endless and therefore void.
    pub endless: bool,
}

/// One of the games.
///
/// The first part is the game's own; the provided methods are the same for all. Positions are always of this game; moves
/// given to [`Variant::play`] are legal.
pub(super) trait Variant: Copy + Default {
    const GAME: Game;
    const OPTIONS: &'static [OptionSpec];
    /// Whether banks only grow, so that no position can come back after a capture.
    const CAPTURES_ARE_FINAL: bool = true;

    /// The value of an option.
    fn option(&self, name: &str) -> Option<&'static str>;

    /// Sets an option to the value of this index in its [`OptionSpec::values`].
    fn set_option(&mut self, name: &str, value: usize);

    /// The first position of a single game.
    fn start(&self, first: Seat) -> Position;

    /// Whether a move is legal in a position that is not over.
    fn check(&self, p: &Position, mv: &Move) -> Result<(), IllegalMove>;

    /// The canonical form of a legal move.
    #[inline]
    fn canonical(&self, _: &Position, mv: Move) -> Move {
        mv
    }

    /// Visits the legal moves of a position that is not over; none in Kiothi's openings.
    fn each_move(&self, p: &Position, visit: &mut impl FnMut(Move));

    /// The pits to draw from when every legal move is to sow a whole pit; none when that is not so or not known.
    #[inline]
    fn pits_to_sow(&self, _: &Position) -> PitSet {
        PitSet::EMPTY
    }

    /// Plays a legal move, and ends the game where the rules say so.
    fn play(&self, p: &mut Position, mv: Move, observer: &mut impl Observer) -> Ply;

    /// The rule by which a position, seen by itself, has ended. Ends that only a move brings about (Hoyito III) are not among them.
    fn end(&self, p: &Position) -> Option<EndReason>;

    /// Who is given the seeds that this pit holds when the game ends; `None`: nobody, they stay.
    fn leftovers_to(&self, p: &Position, pit: u8, reason: EndReason) -> Option<Seat>;

    /// Draws a legal move, each as likely as any other; none when the game is over.
    #[inline(always)]
    fn draw(&self, p: &Position, dice: &mut impl Dice) -> Option<Move> {
        if p.is_over() {
            return None;
        }
        let pits = self.pits_to_sow(p);
        if !pits.is_empty() {
            return Some(Move::sow(pits.nth(dice.below(pits.len().into()) as u32)));
        }
        // Counted first and then looked up: cheaper than to keep a list.
        let mut count = 0;
        self.each_move(p, &mut |_| count += 1);
        if count == 0 {
            return None;
        }
        let mut left = dice.below(count);
        let mut drawn = None;
        self.each_move(p, &mut |mv| {
            if left == 0 && drawn.is_none() {
                drawn = Some(mv);
            }
            left = left.wrapping_sub(1);
        });
        drawn
    }

    /// Gives the next decision to the seat to act, or ends the game if a rule says so now.
    #[inline(always)]
    fn settle(&self, p: &mut Position, observer: &mut impl Observer) {
        match self.end(p) {
            Some(reason) => self.finish(p, reason, observer),
            None => observer.step(Step::Turn(p.to_act)),
        }
    }

    /// Ends the game: hands out what is left on the board.
    fn finish(&self, p: &mut Position, reason: EndReason, observer: &mut impl Observer) {
        let board = *p;
        for pit in board.occupied().iter() {
            if let Some(to) = self.leftovers_to(&board, pit, reason) {
                let seeds = std::mem::take(&mut p.pits[usize::from(pit)]);
                p.banks[to] += seeds;
                observer.step(Step::Sweep { pit, seeds, to });
            }
        }
        p.phase = Phase::Over(reason);
    }
}

impl Position {
    /// Takes all seeds of a pit into the bank of the seat to act.
    #[inline(always)]
    pub(super) fn capture(&mut self, pit: u8, observer: &mut impl Observer) -> u8 {
        let seeds = std::mem::take(&mut self.pits[usize::from(pit)]);
        self.banks[self.to_act] += seeds;
        observer.step(Step::Capture { pit, seeds, by: self.to_act });
        seeds
    }

    /// Undoes an endless sowing.
    #[cold]
    pub(super) fn void(&mut self, before: &Position, observer: &mut impl Observer) -> Ply {
        *self = *before;
        observer.step(Step::Void);
        Ply { captured: 0, endless: true }
    }
}

/// What makes a pit fit to sow from in every game: on the board, open, the seat's own, occupied.
pub(super) fn check_pit(p: &Position, pit: u8) -> Result<(), IllegalMove> {
    let (ring, seat) = (p.ring(), p.to_act);
    if pit >= ring.pits() {
        return Err(IllegalMove::PitOffBoard { pit, pits: ring.pits() });
    }
    if p.closed.has(pit) {
        return Err(IllegalMove::PitClosed { pit });
    }
    if p.controller(pit) != seat {
        return Err(IllegalMove::PitNotYours { pit, seat, owner: seat.other() });
    }
    if p.seeds(pit) == 0 {
        return Err(IllegalMove::PitEmpty { pit });
    }
    Ok(())
}

/// What makes a sowing legal in every game but Kiothi.
pub(super) fn check_sowing(p: &Position, pit: u8, seeds: Option<u8>) -> Result<(), IllegalMove> {
    check_pit(p, pit)?;
    match seeds {
        None => Ok(()),
        Some(_) => Err(IllegalMove::SeedsNotChosen { pit, held: p.seeds(pit) }),
    }
}
