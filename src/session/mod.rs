//! One session: a match between two seats, as a fold of its events.
//!
//! The events are the truth. [`Session::decide`] turns a [`Command`] into the events that it brings about, or refuses it;
//! [`Session::evolve`] takes an event in. Both are pure: time comes in as a value, and nothing here waits or stores.

mod decide;
mod event;
mod fold;
mod ids;
mod result;
mod seats;
mod secret_hash;
mod spectators;
mod text;
mod view;

pub use decide::{Command, Rejection};
pub use event::{Created, Event, GuardLimits};
pub use fold::{Divergence, Session};
pub use ids::{IdFault, LabelFault, MAX_LABELS, check_labels, check_request_id, check_session_id};
pub use result::{Cause, MatchResult};
pub use seats::{Claimant, Credential, Held, MAX_NAME_BYTES, NameFault, Player, SeatCommand, SeatStart, Seats, check_name};
pub use secret_hash::SecretHash;
pub use spectators::{MAX_DELAY_PLIES, SpectatorPolicy, Spectators};
pub use view::{SeatView, View};

/// Microseconds since 1970-01-01 00:00 UTC.
pub type Micros = i64;

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Being played.
    Active,
    /// Played to a result.
    Finished,
    /// Ended without one.
    Aborted,
}
