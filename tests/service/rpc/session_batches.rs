//! BatchGetSessions and BatchCreateSessions: answers one by one, all or none, their limits at the edge and one beyond.

use crate::app::{App, body, faulty_fields, refusal};
use mancala::wire::proto::{self, session_lookup::Outcome};
use prost::Message;
use std::sync::Arc;
use tokio::task::JoinSet;
use tonic::{Code, Response, Status};

fn new(game: &str, session_id: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest { game: game.to_owned(), session_id: session_id.to_owned(), ..Default::default() }
}

fn batch(requests: Vec<proto::CreateSessionRequest>, request_id: &str) -> proto::BatchCreateSessionsRequest {
    proto::BatchCreateSessionsRequest { requests, request_id: request_id.to_owned() }
}

impl App {
    async fn create_all(
        &self,
        requests: Vec<proto::CreateSessionRequest>,
        request_id: &str,
    ) -> Result<Response<proto::BatchCreateSessionsResponse>, Status> {
        self.sessions().batch_create_sessions(batch(requests, request_id)).await
    }

    async fn get_all(&self, ids: &[&str]) -> Result<Response<proto::BatchGetSessionsResponse>, Status> {
        let session_ids = ids.iter().map(|&id| id.to_owned()).collect();
        self.sessions().batch_get_sessions(proto::BatchGetSessionsRequest { session_ids }).await
    }

    /// How many sessions there are.
    async fn count(&self) -> usize {
        let request = proto::ListSessionsRequest { page_size: 1_000, ..Default::default() };
        body(self.sessions().list_sessions(request).await).sessions.len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_id_answers_for_itself_and_in_order() {
    let app = App::start().await;
    let (gore, kiothi) = (app.create("gore").await, app.create("kiothi").await);
    app.play(&gore, "0").await;
    let results = body(app.get_all(&[&kiothi, "none", &gore, &kiothi]).await).results;
    let outcomes: Vec<_> = results.into_iter().map(|result| result.outcome.expect("an outcome")).collect();
    assert_eq!(outcomes[0], Outcome::Session(app.session(&kiothi).await));
    let Outcome::Refusal(refusal) = &outcomes[1] else { panic!("there is no such session") };
    assert_eq!((refusal.reason.as_str(), refusal.metadata["session_id"].as_str()), ("SESSION_NOT_FOUND", "none"));
    assert_eq!(outcomes[2], Outcome::Session(app.session(&gore).await));
    assert_eq!(outcomes[3], outcomes[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_many_has_limits() {
    let app = App::start().await;
    let results = body(app.get_all(&["none"; 500]).await).results;
    assert_eq!(results.len(), 500);
    assert_eq!(faulty_fields(app.get_all(&["none"; 501]).await), ["session_ids"]);
    assert_eq!(faulty_fields(app.get_all(&[]).await), ["session_ids"]);
    assert_eq!(faulty_fields(app.get_all(&["good", "Bad", "good", ""]).await), ["session_ids[1]", "session_ids[3]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_made_in_its_order() {
    let app = App::start().await;
    let over = "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S over:board_empty last=S";
    let requests = vec![
        proto::CreateSessionRequest { rounds: 3, ..new("kiothi", "second") },
        new("gore", "first"),
        proto::CreateSessionRequest { position: over.to_owned(), ..new("ayoayo", "over") },
        proto::CreateSessionRequest { labels: [("a".to_owned(), "1".to_owned())].into(), ..new("hoyito3", "") },
    ];
    let made = body(app.create_all(requests, "").await);
    assert!(!made.replayed);
    let games: Vec<_> = made.sessions.iter().map(|session| session.game.as_str()).collect();
    assert_eq!(games, ["kiothi", "gore", "ayoayo", "hoyito3"]);
    for session in &made.sessions {
        assert_eq!(app.session(&session.session_id).await, *session);
    }
    let states: Vec<_> = made.sessions.iter().map(|session| (session.version, session.state())).collect();
    let active = (1, proto::SessionState::Active);
    assert_eq!(states, [active, active, (3, proto::SessionState::Finished), active]);
    app.play("first", "0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_item_refuses_all_and_is_named() {
    let app = App::start().await;
    app.make(new("gore", "taken")).await;
    app.make(new("gore", "gone")).await;
    let delete = proto::DeleteSessionRequest { session_id: "gone".to_owned(), ..Default::default() };
    body(app.sessions().delete_session(delete).await);

    let good = || new("gore", "");
    let bad = |change: fn(&mut proto::CreateSessionRequest)| {
        let mut request = good();
        change(&mut request);
        request
    };
    let requests = vec![
        good(),
        new("chess", ""),
        new("gore", "NO"),
        bad(|it| it.position = "gore".to_owned()),
        bad(|it| it.labels = [(String::new(), String::new())].into()),
        bad(|it| it.options = [("none".to_owned(), String::new())].into()),
        bad(|it| it.rounds = 101),
        bad(|it| it.request_id = "mine".to_owned()),
        new("gore", "twin"),
        new("gore", "twin"),
    ];
    let expected = [
        "request_id",
        "requests[1].game",
        "requests[2].session_id",
        "requests[3].position",
        "requests[4].labels",
        "requests[5].options",
        "requests[6].rounds",
        "requests[7].request_id",
        "requests[9].session_id",
    ];
    assert_eq!(faulty_fields(app.create_all(requests, "no id").await), expected);

    let requests = vec![good(), new("gore", "taken"), new("gore", "twin"), new("gore", "gone")];
    let refused = refusal(app.create_all(requests, "r").await);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::AlreadyExists, "SESSION_ID_TAKEN"));
    assert_eq!(refused.fact("session_id"), "taken,gone");
    assert_eq!(refused.fields, ["requests[1].session_id", "requests[3].session_id"]);
    assert_eq!(app.count().await, 1, "nothing was made");
    assert!(!body(app.create_all(vec![new("gore", "twin")], "r").await).replayed, "a refused batch leaves its request id free");
}

#[tokio::test(flavor = "multi_thread")]
async fn making_many_has_limits() {
    let app = App::start().await;
    assert_eq!(faulty_fields(app.create_all(vec![], "").await), ["requests"]);
    assert_eq!(faulty_fields(app.create_all(vec![new("gore", ""); 501], "").await), ["requests"]);
    assert_eq!(app.count().await, 0);
    // 500 sessions of the largest that the limit of a request lets through: they are answered too.
    let large = |bytes: usize| proto::CreateSessionRequest {
        labels: (0..15).map(|n| (format!("{n:063}"), "v".repeat(bytes))).collect(),
        ..new("kiothi", "")
    };
    let requests: Vec<_> = vec![large(63); 500];
    assert!(batch(requests.clone(), "").encoded_len() < 1 << 20);
    let made = body(app.create_all(requests, "").await);
    assert_eq!(made.sessions.len(), 500);
    let ids: Vec<_> = made.sessions.iter().map(|session| session.session_id.as_str()).collect();
    assert_eq!(body(app.get_all(&ids).await).results.len(), 500);
    // A little more than 1 MiB.
    let padded = proto::CreateSessionRequest { position: "x".repeat(1 << 20), ..new("gore", "") };
    let refused = refusal(app.create_all(vec![padded], "").await);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE"));
    // The limit of calls on one session is as it was.
    let refused = refusal(
        app.sessions()
            .create_session(proto::CreateSessionRequest { position: "x".repeat((64 << 10) + 1), ..new("gore", "") })
            .await,
    );
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_request_is_answered_again_as_the_first_time() {
    let app = App::start().await;
    let requests = || vec![new("kiothi", "b-session"), new("gore", ""), new("gore", "a-session")];
    let first = body(app.create_all(requests(), "r").await);
    app.play("a-session", "0").await;
    app.clock.advance(5_000_000);
    let app = app.restart().await;
    let again = body(app.create_all(requests(), "r").await);
    assert!(again.replayed);
    assert_eq!(again.sessions, first.sessions, "as they were at first, the id that the server chose too");
    assert_eq!(app.count().await, 3);

    let reused = async |requests, id: &str| {
        let refused = refusal(app.create_all(requests, id).await);
        assert_eq!((refused.reason.as_str(), refused.fact("request_id")), ("REQUEST_ID_REUSED", id));
    };
    let mut other = requests();
    other.swap(0, 2);
    reused(other, "r").await;
    reused(requests()[..2].to_vec(), "r").await;
    // A batch and a single creation share their ids, and one session in a batch is not one by itself.
    let single = |session_id: &str, request_id: &str| proto::CreateSessionRequest {
        request_id: request_id.to_owned(),
        ..new("gore", session_id)
    };
    assert_eq!(refusal(app.sessions().create_session(single("", "r")).await).reason, "REQUEST_ID_REUSED");
    app.make(single("c-session", "single")).await;
    reused(vec![new("gore", "c-session")], "single").await;
    // So is the id within each of its sessions.
    let apply = proto::ApplyMoveRequest { request_id: "r".to_owned(), ..crate::app::apply("a-session", "4") };
    assert_eq!(refusal(app.sessions().apply_move(apply).await).reason, "REQUEST_ID_REUSED");

    let delete = proto::DeleteSessionRequest { session_id: "a-session".to_owned(), ..Default::default() };
    body(app.sessions().delete_session(delete).await);
    let refused = refusal(app.create_all(requests(), "r").await);
    assert_eq!((refused.reason.as_str(), refused.fact("session_id")), ("SESSION_NOT_FOUND", "a-session"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_equal_batches_makes_its_sessions() {
    let app = Arc::new(App::start().await);
    let mut racers = JoinSet::new();
    for _ in 0..16 {
        let app = app.clone();
        racers.spawn(async move { body(app.create_all(vec![new("gore", ""), new("kiothi", "")], "r").await) });
    }
    let answers = racers.join_all().await;
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    assert!(answers.iter().all(|answer| answer.sessions == answers[0].sessions));
    assert_eq!(app.count().await, 2);
}
