//! Every change that is asked for again with its request id answers as the first time and changes nothing.

use super::clocks::{SECOND, total};
use super::table::{Table, request};
use crate::app::{App, START, body, refusal};
use mancala::wire::proto::{self, ProposalKind, Seat};

/// Calls twice, and then with another content.
macro_rules! repeated {
    ($table:expr, $method:ident, $request:expr, $other:expr) => {{
        let request = $request;
        let first = body($table.app.sessions().$method(request.clone()).await);
        assert!(!first.replayed);
        let version = $table.session().await.version;
        let mut again = body($table.app.sessions().$method(request.clone()).await);
        assert!(again.replayed);
        again.replayed = false;
        assert_eq!(again, first);
        let mut other = request;
        #[allow(clippy::redundant_closure_call)]
        $other(&mut other);
        let reused = refusal($table.app.sessions().$method(other).await);
        assert_eq!(reused.reason, "REQUEST_ID_REUSED");
        assert_eq!($table.session().await.version, version, "nothing has changed");
        first
    }};
}

#[tokio::test]
async fn agreements_are_repeated() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 2, None)).await;
    table.play_any(2).await;
    for (version, kind) in [(3, ProposalKind::Draw), (4, ProposalKind::Abort)] {
        let request = proto::ProposeRequest {
            request_id: format!("propose-{version}"),
            expected_version: Some(version),
            ..table.proposal(Seat::South, kind, None)
        };
        repeated!(table, propose, request, |other: &mut proto::ProposeRequest| other.seat = Seat::North.into());
    }
    let withdrawal = proto::WithdrawProposalRequest {
        session_id: table.id.clone(),
        kind: ProposalKind::Abort.into(),
        request_id: "withdraw".to_owned(),
        ..Default::default()
    };
    repeated!(table, withdraw_proposal, withdrawal, |other: &mut proto::WithdrawProposalRequest| {
        other.kind = ProposalKind::Draw.into();
    });
    let reply =
        proto::AnswerProposalRequest { request_id: "answer".to_owned(), ..table.reply(Seat::North, ProposalKind::Draw, true) };
    let answer = repeated!(table, answer_proposal, reply, |other: &mut proto::AnswerProposalRequest| other.accept = false);
    assert!(answer.round_result.is_some(), "the agreement and what followed are one answer");
    assert_eq!(table.session().await.round, 2);
    let taken = table.proposal(Seat::South, ProposalKind::Draw, None);
    let reused = refusal(app.sessions().propose(proto::ProposeRequest { request_id: "answer".to_owned(), ..taken }).await);
    assert_eq!(reused.reason, "REQUEST_ID_REUSED", "ids are the session's, whatever the method");
}

#[tokio::test]
async fn resignations_are_repeated_also_in_the_next_round() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 3, None)).await;
    let resignation =
        proto::ResignRequest { session_id: table.id.clone(), request_id: "resign".to_owned(), ..Default::default() };
    repeated!(table, resign, resignation, |other: &mut proto::ResignRequest| other.r#match = true);
    assert_eq!(table.session().await.round, 2, "one round is lost, not two");
}

#[tokio::test]
async fn claims_are_repeated() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 2, Some(total(10 * SECOND, 0)))).await;
    table.play_any(2).await;
    app.clock.set(START + 11 * SECOND);
    let claim = proto::ClaimTimeoutRequest { session_id: table.id.clone(), request_id: "claim".to_owned(), ..Default::default() };
    repeated!(table, claim_timeout, claim.clone(), |other: &mut proto::ClaimTimeoutRequest| other.expected_version = Some(3));
    app.clock.set(START + 12 * SECOND);
    assert!(body(app.sessions().claim_timeout(claim).await).replayed);
    assert_eq!(refusal(table.claim().await).reason, "TIME_NOT_OUT", "the next round has time");
}

/// The move was in time when it was played first; that its answer was lost must not lose the round.
#[tokio::test]
async fn a_move_is_repeated_after_the_deadline() {
    let app = App::start().await;
    let table = Table::new(&app, request("ayoayo", 1, Some(total(10 * SECOND, 0)))).await;
    table.play_any(2).await;
    let mv = app.legal_moves(&table.id).await.swap_remove(0);
    let request = proto::ApplyMoveRequest { request_id: "move".to_owned(), ..crate::app::apply(&table.id, &mv) };
    let first = body(app.sessions().apply_move(request.clone()).await);
    app.clock.set(START + 11 * SECOND);
    let mut again = body(app.sessions().apply_move(request).await);
    assert!(again.replayed);
    again.replayed = false;
    assert_eq!(again, first);
    let session = table.session().await;
    assert_eq!(session.result.expect("a result").winner(), Seat::South, "it is North whose time is out");
}
