//! From the errors of the layers below to statuses and refusals.

use super::convert::timestamp;
use super::proto::Refusal;
use super::reason::Reason;
use crate::game::{IllegalMove, PositionError, Seat, TextError};
use crate::service::ServiceError;
use crate::session::Rejection;
use crate::session::record::{Difference, MAX_RECORD, RecordFault, Wrong};
use crate::store::StoreError;
use http::HeaderMap;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::time::Duration;
use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

/// The domain of every reason.
pub const DOMAIN: &str = "mancala.v1";

/// So many of the things that an error is about are named: it must fit into HTTP headers.
pub const MAX_NAMED: usize = 10;

/// When a call that failed for the moment may be repeated at the earliest.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// A reason with its text and facts, to be made a status or part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    reason: Reason,
    text: String,
    facts: Vec<(&'static str, String)>,
    retry_after: Option<Duration>,
    over_quota: Option<(String, String)>,
}

impl Refused {
    /// A refusal; `facts` are those that the reason names, in its order.
    pub fn new(reason: Reason, text: impl Display, facts: Vec<(&'static str, String)>) -> Refused {
        debug_assert!(facts.iter().map(|(name, _)| name).eq(reason.facts()), "{reason:?} bears {:?}", reason.facts());
        // What is unavailable is so for the moment.
        let retry_after = (reason.code() == tonic::Code::Unavailable).then_some(RETRY_AFTER);
        Refused { reason, text: text.to_string(), facts, retry_after, over_quota: None }
    }

    /// A refusal without facts, in the words of the table.
    pub fn plain(reason: Reason) -> Refused {
        Refused::new(reason, reason.description(), Vec::new())
    }

    /// An answer that would be too large.
    pub fn reply_too_large() -> Refused {
        let limit = vec![("limit_bytes", super::MAX_REPLY.to_string())];
        Refused::new(Reason::ReplyTooLarge, Reason::ReplyTooLarge.description(), limit)
    }

    /// The same, to be tried again after a time.
    pub fn retry_after(self, wait: Duration) -> Refused {
        Refused { retry_after: Some(wait), ..self }
    }

    /// The same, with whose quota it is about and what that is.
    pub fn over_quota(self, subject: impl Display, description: impl Display) -> Refused {
        Refused { over_quota: Some((subject.to_string(), description.to_string())), ..self }
    }

    fn message(&self) -> String {
        format!("{}: {}", self.reason.name(), self.text)
    }

    /// As part of an answer.
    pub fn into_refusal(self) -> Refusal {
        let metadata: BTreeMap<_, _> = self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Refusal { reason: self.reason.name().to_owned(), message: self.message(), metadata }
    }

    fn details(&self) -> ErrorDetails {
        let metadata: HashMap<_, _> = self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut details = ErrorDetails::with_error_info(self.reason.name(), DOMAIN, metadata);
        if self.retry_after.is_some() {
            details.set_retry_info(self.retry_after);
        }
        if let Some((subject, description)) = &self.over_quota {
            details.add_quota_failure_violation(subject, description);
        }
        details
    }

    /// As a status with ErrorInfo, and with RetryInfo if it passes by itself.
    pub fn into_status(self) -> Status {
        Status::with_error_details(self.reason.code(), self.message(), self.details())
    }

    /// As a status that also names faulty fields.
    pub fn into_status_with(self, violations: Vec<FieldViolation>) -> Status {
        let mut details = self.details();
        details.set_bad_request(violations);
        Status::with_error_details(self.reason.code(), self.message(), details)
    }
}

impl From<&IllegalMove> for Refused {
    fn from(illegal: &IllegalMove) -> Refused {
        Refused::new(Reason::from(illegal), illegal, illegal.facts())
    }
}

impl From<&Rejection> for Refused {
    fn from(rejection: &Rejection) -> Refused {
        match rejection {
            Rejection::SessionOver { cause } => {
                Refused::new(Reason::SessionOver, rejection, vec![("cause", (*cause).to_owned())])
            }
            Rejection::NotYourTurn { seat, to_act } => {
                let facts = vec![("seat", seat.to_string()), ("to_act", to_act.to_string())];
                Refused::new(Reason::NotYourTurn, rejection, facts)
            }
            Rejection::Illegal(illegal) => illegal.into(),
            Rejection::SeatTaken { seat } => of_seat(Reason::SeatTaken, rejection, *seat),
            Rejection::SeatUnclaimed { seat } => of_seat(Reason::SeatUnclaimed, rejection, *seat),
            Rejection::NothingToRevoke { seat } => of_seat(Reason::NothingToRevoke, rejection, *seat),
            Rejection::JoinCodeUnknown => Refused::plain(Reason::JoinCodeWrong),
            Rejection::TimeNotOut { to_act, deadline } => {
                let deadline = deadline.map_or_else(|| "none".to_owned(), |deadline| timestamp(deadline).to_string());
                Refused::new(Reason::TimeNotOut, rejection, vec![("to_act", to_act.to_string()), ("deadline", deadline)])
            }
            Rejection::ProposalOpen { kind, by } => {
                let facts = vec![("kind", kind.name().to_owned()), ("by", by.to_string())];
                Refused::new(Reason::ProposalOpen, rejection, facts)
            }
            Rejection::ProposalTooSoon { kind, seat } => {
                let facts = vec![("kind", kind.name().to_owned()), ("seat", seat.to_string())];
                Refused::new(Reason::ProposalTooSoon, rejection, facts)
            }
            Rejection::ProposalImpossible { kind, why } => {
                let facts = vec![("kind", kind.name().to_owned()), ("why", (*why).to_owned())];
                Refused::new(Reason::ProposalImpossible, rejection, facts)
            }
            Rejection::ProposalNotFound { kind } => {
                Refused::new(Reason::ProposalNotFound, rejection, vec![("kind", kind.name().to_owned())])
            }
            Rejection::ProposalOfOther { kind, by } => {
                let facts = vec![("kind", kind.name().to_owned()), ("by", by.to_string())];
                Refused::new(Reason::ProposalOfOther, rejection, facts)
            }
        }
    }
}

fn of_seat(reason: Reason, rejection: &Rejection, seat: Seat) -> Refused {
    Refused::new(reason, rejection, vec![("seat", seat.to_string())])
}

/// The text of a move that can't be read.
pub fn unreadable_move(error: TextError) -> Refused {
    let facts = vec![("at", error.at.to_string()), ("expected", error.expected.to_owned())];
    Refused::new(Reason::InvalidMove, error, facts)
}

/// A position that can't be read or played.
pub fn invalid_position(error: &PositionError) -> Refused {
    let faults = error.to_string();
    Refused::new(Reason::InvalidPosition, &faults, vec![("faults", faults.clone())])
}

impl From<&ServiceError> for Refused {
    fn from(error: &ServiceError) -> Refused {
        let session = |id: &String| vec![("session_id", id.clone())];
        match error {
            // Whoever came this far had a token: what join codes are told is their handler's affair.
            ServiceError::NotAdmitted => Refused::plain(Reason::TokenInvalid),
            ServiceError::NotFound { session_id } => Refused::new(Reason::SessionNotFound, error, session(session_id)),
            ServiceError::VersionAhead { asked, current } => {
                let facts = vec![("asked_version", asked.to_string()), ("current_version", current.to_string())];
                Refused::new(Reason::VersionAhead, error, facts)
            }
            ServiceError::IdTaken { session_id } => Refused::new(Reason::SessionIdTaken, error, session(session_id)),
            ServiceError::RequestIdReused { request_id } => {
                Refused::new(Reason::RequestIdReused, error, vec![("request_id", request_id.clone())])
            }
            ServiceError::StaleVersion { expected, current } => {
                let facts = vec![("expected_version", expected.to_string()), ("current_version", current.to_string())];
                Refused::new(Reason::StaleVersion, error, facts)
            }
            ServiceError::RecordTooLarge => record_too_large(),
            ServiceError::InFuture => Refused::new(Reason::RecordInFuture, error, Vec::new()),
            ServiceError::Rejected(rejection) => rejection.into(),
            ServiceError::Store(store) => store_failure(store),
            ServiceError::Damaged { session_id, .. } => {
                tracing::error!(%error, "damaged session");
                Refused::new(Reason::SessionDamaged, Reason::SessionDamaged.description(), session(session_id))
            }
            ServiceError::TooManyWatches { most } => {
                Refused::new(Reason::TooManyWatches, error, vec![("most", most.to_string())])
            }
            ServiceError::CursorUnknown => Refused::plain(Reason::CursorUnknown),
            ServiceError::Contended => Refused::plain(Reason::Contended),
            ServiceError::QuotaExceeded { operator, limit } => {
                Refused::new(Reason::QuotaExceeded, error, vec![("limit", limit.to_string())]).over_quota(operator, error)
            }
            ServiceError::Overloaded { limit } => Refused::new(Reason::Overloaded, error, vec![("limit", limit.to_string())]),
            ServiceError::Busy => Refused::plain(Reason::Busy),
            ServiceError::Stopping => Refused::plain(Reason::Stopping),
            ServiceError::IdsTaken(taken) => {
                let named: Vec<_> = taken.iter().take(MAX_NAMED).map(|(_, id)| id.as_str()).collect();
                Refused::new(Reason::SessionIdTaken, error, vec![("session_id", named.join(","))])
            }
        }
    }
}

/// The reason that headers or trailers bear, if they bear one of ours.
pub fn reason_in(told: &HeaderMap) -> Option<Reason> {
    let status = Status::from_header_map(told)?;
    Reason::named(&status.get_details_error_info()?.reason)
}

/// A session that is too long for a record.
pub fn record_too_large() -> Refused {
    let limit = vec![("limit_bytes", MAX_RECORD.to_string())];
    Refused::new(Reason::RecordTooLarge, Reason::RecordTooLarge.description(), limit)
}

impl From<&Wrong> for Refused {
    fn from(wrong: &Wrong) -> Refused {
        match wrong {
            Wrong::Unreadable(fault) => {
                let fault = RecordFault { line: fault.line, expected: shorten(&fault.expected).into() };
                let facts = vec![("line", fault.line.to_string()), ("expected", fault.expected.to_string())];
                Refused::new(Reason::InvalidRecord, fault, facts)
            }
            Wrong::Differs { difference: Difference { event, aspect, expected, found }, line } => {
                let (expected, found) = (shorten(expected), shorten(found));
                let difference = Difference { event: *event, aspect: *aspect, expected, found };
                let facts = vec![
                    ("event", event.to_string()),
                    ("line", line.unwrap_or_default().to_string()),
                    ("what", aspect.name().to_owned()),
                    ("expected", difference.expected.clone()),
                    ("found", difference.found.clone()),
                ];
                Refused::new(Reason::RecordDiffers, difference, facts)
            }
        }
    }
}

/// So much of a text as fits into the headers that an error travels in.
fn shorten(text: &str) -> String {
    const MOST: usize = 300;
    let end = text.floor_char_boundary(MOST);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// So that a handler can pass on what the service says.
impl From<ServiceError> for Status {
    fn from(error: ServiceError) -> Status {
        Refused::from(&error).into_status()
    }
}

/// The cause goes to the log and not to the caller: it may name files.
fn store_failure(error: &StoreError) -> Refused {
    tracing::warn!(%error, "the store failed");
    Refused::plain(match error {
        StoreError::Full(_) => Reason::StoreFull,
        StoreError::Unwritable(_) => Reason::StoreUnwritable,
        StoreError::Unavailable(_) => Reason::StoreUnavailable,
        StoreError::Unknown(_) => Reason::OutcomeUnknown,
        StoreError::Damaged(_) => Reason::StoreDamaged,
    })
}
