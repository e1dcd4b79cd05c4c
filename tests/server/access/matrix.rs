//! Every method of the descriptor by every kind of caller, on sessions that are seen by spectators and on such that are not.

use super::running::{Made, Running, gore, reason, start, with_join_code, with_token};
use mancala::wire::access::{METHODS, Who};
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET, Seat, SpectatorPolicy};
use mancala::wire::reason::{Reason, code_name};
use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes};
use std::collections::{BTreeSet, HashMap};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// Kinds of callers, in the order of the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Shows nothing.
    None,
    /// Shows what is no token.
    Malformed,
    /// Shows a well-formed token that never was one.
    Wrong,
    /// Shows a key of an operator that is not configured.
    WrongKey,
    /// Shows a token of a seat of this session that was rotated.
    Rotated,
    /// Shows one that was revoked.
    Revoked,
    /// Shows a token of a seat of a session that was deleted.
    Deleted,
    /// Shows a token of another session's seat.
    Foreign,
    /// Shows the token of this session's other seat.
    Other,
    /// Shows the token of the seat that the request names.
    Seat,
    /// Shows an operator's key.
    Operator,
}

const KINDS: [Kind; 11] = [
    Kind::None,
    Kind::Malformed,
    Kind::Wrong,
    Kind::WrongKey,
    Kind::Rotated,
    Kind::Revoked,
    Kind::Deleted,
    Kind::Foreign,
    Kind::Other,
    Kind::Seat,
    Kind::Operator,
];

/// What is expected.
const OK: &str = "";
const MISSING: &str = "TOKEN_MISSING";
const MALFORMED: &str = "TOKEN_MALFORMED";
const INVALID: &str = "TOKEN_INVALID";
const OPS_ONLY: &str = "OPERATOR_ONLY";
const HIDDEN: &str = "SESSION_NOT_FOUND";
const FOREIGN: &str = "SESSION_NOT_YOURS";
const OTHERS: &str = "SEAT_NOT_YOURS";
const NO_CODE: &str = "JOIN_CODE_WRONG";
const NOT_OUT: &str = "TIME_NOT_OUT";

/// Rows that several methods share; the columns are [`KINDS`]. First on sessions that spectators see, then on those they don't.
type Row = [&'static str; 11];
const ANYONE: [Row; 2] = [[OK; 11]; 2];
const OPERATOR: [Row; 2] =
    [[MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, OPS_ONLY, OPS_ONLY, OPS_ONLY, OK]; 2];
/// What is sent is no record.
const IMPORT: [Row; 2] =
    [[MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, OPS_ONLY, OPS_ONLY, OPS_ONLY, "INVALID_RECORD"]; 2];
const VIEWER: [Row; 2] = [
    [OK, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, OK, OK, OK, OK],
    [HIDDEN, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, HIDDEN, OK, OK, OK],
];
const PLAYER: [Row; 2] = [
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, FOREIGN, OTHERS, OK, OK],
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, HIDDEN, OTHERS, OK, OK],
];
/// Whoever may claim it is told that the time is not out: these sessions have no clock.
const CLAIM_TIME: [Row; 2] = [
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, FOREIGN, NOT_OUT, NOT_OUT, NOT_OUT],
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, HIDDEN, NOT_OUT, NOT_OUT, NOT_OUT],
];
/// Everybody gets an answer; what is in it is tested with the spectators.
const LIST: [Row; 2] = [[OK, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, OK, OK, OK, OK]; 2];
const CLAIM_BY_CODE: [Row; 2] = LIST;
const CLAIM_BY_WRONG_CODE: [Row; 2] = [
    [NO_CODE, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, NO_CODE, NO_CODE, NO_CODE, NO_CODE],
    [HIDDEN, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, HIDDEN, NO_CODE, NO_CODE, NO_CODE],
];
const CLAIM_WITHOUT_CODE: [Row; 2] = [
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, NO_CODE, NO_CODE, NO_CODE, OK],
    [MISSING, MALFORMED, INVALID, INVALID, INVALID, INVALID, INVALID, HIDDEN, NO_CODE, NO_CODE, OK],
];

/// A request that would be granted to somebody, for the session and its South seat.
type Ask = fn(&Made) -> Vec<u8>;

fn id(made: &Made) -> String {
    made.id.clone()
}

fn south() -> i32 {
    Seat::South.into()
}

fn some_move() -> Option<proto::Move> {
    Some(proto::Move { text: "0".to_owned(), kind: None })
}

fn propose(made: &Made, seat: Seat) -> proto::ProposeRequest {
    let kind = proto::ProposalKind::Draw.into();
    proto::ProposeRequest { session_id: id(made), seat: seat.into(), kind, ..Default::default() }
}

fn claim(made: &Made, join_code: String) -> Vec<u8> {
    proto::ClaimSeatRequest { session_id: id(made), seat: south(), join_code, ..Default::default() }.encode_to_vec()
}

/// Method, rows, request. ClaimSeat stands here once for each way to claim.
const TABLE: &[(&str, [Row; 2], Ask)] = &[
    ("RulesService/ListGames", ANYONE, |_| Vec::new()),
    ("RulesService/GetGame", ANYONE, |_| proto::GetGameRequest { game: "gore".to_owned() }.encode_to_vec()),
    ("RulesService/ListReasons", ANYONE, |_| Vec::new()),
    ("RulesService/ListPositionMoves", ANYONE, |_| {
        proto::ListPositionMovesRequest { game: "gore".to_owned(), ..Default::default() }.encode_to_vec()
    }),
    ("RulesService/StepPositions", OPERATOR, |_| {
        proto::StepPositionsRequest { game: "gore".to_owned(), ..Default::default() }.encode_to_vec()
    }),
    ("RulesService/VerifyRecord", OPERATOR, |_| proto::VerifyRecordRequest::default().encode_to_vec()),
    ("RulesService/PlayoutPositions", OPERATOR, |_| {
        proto::PlayoutPositionsRequest { game: "gore".to_owned(), playouts: 1, ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/CreateSession", OPERATOR, |_| gore([], SpectatorPolicy::None, 0).encode_to_vec()),
    ("SessionService/BatchCreateSessions", OPERATOR, |_| {
        let requests = vec![gore([], SpectatorPolicy::None, 0)];
        proto::BatchCreateSessionsRequest { requests, request_id: String::new() }.encode_to_vec()
    }),
    ("SessionService/BatchGetSessions", OPERATOR, |made| {
        proto::BatchGetSessionsRequest { session_ids: vec![id(made)] }.encode_to_vec()
    }),
    ("SessionService/GetSession", VIEWER, |made| {
        proto::GetSessionRequest { session_id: id(made), version: Some(1) }.encode_to_vec()
    }),
    ("SessionService/ListSessions", LIST, |_| Vec::new()),
    ("SessionService/DeleteSession", OPERATOR, |made| {
        proto::DeleteSessionRequest { session_id: id(made), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/ListLegalMoves", VIEWER, |made| proto::ListLegalMovesRequest { session_id: id(made) }.encode_to_vec()),
    ("SessionService/SampleMoves", VIEWER, |made| {
        proto::SampleMovesRequest { session_id: id(made), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/CheckMove", VIEWER, |made| {
        proto::CheckMoveRequest { session_id: id(made), r#move: some_move(), seat: south(), include_steps: false }.encode_to_vec()
    }),
    ("SessionService/ApplyMove", PLAYER, |made| {
        proto::ApplyMoveRequest { session_id: id(made), r#move: some_move(), seat: south(), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/Resign", PLAYER, |made| {
        proto::ResignRequest { session_id: id(made), seat: south(), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/Propose", PLAYER, |made| propose(made, Seat::South).encode_to_vec()),
    ("SessionService/AnswerProposal", PLAYER, |made| {
        let kind = proto::ProposalKind::Draw.into();
        proto::AnswerProposalRequest { session_id: id(made), seat: south(), kind, ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/WithdrawProposal", PLAYER, |made| {
        let kind = proto::ProposalKind::Draw.into();
        proto::WithdrawProposalRequest { session_id: id(made), seat: south(), kind, ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/ClaimTimeout", CLAIM_TIME, |made| {
        proto::ClaimTimeoutRequest { session_id: id(made), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/ListEvents", VIEWER, |made| {
        proto::ListEventsRequest { session_id: id(made), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/ExportRecord", OPERATOR, |made| {
        proto::ExportRecordRequest { session_id: id(made), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/ImportRecord", IMPORT, |_| proto::ImportRecordRequest::default().encode_to_vec()),
    ("SessionService/ClaimSeat", CLAIM_BY_CODE, |made| claim(made, made.join_code(Seat::South))),
    ("SessionService/ClaimSeat", CLAIM_BY_WRONG_CODE, |made| claim(made, "00000-00000-00000-00000".to_owned())),
    ("SessionService/ClaimSeat", CLAIM_WITHOUT_CODE, |made| claim(made, String::new())),
    ("SessionService/RotateSeatToken", PLAYER, |made| {
        proto::RotateSeatTokenRequest { session_id: id(made), seat: south(), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/RevokeSeatToken", PLAYER, |made| {
        proto::RevokeSeatTokenRequest { session_id: id(made), seat: south(), ..Default::default() }.encode_to_vec()
    }),
    ("SessionService/WatchSession", VIEWER, |made| watch(made).encode_to_vec()),
    ("SessionService/WatchSessions", OPERATOR, |_| Vec::new()),
    // Its commands are judged as the calls of their names.
    (PLAY, PLAYER, |made| {
        let (session_id, r#move, seat) = (id(made), some_move(), south());
        command(Command::ApplyMove(proto::ApplyMoveRequest { session_id, r#move, seat, ..Default::default() }))
    }),
    (PLAY, PLAYER, |made| {
        command(Command::Resign(proto::ResignRequest { session_id: id(made), seat: south(), ..Default::default() }))
    }),
    (PLAY, PLAYER, |made| command(Command::Propose(propose(made, Seat::South)))),
    (PLAY, CLAIM_TIME, |made| {
        command(Command::ClaimTimeout(proto::ClaimTimeoutRequest { session_id: id(made), ..Default::default() }))
    }),
    (PLAY, OPERATOR, |_| command(Command::CreateSession(gore([], SpectatorPolicy::None, 0)))),
    (PLAY, VIEWER, |made| command(Command::GetSession(proto::GetSessionRequest { session_id: id(made), version: Some(1) }))),
    (PLAY, VIEWER, |made| command(Command::ListLegalMoves(proto::ListLegalMovesRequest { session_id: id(made) }))),
    (PLAY, VIEWER, |made| {
        command(Command::SampleMoves(proto::SampleMovesRequest { session_id: id(made), ..Default::default() }))
    }),
    (PLAY, VIEWER, |made| {
        command(Command::CheckMove(proto::CheckMoveRequest { session_id: id(made), r#move: some_move(), ..Default::default() }))
    }),
    (PLAY, VIEWER, |made| command(Command::WatchSession(watch(made)))),
];

const PLAY: &str = "SessionService/Play";

fn watch(made: &Made) -> proto::WatchSessionRequest {
    proto::WatchSessionRequest { session_id: id(made), ..Default::default() }
}

fn command(command: Command) -> Vec<u8> {
    proto::PlayRequest { command_id: "c".to_owned(), command: Some(command) }.encode_to_vec()
}

/// The paths of all methods of the descriptor.
fn descriptor() -> BTreeSet<String> {
    let files = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).expect("a descriptor").file;
    let paths = files.iter().flat_map(|file| {
        file.service.iter().flat_map(move |service| {
            service.method.iter().map(move |method| format!("/{}.{}/{}", file.package(), service.name(), method.name()))
        })
    });
    paths.collect()
}

#[test]
fn every_method_has_its_rows() {
    let described = descriptor();
    let tested: BTreeSet<_> = TABLE.iter().map(|(method, ..)| format!("/mancala.v1.{method}")).collect();
    assert_eq!(tested, described, "this test walks the methods of the descriptor");
    let (ours, others): (BTreeSet<_>, BTreeSet<_>) =
        METHODS.iter().map(|(path, _)| (*path).to_owned()).partition(|path| path.starts_with("/mancala."));
    assert_eq!(ours, described, "src/wire/access.rs says who may call the methods of the descriptor");
    let open = |path: &String| METHODS.iter().any(|row| row.0 == path && row.1 == Who::Anyone);
    assert!(others.iter().all(open), "health and reflection are for everybody");
    assert_eq!(METHODS.len(), ours.len() + others.len(), "a row a method");
}

/// Messages as their bytes.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = from.remaining();
        Ok(Some(from.copy_to_bytes(length)))
    }
}

async fn call(server: &Running, path: &str, authorization: Option<&str>, message: Vec<u8>) -> Result<(), Status> {
    let mut client = Grpc::new(server.channel.clone());
    client.ready().await.expect("a connection");
    let mut request = Request::new(message);
    if let Some(value) = authorization {
        request.metadata_mut().insert("authorization", value.parse().expect("a value"));
    }
    // Of a stream, its first message; a call's answer is a stream of one.
    let answer = client.server_streaming(request, path.parse().expect("a path"), Raw).await?.into_inner().message().await?;
    if path.ends_with("/Play") {
        return played(proto::PlayResponse::decode(answer.expect("a reply")).expect("a reply"));
    }
    Ok(())
}

/// What a command came to, as if it had been a call.
fn played(reply: proto::PlayResponse) -> Result<(), Status> {
    assert_eq!(reply.command_id, "c");
    let Some(Reply::Failure(failure)) = reply.reply else { return Ok(()) };
    let refusal = failure.refusal.expect("a refusal");
    let code = code(&refusal.reason);
    assert_eq!(code_name(code), failure.code);
    let info =
        ErrorDetails::with_error_info(refusal.reason, "mancala.v1", refusal.metadata.into_iter().collect::<HashMap<_, _>>());
    Err(Status::with_error_details(code, refusal.message, info))
}

/// A session for a call, and what a caller of a kind shows.
async fn scene(server: &Running, method: &str, kind: Kind, policy: SpectatorPolicy) -> (Made, Option<String>) {
    let is_claim = method.ends_with("/ClaimSeat");
    let south = if is_claim { with_join_code(Seat::South) } else { with_token(Seat::South) };
    let made = server.make(gore([south, with_token(Seat::North)], policy, 0)).await;
    // The seat to be claimed has no token: its session's other seat has.
    let own = if is_claim { Seat::North } else { Seat::South };
    let bearer = |token: String| Some(format!("Bearer {token}"));
    let mut operator = server.operator();
    // What is answered or withdrawn must have been proposed.
    let proposer = match method {
        "SessionService/AnswerProposal" => Some(Seat::North),
        "SessionService/WithdrawProposal" => Some(Seat::South),
        _ => None,
    };
    if let Some(seat) = proposer {
        operator.propose(propose(&made, seat)).await.expect("a proposal");
    }
    let authorization = match kind {
        Kind::None => None,
        Kind::Malformed => bearer("mst_nothing".to_owned()),
        Kind::Wrong => bearer(format!("mst_{}.S_{}", made.id, "A".repeat(43))),
        Kind::WrongKey => bearer(format!("mop_nobody_{}", &server.key[server.key.len() - 43..])),
        Kind::Rotated => {
            let rotate = proto::RotateSeatTokenRequest { session_id: id(&made), seat: own.into(), ..Default::default() };
            operator.rotate_seat_token(rotate).await.expect("a new token");
            bearer(made.token(own))
        }
        Kind::Revoked => {
            let revoke = proto::RevokeSeatTokenRequest { session_id: id(&made), seat: own.into(), ..Default::default() };
            operator.revoke_seat_token(revoke).await.expect("no token");
            bearer(made.token(own))
        }
        Kind::Deleted | Kind::Foreign => {
            let other = server.make(gore([with_token(Seat::South)], policy, 0)).await;
            if kind == Kind::Deleted {
                let delete = proto::DeleteSessionRequest { session_id: id(&other), ..Default::default() };
                operator.delete_session(delete).await.expect("it is gone");
            }
            bearer(other.token(Seat::South))
        }
        Kind::Other => bearer(made.token(Seat::North)),
        Kind::Seat => bearer(made.token(own)),
        Kind::Operator => bearer(server.key.clone()),
    };
    (made, authorization)
}

/// Bytes with another id of the same length in place of one.
fn with_id(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..=bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    bytes
}

#[tokio::test]
async fn every_method_answers_every_kind_of_caller_as_the_table_says() {
    let server = start(true).await;
    let policies = [(SpectatorPolicy::Public, 0), (SpectatorPolicy::Unlisted, 0), (SpectatorPolicy::None, 1)];
    let mut wrong = Vec::new();
    let mut cells = 0;
    for (method, rows, ask) in TABLE {
        let path = format!("/mancala.v1.{method}");
        for (policy, row) in policies {
            for (kind, expected) in KINDS.into_iter().zip(rows[row]) {
                cells += 1;
                let (made, authorization) = scene(&server, method, kind, policy).await;
                let version = async || server.sessions.look(&made.id, |session| session.version()).await;
                let before = version().await.expect("a session");
                let outcome = call(&server, &path, authorization.as_deref(), ask(&made)).await;
                let got = outcome.as_ref().err().map(reason).unwrap_or_default();
                if got != expected {
                    wrong.push(format!("{method} on {policy:?} by {kind:?}: {got:?}, expected {expected:?}"));
                }
                let Err(status) = outcome else { continue };
                assert_eq!(version().await, Ok(before), "{method} by {kind:?}: what is refused changes nothing");
                assert_eq!(status.code(), code(&got), "{method} by {kind:?}");
                if got == HIDDEN {
                    let unknown = format!("nosuch-{}", &made.id[made.id.len() - 5..]);
                    let asked = with_id(&ask(&made), &made.id, &unknown);
                    let other = call(&server, &path, authorization.as_deref(), asked).await.expect_err("no such session");
                    assert_eq!(other.code(), status.code(), "{method} by {kind:?}");
                    assert_eq!(other.message(), status.message(), "{method} by {kind:?}");
                    assert_eq!(other.details(), with_id(status.details(), &made.id, &unknown), "{method} by {kind:?}");
                }
            }
        }
    }
    assert_eq!(cells, TABLE.len() * policies.len() * KINDS.len());
    assert!(wrong.is_empty(), "{} of {cells} cells:\n{}", wrong.len(), wrong.join("\n"));
}

fn code(name: &str) -> Code {
    Reason::ALL.iter().find(|reason| reason.name() == name).expect("a reason of the table").code()
}

#[tokio::test]
async fn what_is_malformed_is_told_alike_whether_there_is_a_session_or_not() {
    let server = start(true).await;
    let made = server.make(gore([], SpectatorPolicy::None, 0)).await;
    for session_id in [made.id.as_str(), "nosuch-00000"] {
        let ask = proto::ListEventsRequest { session_id: session_id.to_owned(), page_size: 2_000, ..Default::default() };
        let status = call(&server, "/mancala.v1.SessionService/ListEvents", None, ask.encode_to_vec()).await;
        let status = status.expect_err("too many");
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "INVALID_REQUEST: page_size: at most 1000"));
    }
}

#[tokio::test]
async fn a_method_that_the_table_does_not_have_is_refused() {
    let server = start(true).await;
    let key = format!("Bearer {}", server.key);
    for path in ["/mancala.v1.SessionService/Nothing", "/mancala.v1.Nothing/GetSession", "/x/y"] {
        for authorization in [None, Some(key.as_str())] {
            let status = call(&server, path, authorization, Vec::new()).await.expect_err("no such method");
            assert_eq!((status.code(), reason(&status)), (Code::Unimplemented, "METHOD_UNKNOWN".to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn the_metadata_may_be_written_in_one_way_only() {
    let server = start(true).await;
    let key = &server.key;
    let path = "/mancala.v1.SessionService/ListSessions";
    for value in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER  {key}")] {
        call(&server, path, Some(&value), Vec::new()).await.expect("an answer");
    }
    for value in [key.clone(), format!("Basic {key}"), "Bearer".to_owned(), "Bearer ".to_owned(), format!("Bearer {key}=")] {
        let status = call(&server, path, Some(&value), Vec::new()).await.expect_err("no token");
        assert_eq!(reason(&status), MALFORMED, "{value}");
    }
    let mut request = Request::new(Vec::new());
    for _ in 0..2 {
        request.metadata_mut().append("authorization", format!("Bearer {key}").parse().expect("a value"));
    }
    let mut client = Grpc::new(server.channel.clone());
    client.ready().await.expect("a connection");
    let status = client.unary::<_, Bytes, _>(request, path.parse().expect("a path"), Raw).await.expect_err("two tokens");
    assert_eq!(reason(&status), MALFORMED);
}
