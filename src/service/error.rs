//! Why a call on sessions fails.

use crate::session::{Divergence, Rejection};
use crate::store::StoreError;
use thiserror::Error;

/// Why a call on sessions fails. Nothing has changed then, unless [`StoreError::Unknown`] says that this is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// There is no such session.
    #[error("there is no session of this id")]
    NotFound,
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
    IdTaken,
    /// The request id was used with another content.
    #[error("this request id was used before for another request; use a new one for every new request")]
    RequestIdReused,
    /// The session has another version than the caller thinks.
    #[error("the session is at version {current}, not {expected}; read it again and decide anew")]
    StaleVersion {
        /// The version that the caller gave.
        expected: u32,
        /// The version that it has.
        current: u32,
    },
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
    /// More long computations are asked for than may wait.
    #[error("too many long computations are running; try again")]
    Busy,
    /// The server is stopping, or the call's task was lost.
    #[error("the server is stopping; try again")]
    Stopping,
    /// Of a batch, these session ids (places in it, from 0) are taken, or were before their sessions were deleted.
    #[error("session ids of the batch are taken, or were before their sessions were deleted; nothing was made")]
    IdsTaken(Vec<usize>),
    /// Of a batch that was made before by the same request, this session has been deleted since.
    #[error("session {session_id} was made by this request and has been deleted since")]
    Gone {
        /// The session.
        session_id: String,
    },
}

impl ServiceError {
    pub(super) fn damaged(session_id: &str, what: impl ToString) -> ServiceError {
        ServiceError::Damaged { session_id: session_id.to_owned(), what: what.to_string() }
    }

    pub(super) fn diverged(session_id: &str, divergence: &Divergence) -> ServiceError {
        ServiceError::damaged(session_id, divergence)
    }
}
