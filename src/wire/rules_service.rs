//! RulesService.

use super::batch::{self, Batch};
use super::convert::{family, game_in, get_game, list_games, list_reasons, move_out, position_out};
use super::fields::Fields;
use super::proto::rules_service_server::RulesService;
use super::proto::{self};
use super::reason::Reason;
use super::records;
use super::refuse::Refused;
use super::session_request::{rules_in, start_in};
use crate::game::{Game, Position, Rules};
use crate::service::Compute;
use std::collections::BTreeMap;
use tonic::{Request, Response, Status};

/// Answers calls on the rules alone.
#[derive(Clone)]
pub struct RulesHandlers {
    compute: Compute,
}

impl RulesHandlers {
    /// Batches are computed here.
    #[must_use]
    pub const fn new(compute: Compute) -> RulesHandlers {
        RulesHandlers { compute }
    }

    /// Computes a batch away from the network's threads.
    async fn compute<B: Batch>(&self, batch: B) -> Result<Response<B::Reply>, Status> {
        let computed = self.compute.run(move |cancel| batch.compute(cancel)).await?;
        computed.map(Response::new).map_err(Refused::into_status)
    }
}

#[tonic::async_trait]
impl RulesService for RulesHandlers {
    async fn list_games(&self, _: Request<proto::ListGamesRequest>) -> Result<Response<proto::ListGamesResponse>, Status> {
        Ok(Response::new(list_games()))
    }

    async fn get_game(&self, request: Request<proto::GetGameRequest>) -> Result<Response<proto::GetGameResponse>, Status> {
        let proto::GetGameRequest { game } = request.into_inner();
        let game = Game::from_id(&game).ok_or_else(|| {
            let games = Game::ALL.map(Game::id).join(", ");
            Refused::new(
                Reason::GameNotFound,
                format_args!("there is no such game; there are {games}"),
                vec![("games", games.clone())],
            )
            .into_status()
        })?;
        Ok(Response::new(get_game(game)))
    }

    async fn list_reasons(&self, _: Request<proto::ListReasonsRequest>) -> Result<Response<proto::ListReasonsResponse>, Status> {
        Ok(Response::new(list_reasons()))
    }

    async fn list_position_moves(
        &self,
        request: Request<proto::ListPositionMovesRequest>,
    ) -> Result<Response<proto::ListPositionMovesResponse>, Status> {
        let proto::ListPositionMovesRequest { game, options, position } = request.into_inner();
        let (rules, p) = playable(&game, &options, &position)?;
        let mut moves = Vec::new();
        rules.each_legal_move(&p, |mv| moves.push(move_out(mv, p.to_act())));
        Ok(Response::new(proto::ListPositionMovesResponse {
            position: Some(position_out(&p)),
            moves,
            redistributions: rules.redistributions(&p).map(|it| family(&p, &it)),
        }))
    }

    async fn step_positions(
        &self,
        request: Request<proto::StepPositionsRequest>,
    ) -> Result<Response<proto::StepPositionsResponse>, Status> {
        self.compute(batch::Steps::new(request.into_inner())?).await
    }

    async fn playout_positions(
        &self,
        request: Request<proto::PlayoutPositionsRequest>,
    ) -> Result<Response<proto::PlayoutPositionsResponse>, Status> {
        self.compute(batch::Playouts::new(request.into_inner())?).await
    }

    async fn verify_record(
        &self,
        request: Request<proto::VerifyRecordRequest>,
    ) -> Result<Response<proto::VerifyRecordResponse>, Status> {
        records::verify(&self.compute, request.into_inner()).await.map(Response::new)
    }
}

/// The rules and the position that a request names. A position says itself which game it is of.
fn playable(game: &str, options: &BTreeMap<String, String>, position: &str) -> Result<(Rules, Position), Status> {
    let mut fields = Fields::new();
    let named = if game.is_empty() { position.split_whitespace().next().unwrap_or_default() } else { game };
    let field = if game.is_empty() && !position.is_empty() { "position" } else { "game" };
    let rules = fields.take(field, game_in(named)).and_then(|game| rules_in(&mut fields, game, options));
    let start = rules.and_then(|rules| start_in(&mut fields, &rules, "position", position));
    fields.done(rules.zip(start))
}
