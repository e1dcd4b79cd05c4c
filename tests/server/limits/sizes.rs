//! Every field of every request at an absurd size: refused, with a reason that names it. The fields are those of the descriptor, so
//! that a new one is tested too.

use super::raw::Answer;
use super::running::{Given, start};
use mancala::game::{Game, Rules};
use mancala::wire::proto::{self, FILE_DESCRIPTOR_SET};
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::collections::BTreeMap;
use tonic::Code;

/// More than any field may have, and less than a request may have.
const LONG: usize = 60_000;
const MANY: usize = 15_000;

/// A part of a request.
struct Case {
    /// As in `seats.player`.
    field: String,
    /// What is absurd of it.
    what: &'static str,
    bytes: Vec<u8>,
}

/// The messages of the descriptor by their full names.
type Messages = BTreeMap<String, DescriptorProto>;

fn descriptor() -> (Messages, Vec<(String, String)>) {
    let (mut messages, mut methods) = (Messages::new(), Vec::new());
    for file in FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).expect("a descriptor").file {
        for message in &file.message_type {
            let name = format!(".{}.{}", file.package(), message.name());
            for nested in &message.nested_type {
                messages.insert(format!("{name}.{}", nested.name()), nested.clone());
            }
            messages.insert(name, message.clone());
        }
        for service in &file.service {
            let path = |method: &str| format!("/{}.{}/{method}", file.package(), service.name());
            // What a stream of requests is told, it is told in its answers.
            let unary = service.method.iter().filter(|method| !method.client_streaming());
            methods.extend(unary.map(|method| (path(method.name()), method.input_type().to_owned())));
        }
    }
    (messages, methods)
}

/// A field with a length: its tag, its length and its content.
fn delimited(field: &FieldDescriptorProto, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_key(field.number() as u32, prost::encoding::WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

/// Everything absurd that a message can bear, each wrapped as it stands in the request.
fn cases(messages: &Messages, message: &DescriptorProto, path: &str, wrap: &dyn Fn(Vec<u8>) -> Vec<u8>, all: &mut Vec<Case>) {
    for field in &message.field {
        let name = if path.is_empty() { field.name().to_owned() } else { format!("{path}.{}", field.name()) };
        let mut add = |what, bytes| all.push(Case { field: name.clone(), what, bytes: wrap(bytes) });
        let is_repeated = field.label() == Label::Repeated;
        match field.r#type() {
            Type::String | Type::Bytes => {
                add("long", delimited(field, "a".repeat(LONG).as_bytes()));
                if is_repeated {
                    add("many", delimited(field, b"").repeat(MANY));
                }
            }
            Type::Message => {
                let inner = &messages[field.type_name()];
                if inner.options.as_ref().is_some_and(|options| options.map_entry()) {
                    let entry = |key: &str, value: &str| {
                        delimited(
                            field,
                            &[delimited(&inner.field[0], key.as_bytes()), delimited(&inner.field[1], value.as_bytes())].concat(),
                        )
                    };
                    add("long key", entry(&"k".repeat(LONG), ""));
                    add("long value", entry("k", &"v".repeat(LONG)));
                    add("many", (0..5_000).flat_map(|n| entry(&n.to_string(), "")).collect());
                    continue;
                }
                if is_repeated {
                    add("many", delimited(field, b"").repeat(MANY));
                }
                if !field.type_name().starts_with(".google.") {
                    let around = |bytes| wrap(delimited(field, &[base_of(field.type_name()), bytes].concat()));
                    cases(messages, inner, &name, &around, all);
                }
            }
            _ if is_repeated => add("many", delimited(field, &vec![1; LONG])),
            _ => {}
        }
    }
}

/// What a part of a request can't be without.
fn base_of(message: &str) -> Vec<u8> {
    match message {
        ".mancala.v1.CreateSessionRequest" => base("CreateSession"),
        _ => Vec::new(),
    }
}

/// A request that is well formed, to which something absurd is added.
fn base(method: &str) -> Vec<u8> {
    let game = || "gore".to_owned();
    let session_id = || "table-1".to_owned();
    let (seat, kind) = (proto::Seat::South.into(), proto::ProposalKind::Draw.into());
    let r#move = || Some(proto::Move { text: "0".to_owned(), kind: None });
    match method {
        "ListGames" | "ListReasons" | "ListSessions" | "WatchSessions" | "ImportRecord" | "VerifyRecord" | "BatchGetSessions" => {
            Vec::new()
        }
        "BatchCreateSessions" => {
            let requests = vec![proto::CreateSessionRequest { game: game(), ..Default::default() }];
            proto::BatchCreateSessionsRequest { requests, request_id: String::new() }.encode_to_vec()
        }
        "GetGame" => proto::GetGameRequest { game: game() }.encode_to_vec(),
        "ListPositionMoves" => proto::ListPositionMovesRequest { game: game(), ..Default::default() }.encode_to_vec(),
        "StepPositions" => proto::StepPositionsRequest { game: game(), ..Default::default() }.encode_to_vec(),
        "PlayoutPositions" => {
            let positions = vec![Rules::new(Game::Gore).start().to_string()];
            proto::PlayoutPositionsRequest { game: game(), positions, playouts: 1, ..Default::default() }.encode_to_vec()
        }
        "CreateSession" => proto::CreateSessionRequest { game: game(), ..Default::default() }.encode_to_vec(),
        "Propose" => proto::ProposeRequest { session_id: session_id(), seat, kind, ..Default::default() }.encode_to_vec(),
        "AnswerProposal" => {
            proto::AnswerProposalRequest { session_id: session_id(), seat, kind, ..Default::default() }.encode_to_vec()
        }
        "WithdrawProposal" => {
            proto::WithdrawProposalRequest { session_id: session_id(), seat, kind, ..Default::default() }.encode_to_vec()
        }
        "ClaimSeat" => proto::ClaimSeatRequest { session_id: session_id(), seat, ..Default::default() }.encode_to_vec(),
        "RotateSeatToken" => {
            proto::RotateSeatTokenRequest { session_id: session_id(), seat, ..Default::default() }.encode_to_vec()
        }
        "RevokeSeatToken" => {
            proto::RevokeSeatTokenRequest { session_id: session_id(), seat, ..Default::default() }.encode_to_vec()
        }
        "Resign" => proto::ResignRequest { session_id: session_id(), seat, ..Default::default() }.encode_to_vec(),
        "CheckMove" => {
            proto::CheckMoveRequest { session_id: session_id(), r#move: r#move(), ..Default::default() }.encode_to_vec()
        }
        "ApplyMove" => {
            proto::ApplyMoveRequest { session_id: session_id(), r#move: r#move(), ..Default::default() }.encode_to_vec()
        }
        // What names a session and needs nothing else has its id in its first field.
        _ => proto::GetSessionRequest { session_id: session_id(), version: None }.encode_to_vec(),
    }
}

/// Fields whose faults are part of an answer: each item answers for itself, and whether a record is right is what is asked.
const ANSWERED: [&str; 4] =
    ["StepPositions items.position", "StepPositions items.moves", "PlayoutPositions positions", "VerifyRecord record"];

/// Reasons that are about one field alone.
const OF_ONE_FIELD: [&str; 4] = ["INVALID_MOVE", "INVALID_POSITION", "INVALID_RECORD", "GAME_NOT_FOUND"];

/// What is wrong with an answer to something absurd.
fn judge(method: &str, case: &Case, answer: &Answer) -> Result<(), String> {
    let Case { field, what, bytes: _ } = case;
    let is_answered = ANSWERED.contains(&format!("{method} {field}").as_str());
    let status = answer.status();
    if status.code() == Code::Ok {
        let bytes: usize = answer.messages.iter().map(|message| message.len()).sum();
        return if is_answered && bytes < 8 << 10 { Ok(()) } else { Err(format!("it was taken, and answered by {bytes} bytes")) };
    }
    let refused = answer.refused();
    let code_fits =
        matches!(status.code(), Code::InvalidArgument | Code::ResourceExhausted) || refused.reason == "GAME_NOT_FOUND";
    let leaf = field.rsplit('.').next().expect("a name");
    let top = field.split('.').next().expect("a name");
    let is_named = match refused.reason.as_str() {
        "INVALID_REQUEST" => {
            refused.fact("fields").split(',').any(|named| named.contains(leaf) || (*what == "many" && named.starts_with(top)))
        }
        reason => OF_ONE_FIELD.contains(&reason),
    };
    if code_fits && is_named { Ok(()) } else { Err(format!("{:?} {}", status.code(), status.message())) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_absurd_is_refused_by_name() {
    let server = start(Given::default()).await;
    let (messages, methods) = descriptor();
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for (path, input) in methods {
        let method = path.rsplit('/').next().expect("a method");
        let mut all = Vec::new();
        cases(&messages, &messages[&input], "", &|bytes| bytes, &mut all);
        for case in all {
            asked += 1;
            // What is written twice is merged, so that the base's other fields stand.
            let answer = server.raw.call_with(&path, &[], &[base(method), case.bytes.clone()].concat()).await;
            if let Err(why) = judge(method, &case, &answer) {
                wrong.push(format!("{method} {} {}: {why}", case.field, case.what));
            }
        }
    }
    assert!(asked > 90, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn a_request_above_the_limit_is_refused_whatever_is_in_it() {
    let server = start(Given::default()).await;
    let (_, methods) = descriptor();
    for (path, _) in methods {
        let refused = server.raw.call_with(&path, &[], &vec![0; 2 << 20]).await.refused();
        assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE"), "{path}");
    }
}
