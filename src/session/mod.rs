//! One session: a match between two seats, as a fold of its events.
//!
//! The events are the truth. [`Session::decide`] turns a [`Command`] into the events that it brings about, or refuses it;
//! [`Session::evolve`] takes an event in. Both are pure: time comes in as a value, and nothing here waits or stores.

mod agreement;
mod chain;
mod clock;
mod decide;
mod event;
mod evolve;
mod fold;
mod ids;
mod propose;
pub mod record;
mod rejection;
mod result;
mod rounds;
mod seats;
mod secret_hash;
mod spectators;
mod text;
mod view;

pub use agreement::{Proposal, ProposalKind, Proposals};
pub use chain::EventHash;
pub use clock::{Clock, ClockFault, ClockSetting, MAX_PERIODS, MAX_TIME, Remaining};
pub use decide::Command;
pub use event::{Created, Event, GuardLimits};
pub use fold::{Divergence, MAX_ROUNDS, Session};
pub use ids::{IdFault, LabelFault, MAX_LABELS, check_labels, check_request_id, check_session_id};
pub use rejection::Rejection;
pub use result::{Cause, MatchResult};
pub use seats::{Claimant, Credential, Held, MAX_NAME_BYTES, NameFault, Player, SeatCommand, SeatStart, Seats, check_name};
pub use secret_hash::SecretHash;
pub use spectators::{MAX_DELAY_PLIES, SpectatorPolicy, Spectators};
pub use view::{ClockView, SeatView, View};

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
