//! The games and the reasons as data.

use super::session::guards;
use super::{phase, position_out, seat_out};
use crate::game::{COMMON_PAGE, Game, Guards, Phase, PitSet, Rules};
use crate::wire::proto;
use crate::wire::reason::Reason;

/// All games, in a line each.
pub fn list_games() -> proto::ListGamesResponse {
    proto::ListGamesResponse { games: Game::ALL.into_iter().map(summary).collect() }
}

fn summary(game: Game) -> proto::GameSummary {
    proto::GameSummary {
        game: game.id().to_owned(),
        name: game.title().to_owned(),
        origin: game.origin().to_owned(),
        pits_per_row: game.ring().row.into(),
        seeds: Rules::new(game).start().on_board(),
    }
}

/// One game.
pub fn get_game(game: Game) -> proto::GetGameResponse {
    let rules = Rules::new(game);
    let ring = game.ring();
    let places = (0..ring.pits()).map(|pit| proto::PitPlace {
        index: pit.into(),
        row: seat_out(ring.row_of(pit)),
        next: ring.next(pit).into(),
        opposite: ring.opposite(pit).into(),
    });
    let options = rules.option_specs().iter().map(|spec| proto::Option {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        default_value: spec.values[0].to_owned(),
        values: spec.values.iter().map(|&value| value.to_owned()).collect(),
    });
    let phases = [Phase::Open1, Phase::Open2, Phase::Sow, Phase::Bonus, Phase::Answer(PitSet::EMPTY)];
    let phases = phases.into_iter().filter(|&phase| game.has_phase(phase)).map(|it| i32::from(phase(it)));
    proto::GetGameResponse {
        summary: Some(summary(game)),
        start: Some(position_out(&rules.start())),
        places: places.collect(),
        options: options.collect(),
        guards: Some(guards(Guards::of(game))),
        phases: phases.chain([proto::Phase::Over.into()]).collect(),
        rules: format!("{}\n{COMMON_PAGE}", game.page()),
        sources: game.sources().iter().map(|&source| source.to_owned()).collect(),
    }
}

/// All reasons.
pub fn list_reasons() -> proto::ListReasonsResponse {
    let reasons = Reason::ALL.iter().map(|reason| proto::Reason {
        reason: reason.name().to_owned(),
        code: reason.code_name().to_owned(),
        description: reason.description().to_owned(),
        metadata: reason.facts().iter().map(|&fact| fact.to_owned()).collect(),
    });
    proto::ListReasonsResponse { reasons: reasons.collect() }
}
