//! Why a call on sessions fails.

use crate::session::{Divergence, Rejection};
use crate::store::StoreError;
use thiserror::Error;

/// Why a call on sessions fails. Nothing has changed then, unless this is not known: at [`StoreError::Unknown`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// There is no such session.
    #[error("there is no session of this id")]
    NotFound {
        /// The id.
        session_id: String,
    },
    /// The session has not come that far.
    #[error("the session is at version {current} and has no version {asked} yet")]
    VersionAhead {
        /// The version asked for.
        asked: u32,
        /// The version that it has.
        current: u32,
    },
    /// A session of this id is there, or was and is deleted.
    #[error("this session id is taken, or was before its session was deleted; choose another")]
    IdTaken {
        /// The id.
        session_id: String,
    },
    /// The request id was used with another content.
    #[error("this request id was used before for another request; use a new one for every new request")]
    RequestIdReused {
        /// The id.
        request_id: String,
    },
    /// What the caller shows for the session is not in force, or no longer.
    #[error("the token or join code is not in force")]
    NotAdmitted,
    /// The session has another version than the caller thinks.
    #[error("the session is at version {current}, not {expected}; read it again and decide anew")]
    StaleVersion {
        /// The version that the caller gave.
        expected: u32,
        /// The version that it has.
        current: u32,
    },
    /// The session has more events than a record can hold.
    #[error("the session is too long for a record of {} bytes", crate::session::record::MAX_RECORD)]
    RecordTooLarge,
    /// A record's last event is later than now.
    #[error("the record's last event is in the future")]
    InFuture,
    /// The command is refused.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored makes no sense.
    #[error("session {session_id} can't be read: {what}")]
    Damaged {
        /// The session.
        session_id: String,
        /// What is wrong.
        what: String,
    },
    /// So many others changed the session at the same time that there was no turn for this call.
    #[error("the session is being changed by too many at once; try again")]
    Contended,
    /// The operator has as many sessions that are being played as it may have.
    #[error("{operator} may have {limit} sessions that are being played; end or delete some, or have the quota raised")]
    QuotaExceeded {
        /// Who.
        operator: String,
        /// How many.
        limit: usize,
    },
    /// More changes are under way than the server takes on.
    #[error("{limit} changes are under way, which is all that the server takes on; repeat the call a little later")]
    Overloaded {
        /// How many.
        limit: usize,
    },
    /// More long computations are asked for than may wait.
    #[error("too many long computations are running; try again")]
    Busy,
    /// The session has as many watchers as it may have.
    #[error("the session has {most} watchers already, and may not have more; watch it later, or through one that does")]
    TooManyWatches {
        /// So many it may have.
        most: usize,
    },
    /// The cursor is not one that this store gave, or one of its future.
    #[error("the cursor is not of this store; list the sessions, and watch with the cursor of a new watch")]
    CursorUnknown,
    /// The server is stopping.
    #[error("the server is stopping; try again")]
    Stopping,
    /// Of a batch, these session ids, each with its place in it from 0, are taken, or were before their sessions were deleted.
    #[error("session ids of the batch are taken, or were before their sessions were deleted; choose others")]
    IdsTaken(Vec<(usize, String)>),
}

impl ServiceError {
    /// There is no session of this id.
    #[must_use]
    pub fn not_found(session_id: &str) -> ServiceError {
        ServiceError::NotFound { session_id: session_id.to_owned() }
    }

    pub(super) fn damaged(session_id: &str, what: impl ToString) -> ServiceError {
        ServiceError::Damaged { session_id: session_id.to_owned(), what: what.to_string() }
    }

    pub(super) fn diverged(session_id: &str, divergence: &Divergence) -> ServiceError {
        ServiceError::damaged(session_id, divergence)
    }
}

/// What a failure of the store means in a call on one session: what it can't make sense of is that session. Whether all of it is damaged
/// is for its health to tell.
pub(super) fn of_session(session_id: &str) -> impl FnOnce(StoreError) -> ServiceError {
    move |error| match error {
        StoreError::Damaged(what) => ServiceError::damaged(session_id, what),
        error => error.into(),
    }
}

/// What a task of a call came to. A panic in it goes on in the call: only the call can answer for it.
pub(super) fn join<T>(joined: Result<T, tokio::task::JoinError>) -> Result<T, ServiceError> {
    joined.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_cancelled) => ServiceError::Stopping,
    })
}
