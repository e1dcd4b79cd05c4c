//! Seats: how they are set up, claimed, and given other tokens.

use super::SessionHandlers;
use super::access::Caller;
use super::convert::{seat_in, seat_out};
use super::fields::Fields;
use super::proto;
use super::reason::Reason;
use super::refuse::Refused;
use super::session_answer::After;
use super::session_service::{change, note};
use crate::game::Seat;
use crate::service::{Secret, ServiceError, Target, read_join_code};
use crate::session::{
    Claimant, Command, Credential, Event, MAX_DELAY_PLIES, Player, SeatCommand, SeatStart, SecretHash, SpectatorPolicy,
    Spectators, check_name,
};
use prost_types::Timestamp;
use tonic::{Response, Status};

const CODE: &str = "20 letters and digits, as CreateSession answered it";

/// Secrets that were made for a session that is to be made.
#[derive(Default)]
pub struct Issued {
    tokens: Vec<(Seat, Secret)>,
    join_codes: Vec<(Seat, Secret)>,
}

impl Issued {
    /// As they are shown, once.
    pub fn show(&self, session_id: &str) -> Vec<proto::SeatSecret> {
        let token = |(seat, secret): &(Seat, Secret)| proto::SeatSecret {
            seat: seat_out(*seat),
            token: secret.seat_token(session_id, *seat),
            join_code: String::new(),
        };
        let code = |(seat, secret): &(Seat, Secret)| proto::SeatSecret {
            seat: seat_out(*seat),
            token: String::new(),
            join_code: secret.join_code(),
        };
        self.tokens.iter().map(token).chain(self.join_codes.iter().map(code)).collect()
    }
}

/// The seats of a session to make, and their new secrets.
pub fn seats_in(fields: &mut Fields, setups: Vec<proto::SeatSetup>) -> (Vec<SeatStart>, Issued) {
    let mut starts: Vec<SeatStart> = Vec::new();
    let mut issued = Issued::default();
    for (place, setup) in setups.into_iter().take(Seat::BOTH.len() + 1).enumerate() {
        let proto::SeatSetup { seat, player, display_name, issue_token, issue_join_code } = setup;
        let field = |name: &str| format!("seats[{place}].{name}");
        let player = player_in(fields, &format!("seats[{place}]."), player, display_name);
        let Some(seat) = seat_that_must_be_given(fields, &field("seat"), seat) else { continue };
        if starts.iter().any(|start| start.seat == seat) {
            fields.fault(field("seat"), "each seat at most once");
            continue;
        }
        if issue_join_code && (issue_token || player != Player::default()) {
            fields.fault(field("issue_join_code"), "without a player, a display name or a token: the seat is to be claimed");
        }
        let mut start = SeatStart { seat, player: (!issue_join_code).then_some(player), token: None, join_code: None };
        if issue_token {
            let secret = Secret::new_token();
            start.token = Some(secret.hash());
            issued.tokens.push((seat, secret));
        }
        if issue_join_code {
            let secret = Secret::new_join_code();
            start.join_code = Some(secret.hash());
            issued.join_codes.push((seat, secret));
        }
        starts.push(start);
    }
    // In one order, so that the same request is the same whatever the order of its seats.
    starts.sort_by_key(|start| start.seat);
    (starts, issued)
}

fn player_in(fields: &mut Fields, path: &str, player: String, display_name: String) -> Player {
    fields.take(format!("{path}player"), check_name(&player));
    fields.take(format!("{path}display_name"), check_name(&display_name));
    Player { reference: player, display_name }
}

fn seat_that_must_be_given(fields: &mut Fields, field: &str, seat: i32) -> Option<Seat> {
    fields.take(field, seat_in(seat).and_then(|seat| seat.ok_or("a seat: SEAT_SOUTH or SEAT_NORTH")))
}

/// Who else may watch a session to make.
pub fn spectators_in(fields: &mut Fields, spectators: Option<proto::Spectators>) -> Spectators {
    let proto::Spectators { policy, delay_plies } = spectators.unwrap_or_default();
    let policy = match proto::SpectatorPolicy::try_from(policy) {
        Ok(proto::SpectatorPolicy::Unspecified | proto::SpectatorPolicy::None) => SpectatorPolicy::None,
        Ok(proto::SpectatorPolicy::Unlisted) => SpectatorPolicy::Unlisted,
        Ok(proto::SpectatorPolicy::Public) => SpectatorPolicy::Public,
        Err(_) => {
            fields.fault("spectators.policy", "SPECTATOR_POLICY_NONE, SPECTATOR_POLICY_UNLISTED or SPECTATOR_POLICY_PUBLIC");
            SpectatorPolicy::None
        }
    };
    if delay_plies > MAX_DELAY_PLIES {
        fields.fault("spectators.delay_plies", format_args!("at most {MAX_DELAY_PLIES}"));
    }
    Spectators { policy, delay_plies }
}

impl SessionHandlers {
    pub(super) async fn claim(
        &self,
        caller: Caller,
        request: proto::ClaimSeatRequest,
    ) -> Result<Response<proto::ClaimSeatResponse>, Status> {
        let proto::ClaimSeatRequest { session_id, seat, join_code, player, display_name, expected_version, request_id } = request;
        if join_code.is_empty() && caller == Caller::Anonymous {
            return Err(Refused::plain(Reason::TokenMissing).into_status());
        }
        let mut fields = Fields::new();
        let code = (!join_code.is_empty()).then(|| fields.take("join_code", read_join_code(&join_code).ok_or(CODE)));
        let seat = match code {
            Some(_) => fields.take("seat", seat_in(seat)).flatten(),
            None => seat_that_must_be_given(&mut fields, "seat", seat),
        };
        let player = player_in(&mut fields, "", player, display_name);
        let change = change(&mut fields, session_id, expected_version, request_id);
        let change = fields.done(Some(change))?;
        note(&change.session_id);
        let id = change.session_id.clone();
        let (credential, by) = match (code.flatten(), seat, &caller) {
            (Some(hash), seat, _) => (Credential::JoinCode { seat, hash }, Claimant::JoinCode(hash)),
            (None, Some(seat), Caller::Trusted(_)) => (Credential::Trusted, Claimant::Trusted(seat)),
            (None, ..) => return Err(self.join_code_wrong(&caller, &id).await),
        };
        let given = match self.give(change.with(credential), |token| SeatCommand::Claim { by, player, token }).await {
            Err(ServiceError::NotAdmitted) => return Err(self.join_code_wrong(&caller, &id).await),
            given => given?,
        };
        let Given { version, seat, token, replayed, time: server_time } = given;
        Ok(Response::new(proto::ClaimSeatResponse { version, seat: seat_out(seat), token, replayed, server_time }))
    }

    /// Whoever may not see the session must not learn from a wrong code that there is one.
    async fn join_code_wrong(&self, caller: &Caller, session_id: &str) -> Status {
        let seen = self.sight(caller, session_id).await;
        seen.err().unwrap_or_else(|| Refused::plain(Reason::JoinCodeWrong).into_status())
    }

    pub(super) async fn rotate(
        &self,
        caller: Caller,
        request: proto::RotateSeatTokenRequest,
    ) -> Result<Response<proto::RotateSeatTokenResponse>, Status> {
        let proto::RotateSeatTokenRequest { session_id, seat, expected_version, request_id } = request;
        let mut fields = Fields::new();
        let seat = own_or_given(&mut fields, &caller, seat);
        let change = change(&mut fields, session_id, expected_version, request_id);
        let change = fields.done(Some(change))?;
        let (target, seat) = self.act_as(&caller, change, seat).await?;
        let seat = seat.expect("whoever has no seat must name one");
        let Given { version, token, replayed, time: server_time, .. } =
            self.give(target, |token| SeatCommand::Rotate { seat, token }).await?;
        Ok(Response::new(proto::RotateSeatTokenResponse { version, token, replayed, server_time }))
    }

    pub(super) async fn revoke(
        &self,
        caller: Caller,
        request: proto::RevokeSeatTokenRequest,
    ) -> Result<Response<proto::RevokeSeatTokenResponse>, Status> {
        let proto::RevokeSeatTokenRequest { session_id, seat, expected_version, request_id } = request;
        let mut fields = Fields::new();
        let seat = own_or_given(&mut fields, &caller, seat);
        let change = change(&mut fields, session_id, expected_version, request_id);
        let change = fields.done(Some(change))?;
        let (target, seat) = self.act_as(&caller, change, seat).await?;
        let seat = seat.expect("whoever has no seat must name one");
        let command = Command::Seat(SeatCommand::Revoke { seat });
        let applied = self.sessions.apply(target, command, false, |session| After::of(session, false)).await?;
        let After { version, time: server_time, .. } = applied.after;
        Ok(Response::new(proto::RevokeSeatTokenResponse { version, replayed: applied.replayed, server_time }))
    }

    /// Gives a seat a new token.
    async fn give(&self, target: Target, command: impl FnOnce(SecretHash) -> SeatCommand) -> Result<Given, ServiceError> {
        let secret = Secret::new_token();
        let session_id = target.session_id.clone();
        let command = Command::Seat(command(secret.hash()));
        let applied = self.sessions.apply(target, command, false, |session| After::of(session, false)).await?;
        let seat = applied.events.iter().find_map(|event| match event {
            Event::SeatClaimed { seat, .. } | Event::TokenRotated { seat, .. } => Some(*seat),
            _ => None,
        });
        let seat = seat.expect("what gives a token brings about its event");
        // The token of an answer that was given before is another one, and forgotten.
        let token = if applied.replayed { String::new() } else { secret.seat_token(&session_id, seat) };
        let After { version, time, .. } = applied.after;
        Ok(Given { version, seat, token, replayed: applied.replayed, time })
    }
}

/// A token that a seat was given.
struct Given {
    version: u32,
    seat: Seat,
    token: String,
    replayed: bool,
    time: Option<Timestamp>,
}

/// A seat that a trusted caller must name and the bearer of a seat's token may leave out.
fn own_or_given(fields: &mut Fields, caller: &Caller, seat: i32) -> Option<Seat> {
    match caller {
        Caller::Seat { .. } => fields.take("seat", seat_in(seat)).flatten(),
        Caller::Trusted(_) | Caller::Anonymous => seat_that_must_be_given(fields, "seat", seat),
    }
}
