//! Sessions that are made with the history that they have had elsewhere.

use super::errors::Failure;
use super::reads;
use super::writes::{EventRow, insert_creation, insert_event, insert_head, insertion, is_taken};
use crate::store::{Created, Import, StoredEvent};
use rusqlite::Connection;

pub(super) fn import(connection: &Connection, import: &Import) -> Result<Created, Failure> {
    let Import { head, events, request } = import;
    if let Some(request) = request
        && let Some(creation) = reads::creation(connection, &request.id)?
    {
        return Ok(Created::Repeated(creation));
    }
    if is_taken(connection, &head.session_id)? {
        return Ok(Created::IdTaken);
    }
    if let Some(request) = request {
        insert_creation(connection, request, &head.session_id)?;
    }
    let session = insert_head(connection, head)?;
    let same_request = |a: &StoredEvent, b: &StoredEvent| a.request.is_some() && a.request == b.request;
    let mut insert = insertion(connection)?;
    for group in events.chunk_by(same_request) {
        for (place, event) in group.iter().enumerate() {
            let StoredEvent { seq, time, request, body, hash } = event;
            let (request, hash) = (request.as_ref(), hash.as_ref());
            let row = EventRow { session, seq: *seq, time: *time, first: place == 0, request, body, hash };
            if !insert_event(&mut insert, &row)? {
                return Err(Failure::Rows(format!("session {} is new but has used a request's id", head.session_id)));
            }
        }
    }
    Ok(Created::Done)
}
