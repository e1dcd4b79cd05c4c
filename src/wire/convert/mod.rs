//! Between messages and the types of the layers below. Inwards everything is checked; outwards nothing can fail.

mod clock;
mod events;
mod games;
mod moves;
mod position;
mod session;
mod steps;

pub use clock::{clock_in, clock_out, kind_in, kind_out, proposal_out};
pub use events::event;
pub use games::{get_game, list_games, list_reasons};
pub use moves::{move_in, move_out};
pub use position::{end_result, family, game_in, phase, position_in, position_out, position_with, seat_in, seat_out};
pub use session::{listed, result, session, state_in, timestamp};
pub use steps::steps;
