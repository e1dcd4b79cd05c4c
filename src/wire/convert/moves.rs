//! Moves.

use super::seat_out;
use crate::game::gore::price;
use crate::game::{MAX_PITS, Move, PitSet, Redistribution, Seat};
use crate::wire::fields::Fields;
use crate::wire::proto::{self, r#move::Kind};

/// A move of a request: as a message, as text, or as both if they agree. Faults are added to `fields` under `move`.
pub fn move_in(fields: &mut Fields, mv: Option<proto::Move>) -> Option<Move> {
    const EXPECTED: &str = "one of the kinds, or text such as \"3\", \"13x2\", \"offer 1+2\", \"accept\" or \"pass\"";
    let proto::Move { kind, text } = mv.unwrap_or_default();
    let given = kind.is_some();
    let by_kind = kind.and_then(|kind| kind_in(fields, kind));
    if text.trim().is_empty() {
        if !given {
            fields.fault("move", EXPECTED);
        }
        return by_kind;
    }
    let by_text: Move = fields.take("move.text", text.parse())?;
    if given && by_kind.is_some_and(|by_kind| by_kind != by_text) {
        fields.fault("move", "text and kind say different moves; give one of them");
    }
    Some(by_text)
}

fn kind_in(fields: &mut Fields, kind: Kind) -> Option<Move> {
    match kind {
        Kind::Sow(proto::Sow { pit, seeds }) => {
            let pit = fields.take("move.sow.pit", u8::try_from(pit).map_err(|_| PIT))?;
            let seeds = seeds.map(|seeds| fields.take("move.sow.seeds", u8::try_from(seeds).map_err(|_| SEEDS)));
            match seeds {
                Some(seeds) => Some(Move::Sow { pit, seeds: Some(seeds?) }),
                None => Some(Move::sow(pit)),
            }
        }
        Kind::Redistribution(proto::Redistribution { emptied, placements }) => {
            let emptied = fields.take("move.redistribution.emptied", pit_set(&emptied));
            let placed = fields.take("move.redistribution.placements", placed_in(&placements));
            Some(Move::Redistribute(Redistribution { emptied: emptied?, placed: placed? }))
        }
        // Who offers and for how much follows from the position.
        Kind::TradeOffer(proto::TradeOffer { pits, from: _, price: _ }) => {
            fields.take("move.trade_offer.pits", pit_set(&pits)).map(Move::Offer)
        }
        Kind::TradeAnswer(proto::TradeAnswer { accept }) => Some(Move::Answer { accept }),
        Kind::Pass(proto::Pass {}) => Some(Move::Pass),
    }
}

const PIT: &str = "the ring index of a pit; no board has more than 20";
const SEEDS: &str = "a number of seeds; no game has more than 70";
const PITS: &str = "ring indices of pits, each once; no board has more than 20";
const PLACEMENTS: &str = "pits, each once, with the number of seeds put in them";

fn pit_set(pits: &[u32]) -> Result<PitSet, &'static str> {
    pits.iter().try_fold(PitSet::EMPTY, |set, &pit| {
        let pit = u8::try_from(pit).ok().filter(|&pit| pit < PitSet::CAPACITY && !set.has(pit)).ok_or(PITS)?;
        Ok(set | PitSet::of(pit))
    })
}

fn placed_in(placements: &[proto::Placement]) -> Result<[u8; MAX_PITS], &'static str> {
    let mut placed = [0; MAX_PITS];
    let mut named = PitSet::EMPTY;
    for proto::Placement { pit, seeds } in placements {
        let pit = u8::try_from(*pit).ok().filter(|&pit| usize::from(pit) < MAX_PITS && !named.has(pit)).ok_or(PLACEMENTS)?;
        named = named | PitSet::of(pit);
        placed[usize::from(pit)] = u8::try_from(*seeds).map_err(|_| PLACEMENTS)?;
    }
    Ok(placed)
}

/// A move of a seat, as message and text.
pub fn move_out(mv: Move, seat: Seat) -> proto::Move {
    let kind = match mv {
        Move::Sow { pit, seeds } => Kind::Sow(proto::Sow { pit: pit.into(), seeds: seeds.map(u32::from) }),
        Move::Redistribute(Redistribution { emptied, placed }) => Kind::Redistribution(proto::Redistribution {
            emptied: emptied.iter().map(u32::from).collect(),
            placements: (0..)
                .zip(placed)
                .filter(|&(_, seeds)| seeds > 0)
                .map(|(pit, seeds)| proto::Placement { pit, seeds: seeds.into() })
                .collect(),
        }),
        Move::Offer(pits) => Kind::TradeOffer(proto::TradeOffer {
            pits: pits.iter().map(u32::from).collect(),
            from: seat_out(seat),
            price: price(pits).into(),
        }),
        Move::Answer { accept } => Kind::TradeAnswer(proto::TradeAnswer { accept }),
        Move::Pass => Kind::Pass(proto::Pass {}),
    };
    proto::Move { kind: Some(kind), text: mv.to_string() }
}
