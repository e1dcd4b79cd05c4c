//! The rules of the five games. Pure: no clock, no randomness, no I/O.
//!
//! Start at [`Rules`]: a game with its options. It makes a first [`Position`], lists and checks [`Move`]s and plays them. A
//! [`Record`] is a game in play, with the history that its [`Guards`] need. [`text`] writes positions and moves down and reads
//! them as a [`SetUp`], which becomes a position once it is found playable. An [`observer`] sees every seed move.
//!
//! One file holds one game, and reads like its page: [`gore`], [`ayoayo`], [`kiothi`], [`ali_guli_mane`], [`hoyito3`].
//!
#![doc = include_str!("pages/common.md")]

pub mod ali_guli_mane;
pub mod ayoayo;
mod dice;
mod game_id;
pub mod gore;
pub mod hoyito3;
mod illegal;
pub mod kiothi;
mod line;
pub mod matches;
mod moves;
pub mod observer;
mod occurrences;
pub mod opening;
mod options;
pub mod perft;
mod pits;
pub mod playout;
mod position;
mod reader;
mod record;
mod rules;
mod seat;
mod setup;
mod setup_fault;
mod sowing;
pub mod text;
mod variant;
mod write;

pub use dice::Dice;
pub use game_id::{COMMON_PAGE, Game};
pub use illegal::IllegalMove;
pub use moves::{MAX_MOVES, Move, MoveList, Redistribution};
pub use opening::RedistributionFamily;
pub use options::{OptionFault, OptionSpec};
pub use pits::{MAX_PITS, PitSet, Pits, Ring};
pub use position::{EndReason, Outcome, Phase, Position};
pub use record::{Ahead, Guards, Record};
pub use rules::{Legal, Rules};
pub use seat::{BySeat, Seat};
pub use setup::{SetUp, SetUpPit};
pub use setup_fault::SetUpFault;
pub use sowing::MAX_LAPS;
pub use text::{PositionError, TextError};
pub use variant::Ply;
