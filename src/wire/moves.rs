//! ApplyMove, as a call and as commands in a row.

use super::SessionHandlers;
use super::access::Caller;
use super::convert::{move_in, seat_in, steps};
use super::fields::Fields;
use super::proto;
use super::session_answer::{After, ends, next_round, played};
use super::session_service::change;
use super::sight::Change;
use crate::game::{Move, Seat};
use crate::service::{Applied, Asked};
use crate::session::{Command, Session};
use tonic::Status;

/// What an answer shows of the session after the move.
type Look = fn(&Session) -> After;

/// A request that is well formed but not yet allowed.
pub struct MoveRequest {
    pub change: Change,
    seat: Option<Seat>,
    mv: Move,
    include_position: bool,
    include_steps: bool,
}

/// What a request asks for.
///
/// # Errors
/// All its faults.
pub fn read(request: proto::ApplyMoveRequest) -> Result<MoveRequest, Status> {
    let proto::ApplyMoveRequest { session_id, r#move, seat, expected_version, request_id, include_position, include_steps } =
        request;
    let mut fields = Fields::new();
    let seat = fields.take("seat", seat_in(seat));
    let mv = move_in(&mut fields, r#move);
    let change = change(&mut fields, session_id, expected_version, request_id);
    let (seat, mv) = fields.done(seat.zip(mv))?;
    Ok(MoveRequest { change, seat, mv, include_position, include_steps })
}

/// The answer to a move that was played.
pub fn answer(applied: Applied<After>) -> proto::ApplyMoveResponse {
    let (captured, endless) = played(&applied.events);
    let (round_result, match_result) = ends(&applied.events);
    proto::ApplyMoveResponse {
        version: applied.after.version,
        position: applied.after.position,
        to_act: applied.after.to_act,
        captured,
        endless,
        round_result,
        match_result,
        replayed: applied.replayed,
        full_position: applied.after.full_position,
        steps: steps(&applied.steps),
        server_time: applied.after.time,
        clock: applied.after.clock,
        next_round: next_round(&applied.events),
    }
}

impl SessionHandlers {
    /// The command that a caller asks for.
    ///
    /// # Errors
    /// When it may not act for that seat.
    pub async fn asked_by(&self, caller: &Caller, request: MoveRequest) -> Result<Asked<Look>, Status> {
        let MoveRequest { change, seat, mv, include_position, include_steps: want_steps } = request;
        let (target, seat) = self.act_as(caller, change, seat).await?;
        let look: Look = if include_position { |session| After::of(session, true) } else { |session| After::of(session, false) };
        Ok(Asked { target, command: Command::Play { seat, mv }, want_steps, look })
    }

    /// Plays moves on one session, one after the other, and answers each as the call does. Those that are refused already stay so.
    pub async fn apply_moves(
        &self,
        caller: &Caller,
        requests: impl ExactSizeIterator<Item = Result<proto::ApplyMoveRequest, Status>>,
    ) -> impl Iterator<Item = Result<proto::ApplyMoveResponse, Status>> {
        let (mut refusals, mut row) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
        for request in requests {
            let asked = match request.and_then(read) {
                Ok(request) => self.asked_by(caller, request).await,
                Err(status) => Err(status),
            };
            refusals.push(asked.map(|asked| row.push(asked)));
        }
        let mut outcomes = self.sessions.apply_row(row).await.into_iter();
        let mut next = move || Ok(answer(outcomes.next().expect("an outcome for each that was asked for")?));
        refusals.into_iter().map(move |refusal| refusal.and_then(|()| next()))
    }
}
