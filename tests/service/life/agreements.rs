//! Proposals, their answers, and every reason against them.

use super::table::{Answer, Table, request, told};
use crate::app::{App, Refusal, body, faulty_fields, refusal};
use mancala::wire::proto::{self, ProposalKind, Seat, SessionState};
use tonic::Code;

fn refused<T>(answer: Answer<T>, reason: &str, facts: &[(&str, &str)]) -> Refusal {
    let refusal = refusal(answer);
    assert_eq!((refusal.reason.as_str(), refusal.code), (reason, Code::FailedPrecondition));
    for (name, value) in facts {
        assert_eq!(refusal.fact(name), *value, "{name}");
    }
    refusal
}

#[tokio::test]
async fn one_of_a_kind_is_open_and_the_other_seat_answers_it() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.propose(Seat::South, ProposalKind::Draw).await);
    let open = table.session().await.proposals;
    let draw = proto::Proposal { kind: ProposalKind::Draw.into(), by: Seat::South.into(), version: 2, to_version: None };
    assert_eq!(open, [draw]);
    let souths = [("kind", "draw"), ("by", "South")];
    refused(table.propose(Seat::North, ProposalKind::Draw).await, "PROPOSAL_OPEN", &souths);
    refused(table.propose(Seat::South, ProposalKind::Draw).await, "PROPOSAL_OPEN", &souths);
    refused(table.answer(Seat::South, ProposalKind::Draw, true).await, "PROPOSAL_OF_OTHER", &souths);
    refused(table.withdraw(Seat::North, ProposalKind::Draw).await, "PROPOSAL_OF_OTHER", &souths);
    refused(table.answer(Seat::North, ProposalKind::Abort, true).await, "PROPOSAL_NOT_FOUND", &[("kind", "abort")]);
    body(table.propose(Seat::North, ProposalKind::Abort).await);
    assert_eq!(table.session().await.proposals.len(), 2, "one of each kind");
    body(table.answer(Seat::South, ProposalKind::Abort, false).await);
    body(table.withdraw(Seat::South, ProposalKind::Draw).await);
    assert!(table.session().await.proposals.is_empty());
    refused(table.withdraw(Seat::South, ProposalKind::Draw).await, "PROPOSAL_NOT_FOUND", &[("kind", "draw")]);
    let story = ["proposed", "proposed", "proposal_answered", "proposal_withdrawn"];
    assert_eq!(table.story(1).await, story);
}

#[tokio::test]
async fn the_other_seat_is_meant_where_none_is_named() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.propose(Seat::Unspecified, ProposalKind::Draw).await);
    body(table.answer(Seat::Unspecified, ProposalKind::Draw, false).await);
    body(table.propose(Seat::North, ProposalKind::Abort).await);
    body(table.withdraw(Seat::Unspecified, ProposalKind::Abort).await);
    let seats: Vec<_> = table.events().await.iter().skip(1).map(proto::Event::seat).collect();
    assert_eq!(seats, [Seat::South, Seat::North, Seat::North, Seat::North]);
}

#[tokio::test]
async fn each_seat_proposes_each_kind_once_between_moves() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.propose(Seat::South, ProposalKind::Draw).await);
    body(table.answer(Seat::North, ProposalKind::Draw, false).await);
    let again = [("kind", "draw"), ("seat", "South")];
    refused(table.propose(Seat::South, ProposalKind::Draw).await, "PROPOSAL_TOO_SOON", &again);
    body(table.propose(Seat::North, ProposalKind::Draw).await);
    body(table.withdraw(Seat::North, ProposalKind::Draw).await);
    let again = [("kind", "draw"), ("seat", "North")];
    refused(table.propose(Seat::North, ProposalKind::Draw).await, "PROPOSAL_TOO_SOON", &again);
    table.play("2").await;
    body(table.propose(Seat::South, ProposalKind::Draw).await);
}

#[tokio::test]
async fn a_move_makes_proposals_void() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.propose(Seat::North, ProposalKind::Draw).await);
    table.play("2").await;
    assert!(table.session().await.proposals.is_empty());
    refused(table.answer(Seat::South, ProposalKind::Draw, true).await, "PROPOSAL_NOT_FOUND", &[("kind", "draw")]);
    assert_eq!(app.session_at(&table.id, 2).await.proposals.len(), 1, "as it was, it is open");
}

#[tokio::test]
async fn what_cannot_be_agreed_on_is_said_why() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    table.play_any(2).await;
    let why = async |kind: ProposalKind, to_version: Option<u32>| {
        let answer = app.sessions().propose(table.proposal(Seat::South, kind, to_version)).await;
        refused(answer, "PROPOSAL_IMPOSSIBLE", &[]).fact("why").to_owned()
    };
    for version in [0, 3, 4, u32::MAX] {
        let why = why(ProposalKind::Takeback, Some(version)).await;
        assert!(why.starts_with("the version must be the round's first"), "{version}: {why}");
    }
    assert!(why(ProposalKind::EndMatch, None).await.contains("one round"));
    assert!(why(ProposalKind::Rematch, None).await.contains("not ended"));
    assert_eq!(table.session().await.version, 3, "nothing of this has changed anything");
}

#[tokio::test]
async fn a_takeback_names_a_version_and_nothing_else_does() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    let fields = async |kind: ProposalKind, to_version: Option<u32>| {
        faulty_fields(app.sessions().propose(table.proposal(Seat::South, kind, to_version)).await)
    };
    assert_eq!(fields(ProposalKind::Takeback, None).await, ["to_version"]);
    for kind in [ProposalKind::Draw, ProposalKind::Abort, ProposalKind::EndMatch, ProposalKind::Rematch] {
        assert_eq!(fields(kind, Some(1)).await, ["to_version"]);
    }
    assert_eq!(fields(ProposalKind::Unspecified, Some(1)).await, ["kind"]);
}

#[tokio::test]
async fn after_the_end_there_are_only_rematches() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    body(table.propose(Seat::South, ProposalKind::Draw).await);
    body(table.resign(Seat::North, false).await);
    for kind in [ProposalKind::Draw, ProposalKind::Abort, ProposalKind::EndMatch] {
        refused(table.propose(Seat::South, kind).await, "SESSION_OVER", &[("cause", "resignation")]);
    }
    let takeback = table.proposal(Seat::South, ProposalKind::Takeback, Some(1));
    refused(app.sessions().propose(takeback).await, "SESSION_OVER", &[("cause", "resignation")]);
    refused(table.answer(Seat::North, ProposalKind::Draw, true).await, "PROPOSAL_NOT_FOUND", &[]);
    refused(table.resign(Seat::South, true).await, "SESSION_OVER", &[("cause", "resignation")]);
    refused(table.claim().await, "SESSION_OVER", &[("cause", "resignation")]);
    body(table.propose(Seat::South, ProposalKind::Rematch).await);
    body(table.answer(Seat::North, ProposalKind::Rematch, false).await);
    refused(table.propose(Seat::South, ProposalKind::Rematch).await, "PROPOSAL_TOO_SOON", &[]);
}

#[tokio::test]
async fn an_agreed_draw_ends_the_round_and_an_abort_the_session() {
    let app = App::start().await;
    let drawn = Table::plain(&app).await;
    drawn.play("2").await;
    let answer = drawn.agree(ProposalKind::Draw).await;
    assert_eq!(told(&answer.match_result), ("agreement", Seat::Unspecified, 7, 0));
    assert_eq!(answer.round_result, answer.match_result);
    assert_eq!(answer.to_act(), Seat::Unspecified);
    assert_eq!(drawn.session().await.state(), SessionState::Finished);
    assert_eq!(drawn.story(2).await, ["proposed", "proposal_answered", "round_ended", "ended"]);

    let aborted = Table::plain(&app).await;
    aborted.play("2").await;
    let answer = aborted.agree(ProposalKind::Abort).await;
    assert_eq!(told(&answer.match_result), ("abort", Seat::Unspecified, 7, 0));
    assert_eq!(answer.round_result, None);
    assert_eq!(aborted.session().await.state(), SessionState::Aborted);
    assert_eq!(aborted.story(2).await, ["proposed", "proposal_answered", "ended"]);
    let state = SessionState::Aborted.into();
    let listed = body(app.sessions().list_sessions(proto::ListSessionsRequest { state, ..Default::default() }).await);
    assert_eq!(listed.sessions.iter().map(|session| &session.session_id).collect::<Vec<_>>(), [&aborted.id]);
}

#[tokio::test]
async fn a_proposal_waits_for_no_version_that_is_gone() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    let mut proposal = table.proposal(Seat::South, ProposalKind::Draw, None);
    proposal.expected_version = Some(2);
    let stale = refusal(app.sessions().propose(proposal.clone()).await);
    assert_eq!((stale.reason.as_str(), stale.fact("current_version")), ("STALE_VERSION", "1"));
    proposal.expected_version = Some(1);
    assert_eq!(body(app.sessions().propose(proposal).await).version, 2);
    let mut reply = table.reply(Seat::North, ProposalKind::Draw, true);
    reply.expected_version = Some(1);
    assert_eq!(refusal(app.sessions().answer_proposal(reply).await).reason, "STALE_VERSION");
}

#[tokio::test]
async fn malformed_requests_name_their_fields() {
    let app = App::start().await;
    let table = Table::plain(&app).await;
    let mut proposal = table.proposal(Seat::South, ProposalKind::Unspecified, None);
    proposal.seat = 9;
    assert_eq!(faulty_fields(app.sessions().propose(proposal).await), ["seat", "kind"]);
    let mut reply = table.reply(Seat::South, ProposalKind::Draw, true);
    reply.kind = 77;
    reply.request_id = "not an id".to_owned();
    assert_eq!(faulty_fields(app.sessions().answer_proposal(reply).await), ["kind", "request_id"]);
    let claim = proto::ClaimTimeoutRequest { session_id: "X".to_owned(), ..Default::default() };
    assert_eq!(faulty_fields(app.sessions().claim_timeout(claim).await), ["session_id"]);
    assert_eq!(faulty_fields(app.sessions().create_session(request("ayoayo", 101, None)).await), ["rounds"]);
}
