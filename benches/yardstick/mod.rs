//! What the engine is measured by: for each game one loop of random play, written by hand for that game alone.
//!
//! Plain loops over bytes, as one writes who knows the game and wants nothing else: single games with default options, no text, no
//! steps, no options, no closed pits, no check of a move. The games end as the engine's do, by the rules and by the usual guards. The
//! dice are the engine's and are asked in the same order, so that a seed means the same game here and there: `tests/game/yardstick.rs`
//! holds every position against the vectors and whole games against the engine.

pub mod ali_guli_mane;
pub mod ayoayo;
pub mod gore;
pub mod hoyito3;
pub mod kiothi;
mod relay;

use mancala::game::Dice;

/// A game has ended after so many plies at the latest.
const MAX_PLIES: u32 = 2_000;
/// A position that occurs so often ends the game.
const REPETITION: u32 = 3;

/// One game's board.
pub trait Board: Copy {
    /// A decision.
    type Move: Copy;
    /// What has been on the board before.
    type History: History<Self>;
    /// So many plies without a capture end the game.
    const QUIET: u32;

    fn start() -> Self;

    /// A legal move, each as likely as any other. The game is not over.
    fn draw(&self, dice: &mut impl Dice) -> Self::Move;

    /// Plays a legal move. Returns how many seeds it captured.
    fn play(&mut self, mv: Self::Move) -> u8;

    fn is_over(&self) -> bool;

    /// Ends the game as a guard does.
    fn stop(&mut self);

    /// Whether such a move counts as a ply without a capture when it captures nothing.
    fn can_be_quiet(_: Self::Move) -> bool {
        true
    }
}

/// Counts how often positions have occurred.
pub trait History<B>: Default {
    fn clear(&mut self);

    /// How often this position has occurred, now that it has once more.
    fn count(&mut self, board: &B) -> u32;

    /// A capture was made.
    fn capture(&mut self);
}

/// The positions since the last capture, looked through one by one: in most games there are few, and none from before can come back.
#[derive(Default)]
pub struct SinceCapture<B>(Vec<B>);

/// Whether two boards with the same banks are the same position.
pub trait Same {
    fn same(&self, other: &Self) -> bool;
}

impl<B: Copy + Default + Same> History<B> for SinceCapture<B> {
    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    fn count(&mut self, board: &B) -> u32 {
        let times = self.0.iter().filter(|earlier| earlier.same(board)).count() as u32 + 1;
        self.0.push(*board);
        times
    }

    #[inline]
    fn capture(&mut self) {
        self.0.clear();
    }
}

/// All positions, of a game that goes on for long without captures or where they can come back after one. Open addressing; twice as many
/// places as plies, so that some are always free. Places of earlier games, or from before a capture, are told by their era.
pub struct Hashed {
    places: Vec<Place>,
    era: u32,
}

#[derive(Clone, Copy, Default)]
struct Place {
    key: [u64; 2],
    era: u32,
    times: u32,
}

const PLACES: usize = 4_096;

impl Default for Hashed {
    fn default() -> Hashed {
        Hashed { places: vec![Place::default(); PLACES], era: 0 }
    }
}

/// What makes a board with its banks another one than any other.
pub trait Key {
    /// Whether banks only grow, so that no position comes back after a capture.
    const CAPTURES_ARE_FINAL: bool;

    fn key(&self) -> [u64; 2];
}

impl<B: Key> History<B> for Hashed {
    fn clear(&mut self) {
        self.era += 1;
    }

    #[inline]
    fn count(&mut self, board: &B) -> u32 {
        let key = board.key();
        let mixed = (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (mixed >> 52) as usize;
        loop {
            let place = &mut self.places[at];
            if place.era != self.era {
                *place = Place { key, era: self.era, times: 1 };
                return 1;
            }
            if place.key == key {
                place.times += 1;
                return place.times;
            }
            at = (at + 1) % PLACES;
        }
    }

    #[inline]
    fn capture(&mut self) {
        if B::CAPTURES_ARE_FINAL {
            self.era += 1;
        }
    }
}

/// Plays one random game. Returns its last board and its number of plies.
///
/// Without `history` nothing is kept of positions that were there before, so that repetition ends no game.
#[inline]
pub fn playout<B: Board>(history: Option<&mut B::History>, dice: &mut impl Dice) -> (B, u32) {
    match history {
        Some(history) => {
            history.clear();
            history.count(&B::start());
            run(dice, |board: &B, captured| {
                if captured {
                    history.capture();
                }
                !board.is_over() && history.count(board) >= REPETITION
            })
        }
        None => run(dice, |_: &B, _| false),
    }
}

#[inline(always)]
fn run<B: Board>(dice: &mut impl Dice, mut repeats: impl FnMut(&B, bool) -> bool) -> (B, u32) {
    let mut board = B::start();
    let (mut plies, mut quiet) = (0, 0);
    while !board.is_over() {
        let mv = board.draw(dice);
        let captured = board.play(mv) > 0;
        plies += 1;
        if captured {
            quiet = 0;
        } else if B::can_be_quiet(mv) {
            quiet += 1;
        }
        if repeats(&board, captured) || (!board.is_over() && (quiet >= B::QUIET || plies >= MAX_PLIES)) {
            board.stop();
        }
    }
    (board, plies)
}
