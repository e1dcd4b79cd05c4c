//! A move as a message and as text is the same move.

use crate::app::{App, Refusal, apply, body, faulty_fields, refusal};
use mancala::wire::proto::{self, r#move::Kind};

/// Positions whose moves are of every kind.
const POSITIONS: [&str; 6] = [
    "gore 4,4,4^,4/4,4,3,3 0-18 S sow",
    "gore 4,4,4,4/4,4,3,3 6-12 N answer:0",
    "gore 0,0,0,0/9,9,9,9 0-12 S sow",
    "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S sow",
    "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1",
    "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow",
];

fn kind_name(mv: &proto::Move) -> &'static str {
    match mv.kind.as_ref().expect("an answer has both") {
        Kind::Sow(proto::Sow { seeds: None, .. }) => "sow",
        Kind::Sow(proto::Sow { seeds: Some(_), .. }) => "sow a number",
        Kind::Redistribution(_) => "redistribution",
        Kind::TradeOffer(_) => "offer",
        Kind::TradeAnswer(_) => "answer",
        Kind::Pass(_) => "pass",
    }
}

/// A move in the three ways that it can be given.
fn three_ways(mv: &proto::Move) -> [proto::Move; 3] {
    let as_text = proto::Move { kind: None, text: mv.text.clone() };
    let as_kind = proto::Move { kind: mv.kind.clone(), text: String::new() };
    [mv.clone(), as_text, as_kind]
}

async fn check(app: &App, session_id: &str, mv: proto::Move) -> proto::CheckMoveResponse {
    let request = proto::CheckMoveRequest {
        session_id: session_id.to_owned(),
        r#move: Some(mv),
        include_steps: true,
        ..Default::default()
    };
    body(app.sessions().check_move(request).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_move_is_the_same_as_message_and_as_text() {
    let app = App::start().await;
    let mut kinds = Vec::new();
    for position in POSITIONS {
        let id = app.create_at(position).await;
        let listed = proto::ListLegalMovesRequest { session_id: id.clone() };
        let mut moves = body(app.sessions().list_legal_moves(listed).await).moves;
        let sample = proto::SampleMovesRequest { session_id: id.clone(), count: 3, seed: 5 };
        moves.extend(body(app.sessions().sample_moves(sample).await).moves);
        for mv in moves {
            kinds.push(kind_name(&mv));
            let [both, text, kind] = three_ways(&mv);
            let expected = check(&app, &id, both).await;
            assert!(expected.legal && !expected.position.is_empty() && !expected.steps.is_empty(), "{mv:?}: {expected:?}");
            assert_eq!(check(&app, &id, text).await, expected);
            assert_eq!(check(&app, &id, kind).await, expected);
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["answer", "offer", "pass", "redistribution", "sow", "sow a number"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_repeated_in_either_form_and_told_in_both() {
    let app = App::start().await;
    for position in POSITIONS {
        let id = app.create_at(position).await;
        let sample = proto::SampleMovesRequest { session_id: id.clone(), count: 1, seed: 1 };
        let mv = body(app.sessions().sample_moves(sample).await).moves.remove(0);
        let mut versions = Vec::new();
        for (n, way) in three_ways(&mv).into_iter().enumerate() {
            let request = proto::ApplyMoveRequest { r#move: Some(way), request_id: "same".to_owned(), ..apply(&id, "") };
            let reply = body(app.sessions().apply_move(request).await);
            assert_eq!(reply.replayed, n > 0);
            versions.push(reply.version);
        }
        assert!(versions.iter().all(|version| *version == versions[0]));
        let events = app.events(&id, 10, false).await;
        let Some(proto::event::Body::MovePlayed(played)) = &events[1].body else { panic!("{:?}", events[1]) };
        assert_eq!(played.r#move.as_ref(), Some(&mv));
    }
}

async fn faults_of(app: &App, id: &str, kind: Option<Kind>, text: &str) -> Vec<String> {
    let mv = proto::Move { kind, text: text.to_owned() };
    let request = proto::ApplyMoveRequest { r#move: Some(mv), ..apply(id, "") };
    faulty_fields(app.sessions().apply_move(request).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_move_is_a_faulty_field() {
    let app = App::start().await;
    let id = app.create("kiothi").await;
    let sow = |pit, seeds| Some(Kind::Sow(proto::Sow { pit, seeds }));
    assert_eq!(faults_of(&app, &id, sow(3, None), "4").await, ["move"], "they differ");
    assert_eq!(faults_of(&app, &id, sow(3, Some(2)), "3").await, ["move"], "they differ");
    assert_eq!(faults_of(&app, &id, None, "").await, ["move"]);
    assert_eq!(faults_of(&app, &id, None, "3y").await, ["move.text"]);
    assert_eq!(faults_of(&app, &id, sow(256, None), "").await, ["move.sow.pit"]);
    assert_eq!(faults_of(&app, &id, sow(256, None), "3").await, ["move.sow.pit"]);
    assert_eq!(faults_of(&app, &id, sow(3, Some(256)), "").await, ["move.sow.seeds"]);
    let offer = |pits: &[u32]| Some(Kind::TradeOffer(proto::TradeOffer { pits: pits.to_vec(), ..Default::default() }));
    assert_eq!(faults_of(&app, &id, offer(&[1, 1]), "").await, ["move.trade_offer.pits"]);
    assert_eq!(faults_of(&app, &id, offer(&[4_000_000_000]), "").await, ["move.trade_offer.pits"]);
    let placed = |emptied: &[u32], pits: &[u32]| {
        let placements = pits.iter().map(|&pit| proto::Placement { pit, seeds: 1 }).collect();
        Some(Kind::Redistribution(proto::Redistribution { emptied: emptied.to_vec(), placements }))
    };
    let (emptied, placements) = ("move.redistribution.emptied", "move.redistribution.placements");
    assert_eq!(faults_of(&app, &id, placed(&[99, 3], &[20]), "").await, [emptied, placements], "both at once");
    assert_eq!(faults_of(&app, &id, placed(&[4, 5], &[1, 1]), "").await, [placements]);
    let none = proto::ApplyMoveRequest { r#move: None, ..apply(&id, "") };
    assert_eq!(faulty_fields(app.sessions().apply_move(none).await), ["move"]);
    let seat = proto::ApplyMoveRequest { seat: 3, ..apply(&id, "1") };
    assert_eq!(faulty_fields(app.sessions().apply_move(seat).await), ["seat"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn extreme_messages_are_refused_by_the_rules() {
    let app = App::start().await;
    let refused = async |position: &str, kind: Kind| -> Refusal {
        let id = app.create_at(position).await;
        let mv = proto::Move { kind: Some(kind), text: String::new() };
        let checked = check(&app, &id, mv.clone()).await.refusal.expect("a refusal");
        let request = proto::ApplyMoveRequest { r#move: Some(mv), ..apply(&id, "") };
        let refusal = refusal(app.sessions().apply_move(request).await);
        assert_eq!((&checked.reason, &checked.metadata), (&refusal.reason, &refusal.facts));
        refusal
    };
    let [gore, _, _, sowing, opening, _] = POSITIONS;
    let offer = |pits: Vec<u32>| Kind::TradeOffer(proto::TradeOffer { pits, ..Default::default() });
    assert_eq!(refused(gore, Kind::Sow(proto::Sow { pit: 255, seeds: None })).await.reason, "PIT_OFF_BOARD");
    assert_eq!(refused(gore, offer(Vec::new())).await.reason, "TRADE_SIZE");
    assert_eq!(refused(gore, offer((0..20).collect())).await.reason, "TRADE_SIZE");
    assert_eq!(refused(sowing, Kind::Sow(proto::Sow { pit: 9, seeds: Some(0) })).await.reason, "SEEDS_OUT_OF_RANGE");
    assert_eq!(refused(sowing, Kind::Sow(proto::Sow { pit: 9, seeds: Some(255) })).await.reason, "SEEDS_OUT_OF_RANGE");
    let nothing = Kind::Redistribution(proto::Redistribution::default());
    assert_eq!(refused(opening, nothing).await.reason, "REDISTRIBUTION_SIZE");
    let heaps = (0..20).map(|pit| proto::Placement { pit, seeds: 255 }).collect();
    let heaps = Kind::Redistribution(proto::Redistribution { emptied: vec![8, 9], placements: heaps });
    assert_eq!(refused(opening, heaps).await.fact("placed"), "5100");
}
