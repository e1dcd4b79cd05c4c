//! Sessions to make and to list, inwards.

use super::access::Caller;
use super::convert::{clock_in, game_in, position_in, state_in};
use super::fields::Fields;
use super::filter;
use super::page_token;
use super::proto;
use super::seats::{Issued, seats_in, spectators_in};
use crate::game::{Game, Guards, Position, Rules};
use crate::service::{Filter, NewSession, Page};
use crate::session::{MAX_ROUNDS, check_labels, check_session_id};
use std::collections::BTreeMap;
use tonic::Status;

/// The session that a request asks for, and the secrets that its seats are given.
pub fn new_session(caller: &Caller, request: proto::CreateSessionRequest) -> Result<(NewSession, Issued), Status> {
    let mut fields = Fields::new();
    let new = new_session_in(&mut fields, caller, request);
    fields.done(new)
}

/// The session that a request, or an item of one, asks for; none only if there are faults.
pub fn new_session_in(
    fields: &mut Fields,
    caller: &Caller,
    request: proto::CreateSessionRequest,
) -> Option<(NewSession, Issued)> {
    let proto::CreateSessionRequest {
        game,
        options,
        guards,
        position,
        session_id,
        labels,
        request_id,
        rounds,
        clock,
        seats,
        spectators,
    } = request;
    let game = fields.take("game", game_in(&game));
    let rules = game.and_then(|game| rules_in(fields, game, &options));
    let start = rules.and_then(|rules| start_in(fields, &rules, "position", &position));
    if !session_id.is_empty()
        && let Err(fault) = check_session_id(&session_id)
    {
        fields.fault("session_id", fault);
    }
    if let Err(faults) = check_labels(&labels) {
        faults.into_iter().for_each(|fault| fields.fault("labels", fault));
    }
    let request_id = fields.request_id(request_id);
    let rounds = fields.count("rounds", rounds, MAX_ROUNDS, 1);
    let clock = fields.take("clock", clock_in(clock)).flatten();
    let (seats, issued) = seats_in(fields, seats);
    let spectators = spectators_in(fields, spectators);
    let (rules, start) = rules.zip(start)?;
    let new = NewSession {
        session_id: Some(session_id).filter(|id| !id.is_empty()),
        rules,
        guards: guards_in(rules.game(), guards),
        start,
        labels,
        rounds,
        clock,
        previous_session_id: None,
        seats,
        spectators,
        creator: caller.operator().map(str::to_owned),
        request_id,
    };
    Some((new, issued))
}

/// The rules with the options of a request.
pub fn rules_in(fields: &mut Fields, game: Game, options: &BTreeMap<String, String>) -> Option<Rules> {
    let given = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    match Rules::with_options(game, given) {
        Ok(rules) => Some(rules),
        Err(faults) => {
            faults.into_iter().for_each(|(_, fault)| fields.fault("options", fault));
            None
        }
    }
}

/// A position of a request.
pub fn start_in(fields: &mut Fields, rules: &Rules, field: &str, text: &str) -> Option<Position> {
    fields.take(field, position_in(rules, text))
}

fn guards_in(game: Game, guards: Option<proto::Guards>) -> Guards {
    let default = Guards::of(game);
    let proto::Guards { repetition, quiet, max_plies } = guards.unwrap_or_default();
    Guards {
        repetition: repetition.unwrap_or(default.repetition),
        quiet: quiet.unwrap_or(default.quiet),
        max_plies: max_plies.unwrap_or(default.max_plies),
    }
}

/// The most sessions of a page.
const MAX_PAGE: u32 = 1_000;

/// The page that a request asks for, of the public sessions only or of all; none if no session can be as it asks.
pub fn page(request: proto::ListSessionsRequest, public: bool) -> Result<Option<Page>, Status> {
    let proto::ListSessionsRequest { game, state, labels, page_size, page_token, filter } = request;
    let mut fields = Fields::new();
    let game = if game.is_empty() { None } else { fields.take("game", game_in(&game)) };
    let state = fields.take("state", state_in(state)).flatten();
    if let Err(faults) = check_labels(&labels) {
        faults.into_iter().for_each(|fault| fields.fault("labels", fault));
    }
    let limit = fields.count("page_size", page_size, MAX_PAGE, 50) as usize;
    let comparisons = fields.take("filter", filter::parse(&filter)).unwrap_or_default();

    let mut filter = Filter { game: game.map(|game| game.id().to_owned()), state, labels, ..Filter::default() };
    let possible = comparisons.into_iter().all(|comparison| filter::narrow(&mut filter, comparison));
    let mut page = Page { filter, after: None, limit };
    if public {
        page.only_public();
    }
    if !page_token.is_empty() {
        page.after = page_token::read(&page.filter, &page_token);
        if page.after.is_none() {
            fields.fault("page_token", page_token::FAULT);
        }
    }
    fields.done(Some(possible.then_some(page)))
}
