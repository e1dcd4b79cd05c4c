//! One table of reasons: what the rules call a refusal is what the wire calls it, and ListReasons serves it.

use crate::app::{App, body};
use mancala::game::{EndReason, Game, IllegalMove, Phase, Seat};
use mancala::wire::proto;
use mancala::wire::reason::{Reason, code_name};

/// One of each kind. The match makes a new kind fail to compile until it stands here.
fn one_of_each() -> Vec<IllegalMove> {
    use IllegalMove as I;
    let (pit, seat) = (1, Seat::South);
    let all = vec![
        I::GameOver { reason: EndReason::NoMove },
        I::WrongPhase { phase: Phase::Sow, given: "pass" },
        I::NotInThisGame { game: Game::Gore, given: "redistribution" },
        I::PitOffBoard { pit, pits: 8 },
        I::PitNotYours { pit, seat, owner: Seat::North },
        I::PitEmpty { pit },
        I::PitClosed { pit },
        I::SeedsNotChosen { pit, held: 3 },
        I::SeedsOutOfRange { pit, seeds: 4, held: 3 },
        I::FirstLapEndsInOwnOccupiedPit { pit, seeds: 2, last: 3 },
        I::MustFeed { pit, hungry: Seat::North },
        I::MustPass { seat },
        I::CannotPass { seat },
        I::TradeSize { pits: 4, most: 3 },
        I::TradeNotAffordable { price: 6, bank: 5, payer: seat },
        I::TradeKeepsNoPit { pits: 2, seat },
        I::RedistributionSize { emptied: 1, required: 2 },
        I::RedistributionUnbalanced { lifted: 10, placed: 9 },
    ];
    let place = |illegal: &IllegalMove| match illegal {
        I::GameOver { .. } => 0,
        I::WrongPhase { .. } => 1,
        I::NotInThisGame { .. } => 2,
        I::PitOffBoard { .. } => 3,
        I::PitNotYours { .. } => 4,
        I::PitEmpty { .. } => 5,
        I::PitClosed { .. } => 6,
        I::SeedsNotChosen { .. } => 7,
        I::SeedsOutOfRange { .. } => 8,
        I::FirstLapEndsInOwnOccupiedPit { .. } => 9,
        I::MustFeed { .. } => 10,
        I::MustPass { .. } => 11,
        I::CannotPass { .. } => 12,
        I::TradeSize { .. } => 13,
        I::TradeNotAffordable { .. } => 14,
        I::TradeKeepsNoPit { .. } => 15,
        I::RedistributionSize { .. } => 16,
        I::RedistributionUnbalanced { .. } => 17,
    };
    assert!(all.iter().map(place).eq(0..18), "each once, in the order of the match");
    all
}

#[test]
fn what_the_rules_refuse_has_the_same_name_and_facts_on_the_wire() {
    for illegal in one_of_each() {
        let reason = Reason::from(&illegal);
        assert_eq!(reason.name(), illegal.reason(), "{illegal:?}");
        assert_eq!(code_name(reason.code()), "FAILED_PRECONDITION", "{illegal:?}");
        let facts: Vec<_> = illegal.facts().into_iter().map(|(name, _)| name).collect();
        assert_eq!(reason.facts(), facts, "{illegal:?}");
    }
}

#[tokio::test]
async fn list_reasons_is_the_table() {
    let app = App::start().await;
    let listed = body(app.rules().list_reasons(proto::ListReasonsRequest {}).await).reasons;
    let table: Vec<_> = Reason::ALL
        .iter()
        .map(|reason| proto::Reason {
            reason: reason.name().to_owned(),
            code: code_name(reason.code()).to_owned(),
            description: reason.description().to_owned(),
            metadata: reason.facts().iter().map(|&fact| fact.to_owned()).collect(),
        })
        .collect();
    assert_eq!(listed, table);
    assert!(table.len() > 40);
}
