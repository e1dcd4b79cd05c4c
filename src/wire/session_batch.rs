//! BatchGetSessions and BatchCreateSessions.

use super::convert::{listed, session as session_out};
use super::fields::Fields;
use super::proto::{self, session_lookup::Outcome};
use super::reason::Reason;
use super::refuse::{Refused, refused, status};
use super::session_request::new_session_in;
use crate::service::{NewSession, RequestId, ServiceError, Sessions};
use crate::session::check_session_id;
use prost::Message;
use std::collections::HashMap;
use tonic::Status;
use tonic_types::FieldViolation;

/// The most sessions of a batch. What a session takes in an answer, at first, is bounded by that of its labels, so that as
/// many fit into one.
const MAX_SESSIONS: usize = 500;

/// Whether a batch has as many items as it may.
fn check_size(fields: &mut Fields, field: &str, size: usize) -> Result<(), Status> {
    if !(1..=MAX_SESSIONS).contains(&size) {
        fields.fault(field, format_args!("1 to {MAX_SESSIONS}"));
    }
    // Faults of too many items would be too many faults.
    fields.check()
}

/// Answers BatchGetSessions.
pub async fn get(
    sessions: &Sessions,
    request: proto::BatchGetSessionsRequest,
) -> Result<proto::BatchGetSessionsResponse, Status> {
    let proto::BatchGetSessionsRequest { session_ids } = request;
    let mut fields = Fields::new();
    check_size(&mut fields, "session_ids", session_ids.len())?;
    for (place, id) in session_ids.iter().enumerate() {
        fields.take(format_args!("session_ids[{place}]"), check_session_id(id));
    }
    fields.check()?;
    let found = sessions.get_all(session_ids.clone()).await.map_err(|error| status(error, "", ""))?;
    let mut results = Vec::with_capacity(found.len());
    let mut bytes = 0;
    for (id, found) in session_ids.iter().zip(found) {
        let outcome = match found {
            Ok((head, view)) => Outcome::Session(listed(head, view)),
            Err(error) => Outcome::Refusal(refused(&error, id, "").into_refusal()),
        };
        let result = proto::SessionLookup { outcome: Some(outcome) };
        // Length of a field of the answer: the message, its length and its tag.
        bytes += result.encoded_len() + 6;
        if bytes > super::MAX_REPLY {
            return Err(Refused::reply_too_large().into_status());
        }
        results.push(result);
    }
    Ok(proto::BatchGetSessionsResponse { results })
}

/// Answers BatchCreateSessions.
pub async fn create(
    sessions: &Sessions,
    request: proto::BatchCreateSessionsRequest,
) -> Result<proto::BatchCreateSessionsResponse, Status> {
    let (news, request_id) = new_sessions(request)?;
    let ids: Vec<_> = news.iter().map(|new| new.session_id.clone().unwrap_or_default()).collect();
    let made = sessions.create_all(news, request_id.clone()).await;
    let made = made.map_err(|error| match error {
        ServiceError::IdsTaken(places) => ids_taken(&places, &ids),
        ServiceError::Gone { ref session_id } => status(error.clone(), session_id, ""),
        error => status(error, "", &request_id.unwrap_or_default()),
    })?;
    let sessions = made.sessions.iter().map(session_out).collect();
    Ok(proto::BatchCreateSessionsResponse { sessions, replayed: made.replayed })
}

/// The sessions that a request asks for.
fn new_sessions(request: proto::BatchCreateSessionsRequest) -> Result<(Vec<NewSession>, RequestId), Status> {
    let proto::BatchCreateSessionsRequest { requests, request_id } = request;
    let mut fields = Fields::new();
    let request_id = fields.request_id(request_id);
    check_size(&mut fields, "requests", requests.len())?;
    let mut places = HashMap::new();
    let mut news = Vec::with_capacity(requests.len());
    for (place, request) in requests.into_iter().enumerate() {
        fields.within(format_args!("requests[{place}]"), |fields| {
            if !request.request_id.is_empty() {
                fields.fault("request_id", "none: that of the batch stands for all");
            }
            if !request.session_id.is_empty()
                && let Some(first) = places.insert(request.session_id.clone(), place)
            {
                fields.fault("session_id", format_args!("another one than that of requests[{first}]"));
            }
            let request = proto::CreateSessionRequest { request_id: String::new(), ..request };
            news.extend(new_session_in(fields, request));
        });
    }
    fields.check()?;
    Ok((news, request_id))
}

/// Names the items whose ids are taken.
fn ids_taken(places: &[usize], ids: &[String]) -> Status {
    let taken = places.iter().filter_map(|&place| ids.get(place)).cloned().collect::<Vec<_>>().join(",");
    let text = Reason::SessionIdTaken.description();
    let fault = |place: &usize| FieldViolation::new(format!("requests[{place}].session_id"), text);
    let refused = Refused::new(Reason::SessionIdTaken, format_args!("{taken}: {text}"), vec![("session_id", taken.clone())]);
    refused.into_status_with(places.iter().map(fault).collect())
}
