//! Whether clocks were kept, by the times that servers have stored with events. Servers' clocks may differ and be set, so that nothing
//! can be said of those times themselves. But what follows from them must hold exactly:
//!
//! - No event is earlier than the one before it.
//! - A round is lost by time only after the time of the seat to act is out.
//! - Once that is out nothing else happens to the round.

use super::{Objection, follows, is_time_out};
use mancala::session::Session;
use mancala::store::StoredEvent;

/// What is wrong with an event that came upon a session as it was then.
pub fn wrong_time(before: &Session, stored: &StoredEvent) -> Option<Objection> {
    let is_out = before.deadline().is_some_and(|deadline| deadline < stored.time);
    let what = match is_time_out(stored) {
        _ if stored.time < before.updated() => "is earlier than the one before it",
        true if !is_out => "ends a round by time that is not out",
        false if is_out && !follows(stored) => "happens to a round that is lost by time",
        _ => return None,
    };
    Some(Objection::Clock { seq: stored.seq, what })
}
