//! Records: exported, imported and verified.

use super::SessionHandlers;
use super::access::Caller;
use super::convert::{result, session as session_out, timestamp};
use super::fields::Fields;
use super::proto::{self, RecordFormat};
use super::refuse::{Refused, record_too_large};
use super::session_service::note;
use crate::service::{Compute, Import, record_of};
use crate::session::check_session_id;
use crate::session::record::{self, Checked, Difference, Format, MAX_RECORD, RecordFault, Wrong};
use tonic::Status;

fn format_in(format: i32) -> Result<Format, &'static str> {
    match RecordFormat::try_from(format) {
        Ok(RecordFormat::Unspecified | RecordFormat::Text) => Ok(Format::Text),
        Ok(RecordFormat::Json) => Ok(Format::Json),
        Err(_) => Err("a format: RECORD_FORMAT_TEXT or RECORD_FORMAT_JSON"),
    }
}

fn record_in(fields: &mut Fields, record: &str) {
    if record.len() > MAX_RECORD {
        fields.fault("record", format_args!("at most {MAX_RECORD} bytes"));
    }
}

pub async fn export(
    handlers: &SessionHandlers,
    request: proto::ExportRecordRequest,
) -> Result<proto::ExportRecordResponse, Status> {
    let proto::ExportRecordRequest { session_id, format, version } = request;
    let mut fields = Fields::new();
    let id = fields.session_id(session_id);
    if version == Some(0) {
        fields.fault("version", "1 or more; leave it out for the session as it is now");
    }
    let format = fields.take("format", format_in(format));
    let format = fields.done(format)?;
    note(&id);
    let SessionHandlers { sessions, compute, .. } = handlers;
    let stored = sessions.history(&id, version).await?;
    let made = compute.run(move |_| record_of(&id, &stored, version).map(|record| (record.write(format), record))).await?;
    let (text, record) = made?;
    if text.len() > MAX_RECORD {
        return Err(record_too_large().into_status());
    }
    Ok(proto::ExportRecordResponse {
        record: text,
        version: record.events.len() as u32,
        head_hash: record.head_hash.map(|hash| hash.to_string()).unwrap_or_default(),
        server_time: Some(timestamp(sessions.now())),
    })
}

pub async fn import(
    handlers: &SessionHandlers,
    caller: &Caller,
    request: proto::ImportRecordRequest,
) -> Result<proto::ImportRecordResponse, Status> {
    let SessionHandlers { sessions, compute, .. } = handlers;
    let proto::ImportRecordRequest { record, session_id, request_id } = request;
    let mut fields = Fields::new();
    record_in(&mut fields, &record);
    if !session_id.is_empty()
        && let Err(fault) = check_session_id(&session_id)
    {
        fields.fault("session_id", fault);
    }
    let request_id = fields.request_id(request_id);
    fields.done(Some(()))?;
    let new_id = Some(session_id).filter(|id| !id.is_empty());
    let checked = compute.run(move |cancel| record::check(&record, new_id.as_deref(), || cancel.is_set())).await?;
    let Checked { record, session, hashes } = checked.map_err(|wrong| Refused::from(&wrong).into_status())?;
    note(session.id());
    let creator = caller.operator().map(str::to_owned);
    let made = sessions.import(Import { record, session, hashes, creator, request_id }).await?;
    let session = Some(session_out(&made.session));
    Ok(proto::ImportRecordResponse { session, replayed: made.replayed, server_time: Some(timestamp(sessions.now())) })
}

pub async fn verify(compute: &Compute, request: proto::VerifyRecordRequest) -> Result<proto::VerifyRecordResponse, Status> {
    let proto::VerifyRecordRequest { record } = request;
    let mut fields = Fields::new();
    record_in(&mut fields, &record);
    fields.done(Some(()))?;
    Ok(match compute.run(move |cancel| record::check(&record, None, || cancel.is_set())).await? {
        Ok(Checked { record, session, hashes: _ }) => proto::VerifyRecordResponse {
            ok: true,
            hashed: record.head_hash.is_some(),
            version: session.version(),
            position: session.position_text().to_owned(),
            result: session.result().map(result),
            head_hash: session.head_hash().to_string(),
            difference: None,
        },
        Err(wrong) => proto::VerifyRecordResponse { difference: Some(difference_out(wrong)), ..Default::default() },
    })
}

fn difference_out(wrong: Wrong) -> proto::RecordDifference {
    let refusal = Some(Refused::from(&wrong).into_refusal());
    match wrong {
        Wrong::Unreadable(RecordFault { line, expected }) => proto::RecordDifference {
            refusal,
            event: 0,
            line: line as u32,
            expected: expected.into_owned(),
            found: String::new(),
        },
        Wrong::Differs { difference: Difference { event, aspect: _, expected, found }, line } => {
            proto::RecordDifference { refusal, event, line: line.unwrap_or_default() as u32, expected, found }
        }
    }
}
