//! Sessions and their results.

use super::{clock_out, position_with, proposal_out, seat_out};
use crate::game::{Guards, Position};
use crate::session::{GuardLimits, MatchResult, Micros, Player, SeatView, Session, SpectatorPolicy, Spectators, State, View};
use crate::store::Head;
use crate::wire::proto;
use prost_types::Timestamp;

/// A time.
pub fn timestamp(time: Micros) -> Timestamp {
    Timestamp { seconds: time.div_euclid(1_000_000), nanos: (time.rem_euclid(1_000_000) * 1_000) as i32 }
}

/// How a round or a match ended.
pub fn result(result: &MatchResult) -> proto::Result {
    let MatchResult { winner, cause, south, north, without_glory } = *result;
    proto::Result {
        winner: winner.map_or(proto::Seat::Unspecified.into(), seat_out),
        reason: cause.name().to_owned(),
        south,
        north,
        without_glory,
    }
}

/// Guards, outwards.
pub fn guards(guards: Guards) -> proto::Guards {
    let Guards { repetition, quiet, max_plies } = guards;
    proto::Guards { repetition: Some(repetition), quiet: Some(quiet), max_plies: Some(max_plies) }
}

fn state_out(state: State) -> i32 {
    match state {
        State::Active => proto::SessionState::Active.into(),
        State::Finished => proto::SessionState::Finished.into(),
        State::Aborted => proto::SessionState::Aborted.into(),
    }
}

/// A state to filter by; `Ok(None)`: any.
pub fn state_in(state: i32) -> Result<Option<State>, &'static str> {
    match proto::SessionState::try_from(state) {
        Ok(proto::SessionState::Unspecified) => Ok(None),
        Ok(proto::SessionState::Active) => Ok(Some(State::Active)),
        Ok(proto::SessionState::Finished) => Ok(Some(State::Finished)),
        Ok(proto::SessionState::Aborted) => Ok(Some(State::Aborted)),
        Err(_) => Err("a state: SESSION_STATE_ACTIVE, SESSION_STATE_FINISHED or SESSION_STATE_ABORTED"),
    }
}

/// A session as it stands.
pub fn session(session: &Session) -> proto::Session {
    let head = Head {
        session_id: session.id().to_owned(),
        game: session.rules().game().id().to_owned(),
        labels: session.labels().clone(),
        created: session.created(),
        updated: session.updated(),
        state: session.state(),
        version: session.version(),
        players: Default::default(),
        expires: session.expires(),
        deadline: session.deadline(),
        summary: String::new(),
    };
    listed(head, View::of(session), session.position())
}

/// A session, from what the store keeps of it for lists.
pub fn listed(head: Head, view: View, position: &Position) -> proto::Session {
    let Head { session_id, game, labels, created, updated, state, version, players: _, expires, deadline: _, summary: _ } = head;
    let View {
        options,
        guards: GuardLimits { repetition, quiet, max_plies },
        position: text,
        ply,
        round,
        rounds,
        points: [south_points, north_points],
        round_results,
        result: ended,
        clock,
        proposals,
        previous_session_id,
        next_session_id,
        head_hash,
        seats,
        spectators: Spectators { policy, delay_plies },
    } = view;
    proto::Session {
        session_id,
        game,
        options,
        guards: Some(guards(Guards { repetition, quiet, max_plies })),
        state: state_out(state),
        version,
        position: Some(position_with(position, text)),
        ply,
        round,
        rounds,
        round_results: round_results.iter().map(result).collect(),
        result: ended.as_ref().map(result),
        labels,
        create_time: Some(timestamp(created)),
        update_time: Some(timestamp(updated)),
        clock: clock.as_ref().map(clock_out),
        proposals: proposals.iter().map(proposal_out).collect(),
        south_points,
        north_points,
        previous_session_id: previous_session_id.unwrap_or_default(),
        next_session_id: next_session_id.unwrap_or_default(),
        head_hash,
        seats: seats.into_iter().map(seat_info).collect(),
        spectators: Some(proto::Spectators { policy: policy_out(policy), delay_plies }),
        expire_time: expires.map(timestamp),
    }
}

fn seat_info(view: SeatView) -> proto::SeatInfo {
    let SeatView { seat, player, joinable, has_token } = view;
    let claimed = player.is_some();
    let Player { reference, display_name } = player.unwrap_or_default();
    proto::SeatInfo { seat: seat_out(seat), claimed, player: reference, display_name, joinable, has_token }
}

fn policy_out(policy: SpectatorPolicy) -> i32 {
    match policy {
        SpectatorPolicy::None => proto::SpectatorPolicy::None.into(),
        SpectatorPolicy::Unlisted => proto::SpectatorPolicy::Unlisted.into(),
        SpectatorPolicy::Public => proto::SpectatorPolicy::Public.into(),
    }
}
