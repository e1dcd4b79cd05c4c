//! Sessions being played of each operator.

use super::raw::Answer;
use super::running::{Given, Running, start};
use mancala::wire::proto::{self, ProposalKind, Seat};
use prost::Message;
use tokio::task::JoinSet;
use tonic::Code;

const SERVICE: &str = "/mancala.v1.SessionService";

async fn server(open_sessions: usize) -> Running {
    start(Given { open_sessions, with_tokens: true, ..Given::default() }).await
}

async fn call(server: &Running, operator: &str, method: &str, request: &impl Message) -> Answer {
    server.raw.call(&format!("{SERVICE}/{method}"), &[("authorization", &server.key(operator))], request).await
}

fn ayoayo(session_id: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest { game: "ayoayo".to_owned(), session_id: session_id.to_owned(), ..Default::default() }
}

fn resign(session_id: &str) -> proto::ResignRequest {
    proto::ResignRequest { session_id: session_id.to_owned(), seat: Seat::South.into(), ..Default::default() }
}

fn assert_over(answer: &Answer, operator: &str, limit: &str) {
    let refused = answer.refused();
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "QUOTA_EXCEEDED"));
    assert_eq!(refused.fact("limit"), limit);
    let quota = refused.details.quota_failure().expect("whose quota");
    assert_eq!(quota.violations[0].subject, operator);
    assert!(quota.violations[0].description.contains("end or delete some"), "{quota:?}");
}

fn assert_done(answer: &Answer) {
    assert_eq!(answer.status().code(), Code::Ok, "{}", answer.status().message());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_are_made_as_may_be_however_many_are_asked_for_at_once() {
    let server = server(10).await;
    let key = server.key("ops");
    let mut asked = JoinSet::new();
    for n in 0..30 {
        let (raw, key) = (server.raw.clone(), key.clone());
        asked.spawn(async move {
            let request = ayoayo(&format!("table-{n}"));
            raw.call("/mancala.v1.SessionService/CreateSession", &[("authorization", &key)], &request).await
        });
    }
    let answers = asked.join_all().await;
    let (made, over): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status().code() == Code::Ok);
    assert_eq!(made.len(), 10);
    over.iter().for_each(|answer| assert_over(answer, "ops", "10"));
    assert_eq!(server.sessions.census().await.expect("a count").active, 10);

    // Another operator has room of its own. One that ends makes room for one, and one that is deleted too.
    assert_done(&call(&server, "night", "CreateSession", &ayoayo("night-1")).await);
    let made = proto::CreateSessionResponse::decode(made[0].messages[0].clone()).expect("an answer");
    let id = made.session.expect("a session").session_id;
    assert_done(&call(&server, "ops", "Resign", &resign(&id)).await);
    assert_done(&call(&server, "ops", "CreateSession", &ayoayo("again-1")).await);
    assert_over(&call(&server, "ops", "CreateSession", &ayoayo("again-2")).await, "ops", "10");
    let delete = proto::DeleteSessionRequest { session_id: "again-1".to_owned(), ..Default::default() };
    assert_done(&call(&server, "ops", "DeleteSession", &delete).await);
    assert_done(&call(&server, "ops", "CreateSession", &ayoayo("again-3")).await);
    assert_over(&call(&server, "ops", "CreateSession", &ayoayo("again-4")).await, "ops", "10");
}

#[tokio::test]
async fn every_way_to_make_one_counts() {
    let server = server(3).await;
    let batch = |ids: &[&str]| proto::BatchCreateSessionsRequest {
        requests: ids.iter().map(|id| ayoayo(id)).collect(),
        request_id: String::new(),
    };
    assert_over(&call(&server, "ops", "BatchCreateSessions", &batch(&["a-01", "a-02", "a-03", "a-04"])).await, "ops", "3");
    assert_done(&call(&server, "ops", "BatchCreateSessions", &batch(&["a-01", "a-02"])).await);
    let first = proto::CreateSessionRequest { request_id: "third".to_owned(), ..ayoayo("a-03") };
    assert_done(&call(&server, "ops", "CreateSession", &first).await);

    // Full. What was made before is answered as before; an import needs room while it is played, and so does a rematch.
    let again = call(&server, "ops", "CreateSession", &first).await;
    assert!(proto::CreateSessionResponse::decode(again.messages[0].clone()).expect("an answer").replayed);
    let export = |id: &str| proto::ExportRecordRequest { session_id: id.to_owned(), ..Default::default() };
    let exported = async |id: &str| {
        let answer = call(&server, "ops", "ExportRecord", &export(id)).await;
        proto::ExportRecordResponse::decode(answer.messages[0].clone()).expect("an answer").record
    };
    let import =
        |record: String, id: &str| proto::ImportRecordRequest { record, session_id: id.to_owned(), ..Default::default() };
    assert_over(&call(&server, "ops", "ImportRecord", &import(exported("a-01").await, "b-01")).await, "ops", "3");
    assert_done(&call(&server, "night", "ImportRecord", &import(exported("a-01").await, "b-01")).await);

    assert_done(&call(&server, "ops", "Resign", &resign("a-01")).await);
    assert_done(&call(&server, "ops", "CreateSession", &ayoayo("a-04")).await);
    assert_done(&call(&server, "ops", "ImportRecord", &import(exported("a-01").await, "b-02")).await);
    let kind = ProposalKind::Rematch.into();
    let propose = proto::ProposeRequest { session_id: "a-01".to_owned(), seat: Seat::South.into(), kind, ..Default::default() };
    assert_done(&call(&server, "ops", "Propose", &propose).await);
    let agree = proto::AnswerProposalRequest {
        session_id: "a-01".to_owned(),
        seat: Seat::North.into(),
        kind,
        accept: true,
        ..Default::default()
    };
    // Whoever agrees, the session is of the operator who made the first one.
    assert_over(&call(&server, "night", "AnswerProposal", &agree).await, "ops", "3");
    assert_done(&call(&server, "ops", "Resign", &resign("a-02")).await);
    assert_done(&call(&server, "night", "AnswerProposal", &agree).await);
    assert_over(&call(&server, "ops", "CreateSession", &ayoayo("a-05")).await, "ops", "3");
}

#[tokio::test]
async fn who_has_made_a_session_is_not_shown() {
    let server = server(3).await;
    let labels = [("team".to_owned(), "red".to_owned())];
    let request = proto::CreateSessionRequest { labels: labels.clone().into(), ..ayoayo("a-01") };
    assert_done(&call(&server, "ops", "CreateSession", &request).await);
    let list = async |filter: &str| {
        let request = proto::ListSessionsRequest { filter: filter.to_owned(), ..Default::default() };
        let answer = call(&server, "night", "ListSessions", &request).await;
        proto::ListSessionsResponse::decode(answer.messages[0].clone()).expect("an answer").sessions
    };
    let listed = list("labels.team = red").await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].labels, labels.into());
    assert!(list("labels.\"\u{1}\" = ops").await.is_empty());
}
