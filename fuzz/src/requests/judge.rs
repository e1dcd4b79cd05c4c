//! What must hold of every answer, beside that there is one.

use super::super::planted;
use super::contract::Method;
use super::known::Known;
use mancala::session::{Session, View};
use mancala::wire::proto;
use mancala::wire::reason::Reason;
use mancala::wire::refuse::DOMAIN;
use prost::Message;
use prost::bytes::Bytes;
use tonic::Status;
use tonic_types::StatusExt;

/// What nothing that is asked for should lead to, with a store that works and a server that has nothing else to do.
const NEVER: &[Reason] = &[
    Reason::Busy,
    Reason::CompressionUnknown,
    Reason::Contended,
    Reason::DeadlineExceeded,
    Reason::Internal,
    Reason::MethodUnknown,
    Reason::OutcomeUnknown,
    Reason::SessionDamaged,
    Reason::Stopping,
    Reason::StoreDamaged,
    Reason::StoreFull,
    Reason::StoreUnavailable,
    Reason::StoreUnwritable,
];

/// An error bears a reason of the table with what belongs to it.
pub fn error(method: &Method, status: &Status) -> Reason {
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("{}: no ErrorInfo: {status:?}", method.name));
    let reason = Reason::ALL.iter().copied().find(|reason| reason.name() == info.reason);
    let reason = reason.unwrap_or_else(|| panic!("{}: {} is not in the table", method.name, info.reason));
    assert_eq!((info.domain.as_str(), reason.code()), (DOMAIN, status.code()), "{}: {status:?}", method.name);
    assert!(!NEVER.contains(&reason), "{}: {status:?}", method.name);
    assert!(status.message().starts_with(&format!("{}: ", info.reason)), "{}: {status:?}", method.name);
    let mut facts: Vec<_> = info.metadata.keys().map(String::as_str).collect();
    let mut named = reason.facts().to_vec();
    facts.sort_unstable();
    named.sort_unstable();
    assert_eq!(facts, named, "{}: {status:?}", method.name);
    let faults = status.get_details_bad_request().map_or(0, |bad| bad.field_violations.len());
    assert!(faults > 0 || reason != Reason::InvalidRequest, "{}: {status:?}", method.name);
    // A batch names those of its items whose ids are taken.
    let may_have_faults = [Reason::InvalidRequest, Reason::SessionIdTaken].contains(&reason);
    assert!(faults == 0 || may_have_faults, "{}: {status:?}", method.name);
    reason
}

/// What an accepted command says of the session that it changed.
struct Said {
    version: u32,
    replayed: bool,
    position: Option<(String, i32)>,
    match_result: Option<Option<proto::Result>>,
}

/// What the reply to a command says; none if the method is none.
fn said(name: &str, reply: &Bytes) -> Option<Said> {
    macro_rules! said {
        ($reply:ident $(, position $position:ident $to_act:ident)? $(, result $result:ident)?) => {{
            let reply = proto::$reply::decode(reply.clone()).expect("a reply is its message");
            #[allow(unused_mut, reason = "not every reply says more")]
            let mut said = Said { version: reply.version, replayed: reply.replayed, position: None, match_result: None };
            $(said.position = Some((reply.$position, reply.$to_act));)?
            $(said.match_result = Some(reply.$result);)?
            Some(said)
        }};
    }
    match name {
        "ApplyMove" => said!(ApplyMoveResponse, position position to_act, result match_result),
        "Resign" => said!(ResignResponse, result match_result),
        "Propose" => said!(ProposeResponse),
        "AnswerProposal" => said!(AnswerProposalResponse, position position to_act),
        "WithdrawProposal" => said!(WithdrawProposalResponse),
        "ClaimTimeout" => said!(ClaimTimeoutResponse, result match_result),
        "ClaimSeat" => said!(ClaimSeatResponse),
        "RotateSeatToken" => said!(RotateSeatTokenResponse),
        "RevokeSeatToken" => said!(RevokeSeatTokenResponse),
        _ => None,
    }
}

/// A session before a call on it, if that is known, and after, as GetSession shows it.
pub fn change(method: &Method, reply: &Result<Bytes, Status>, before: Option<&Session>, after: Option<&Session>) {
    let said = reply.as_ref().ok().and_then(|reply| said(&method.name, reply));
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(after)) => {
            let newest = said.is_none_or(|said| said.replayed || said.version == after.version());
            return assert!(newest, "{} was accepted, and gave another version than {after:?}", method.name);
        }
        (before, None) => {
            return assert!(before.is_none() || method.name == "DeleteSession", "{} has removed a session", method.name);
        }
    };
    let unchanged = View::of(before) == View::of(after) && before.head_hash() == after.head_hash();
    let Some(said) = said else {
        assert!(unchanged, "{} was refused or only reads, but has changed {before:?} to {after:?}", method.name);
        return;
    };
    if said.replayed {
        assert!(unchanged && said.version <= after.version(), "{} was repeated: {before:?} to {after:?}", method.name);
        return;
    }
    assert!(!unchanged && said.version > before.version(), "{} was accepted: {before:?}", method.name);
    assert_eq!(said.version, after.version(), "{}", method.name);
    if let Some((position, to_act)) = said.position {
        assert_eq!(position, after.position().to_string(), "{}", method.name);
        let open = after.result().is_none() && !after.position().is_over();
        let acting = if open { i32::from(after.position().to_act() == mancala::game::Seat::North) + 1 } else { 0 };
        assert_eq!(to_act, acting, "{}", method.name);
    }
    if let Some(result) = said.match_result {
        assert_eq!(result.is_some(), after.result().is_some() && before.result().is_none(), "{}", method.name);
    }
    planted::never("a session has nine events", after.version() == 9);
}

/// What a reply teaches the caller. Gives the ids of sessions that it names.
pub fn learn(method: &Method, reply: &Bytes, known: &mut Known) -> Vec<String> {
    fn read<T: Message + Default>(reply: &Bytes) -> T {
        T::decode(reply.clone()).expect("a reply is its message")
    }
    let add = |list: &mut Vec<String>, text: String| list.extend(Some(text).filter(|text| !text.is_empty()));
    let mut secrets = |secrets: Vec<proto::SeatSecret>| {
        for proto::SeatSecret { seat: _, token, join_code } in secrets {
            add(&mut known.tokens, token);
            add(&mut known.join_codes, join_code);
        }
    };
    match method.name.as_str() {
        "CreateSession" => {
            let reply: proto::CreateSessionResponse = read(reply);
            secrets(reply.secrets);
            return reply.session.into_iter().map(|session| session.session_id).collect();
        }
        "BatchCreateSessions" => {
            let reply: proto::BatchCreateSessionsResponse = read(reply);
            reply.secrets.into_iter().for_each(|of| secrets(of.secrets));
            return reply.sessions.into_iter().map(|session| session.session_id).collect();
        }
        "ImportRecord" => {
            let reply: proto::ImportRecordResponse = read(reply);
            return reply.session.into_iter().map(|session| session.session_id).collect();
        }
        "AnswerProposal" => {
            let next = read::<proto::AnswerProposalResponse>(reply).next_session_id;
            return Some(next).filter(|id| !id.is_empty()).into_iter().collect();
        }
        "ClaimSeat" => add(&mut known.tokens, read::<proto::ClaimSeatResponse>(reply).token),
        "RotateSeatToken" => add(&mut known.tokens, read::<proto::RotateSeatTokenResponse>(reply).token),
        "ListSessions" => add(&mut known.page_tokens, read::<proto::ListSessionsResponse>(reply).next_page_token),
        "ExportRecord" => add(&mut known.records, read::<proto::ExportRecordResponse>(reply).record),
        _ => {}
    }
    Vec::new()
}
