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

/// A session before a call on it and after, as GetSession shows it.
pub fn change(method: &Method, reply: &Result<Bytes, Status>, before: Option<&Session>, after: Option<&Session>) {
    let (Some(before), Some(after)) = (before, after) else {
        assert!(before.is_none() || method.name == "DeleteSession", "{} has removed a session", method.name);
        return;
    };
    let unchanged = View::of(before) == View::of(after) && before.head_hash() == after.head_hash();
    let Some(said) = reply.as_ref().ok().and_then(|reply| said(&method.name, reply)) else {
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
    planted::never("a second round is played", after.round() == 2);
}

/// What a reply teaches the caller. Ids of sessions that it has not known are given back.
pub fn learn(method: &Method, reply: &Bytes, known: &mut Known) -> Vec<String> {
    let mut secrets = |session: &str, secrets: Vec<proto::SeatSecret>| {
        let _ = session;
        for secret in secrets {
            known.tokens.extend(Some(secret.token).filter(|token| !token.is_empty()));
            known.join_codes.extend(Some(secret.join_code).filter(|code| !code.is_empty()));
        }
    };
    let id = |session: Option<proto::Session>| session.map(|session| session.session_id).expect("a session");
    match method.name.as_str() {
        "CreateSession" => {
            let reply = proto::CreateSessionResponse::decode(reply.clone()).expect("its message");
            let id = id(reply.session);
            secrets(&id, reply.secrets);
            vec![id]
        }
        "BatchCreateSessions" => {
            let reply = proto::BatchCreateSessionsResponse::decode(reply.clone()).expect("its message");
            reply.secrets.into_iter().for_each(|of| secrets(&of.session_id, of.secrets));
            reply.sessions.into_iter().map(|session| session.session_id).collect()
        }
        "ImportRecord" => vec![id(proto::ImportRecordResponse::decode(reply.clone()).expect("its message").session)],
        "AnswerProposal" => {
            let reply = proto::AnswerProposalResponse::decode(reply.clone()).expect("its message");
            Some(reply.next_session_id).filter(|id| !id.is_empty()).into_iter().collect()
        }
        "ClaimSeat" => {
            let reply = proto::ClaimSeatResponse::decode(reply.clone()).expect("its message");
            known.tokens.extend(Some(reply.token).filter(|token| !token.is_empty()));
            Vec::new()
        }
        "RotateSeatToken" => {
            let reply = proto::RotateSeatTokenResponse::decode(reply.clone()).expect("its message");
            known.tokens.extend(Some(reply.token).filter(|token| !token.is_empty()));
            Vec::new()
        }
        "ListSessions" => {
            let reply = proto::ListSessionsResponse::decode(reply.clone()).expect("its message");
            known.page_tokens.extend(Some(reply.next_page_token).filter(|token| !token.is_empty()));
            Vec::new()
        }
        "ExportRecord" => {
            known.records.push(proto::ExportRecordResponse::decode(reply.clone()).expect("its message").record);
            Vec::new()
        }
        _ => Vec::new(),
    }
}
