//! BatchGetSessions and BatchCreateSessions.

use super::access::Caller;
use super::convert::{listed, session as session_out, timestamp};
use super::fields::Fields;
use super::proto::{self, session_lookup::Outcome};
use super::refuse::{MAX_NAMED, Refused};
use super::seats::Issued;
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
fn check_size(field: &str, size: usize) -> Result<(), Status> {
    let mut fields = Fields::new();
    if !(1..=MAX_SESSIONS).contains(&size) {
        fields.fault(field, format_args!("1 to {MAX_SESSIONS}"));
    }
    fields.done(Some(()))
}

/// Answers BatchGetSessions.
pub async fn get(
    sessions: &Sessions,
    request: proto::BatchGetSessionsRequest,
) -> Result<proto::BatchGetSessionsResponse, Status> {
    let proto::BatchGetSessionsRequest { session_ids } = request;
    check_size("session_ids", session_ids.len())?;
    let mut fields = Fields::new();
    for (place, id) in session_ids.iter().enumerate() {
        fields.take(format_args!("session_ids[{place}]"), check_session_id(id));
    }
    let session_ids = fields.done(Some(session_ids))?;
    let found = sessions.get_all(&session_ids).await?;
    let mut results = Vec::with_capacity(found.len());
    let mut bytes = 0;
    for found in found {
        let outcome = match found {
            Ok((head, view, position)) => Outcome::Session(listed(head, view, &position)),
            Err(error) => Outcome::Refusal(Refused::from(&error).into_refusal()),
        };
        let result = proto::SessionLookup { outcome: Some(outcome) };
        // Length of a field of the answer: the message, its length and its tag.
        bytes += result.encoded_len() + 6;
        if bytes > super::MAX_REPLY {
            return Err(Refused::reply_too_large().into_status());
        }
        results.push(result);
    }
    Ok(proto::BatchGetSessionsResponse { results, server_time: Some(timestamp(sessions.now())) })
}

/// Answers BatchCreateSessions.
pub async fn create(
    sessions: &Sessions,
    caller: &Caller,
    request: proto::BatchCreateSessionsRequest,
) -> Result<proto::BatchCreateSessionsResponse, Status> {
    let (news, request_id) = new_sessions(caller, request)?;
    let (news, issued): (Vec<_>, Vec<_>) = news.into_iter().unzip();
    let made = sessions.create_all(news, request_id).await.map_err(|error| match error {
        ServiceError::IdsTaken(ref taken) => ids_taken(&error, taken),
        error => error.into(),
    })?;
    let shown = issued.into_iter().zip(&made.sessions).filter(|_| !made.replayed).map(|(issued, session)| {
        let session_id = session.id().to_owned();
        proto::SessionSecrets { secrets: issued.show(&session_id), session_id }
    });
    let secrets = shown.filter(|shown| !shown.secrets.is_empty()).collect();
    Ok(proto::BatchCreateSessionsResponse {
        secrets,
        sessions: made.sessions.iter().map(session_out).collect(),
        replayed: made.replayed,
        server_time: Some(timestamp(sessions.now())),
    })
}

/// The sessions that a request asks for.
fn new_sessions(
    caller: &Caller,
    request: proto::BatchCreateSessionsRequest,
) -> Result<(Vec<(NewSession, Issued)>, RequestId), Status> {
    let proto::BatchCreateSessionsRequest { requests, request_id } = request;
    check_size("requests", requests.len())?;
    let mut fields = Fields::new();
    let request_id = fields.request_id(request_id);
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
            news.extend(new_session_in(fields, caller, request));
        });
    }
    fields.done(Some((news, request_id)))
}

/// Names the fields whose ids are taken, the first of them.
fn ids_taken(error: &ServiceError, taken: &[(usize, String)]) -> Status {
    let fields = taken.iter().take(MAX_NAMED).map(|(place, _)| format!("requests[{place}].session_id"));
    let faults = fields.map(|field| FieldViolation::new(field, "another id: this one is taken, or was"));
    Refused::from(error).into_status_with(faults.collect())
}
