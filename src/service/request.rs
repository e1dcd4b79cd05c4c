//! Repeated requests: how they are recognised.

use crate::game::Seat;
use crate::session::{Claimant, Command, Player, SeatCommand};
use crate::store::Request;
use sha2::{Digest, Sha256};
use std::fmt::{Display, Write as _};

/// A caller's id of a request, if it gave one.
pub type RequestId = Option<String>;

/// Digest of a request's content. Each part goes in with its length, so that parts can't run into each other.
pub(super) fn digest(parts: &[&dyn Display]) -> [u8; 32] {
    let mut sha = Sha256::new();
    let mut text = String::new();
    for part in parts {
        text.clear();
        write!(text, "{part}").expect("a string takes all");
        sha.update((text.len() as u64).to_le_bytes());
        sha.update(&text);
    }
    sha.finalize().into()
}

/// The request to be stored with what it causes.
pub(super) fn request(id: &RequestId, digest: impl FnOnce() -> [u8; 32]) -> Option<Request> {
    id.as_ref().map(|id| Request { id: id.clone(), digest: digest() })
}

/// What is the same in two requests for the same thing. Views (whether steps are wanted) are not part of it.
pub(super) fn command_digest(command: &Command, expected_version: Option<u32>) -> [u8; 32] {
    let by = |seat: &Option<Seat>| seat.map_or("-".to_owned(), |seat| seat.to_string());
    let at = |version: &Option<u32>| version.map_or("-".to_owned(), |version| version.to_string());
    let version = at(&expected_version);
    match command {
        Command::Play { seat, mv } => digest(&[&"play", &by(seat), mv, &version]),
        Command::Resign { seat, whole_match } => digest(&[&"resign", &by(seat), whole_match, &version]),
        Command::Propose { seat, kind, to_version } => digest(&[&"propose", &by(seat), &kind.name(), &at(to_version), &version]),
        Command::Answer { seat, kind, accept } => digest(&[&"answer", &by(seat), &kind.name(), accept, &version]),
        Command::Withdraw { seat, kind } => digest(&[&"withdraw", &by(seat), &kind.name(), &version]),
        Command::ClaimTimeout => digest(&[&"claim_timeout", &version]),
        Command::Seat(command) => seat_digest(command, &version),
    }
}

/// Without the new token, which is another one every time.
fn seat_digest(command: &SeatCommand, version: &str) -> [u8; 32] {
    match command {
        SeatCommand::Claim { by, player: Player { reference, display_name }, token: _ } => match by {
            Claimant::Trusted(seat) => digest(&[&"claim", seat, reference, display_name, &version]),
            Claimant::JoinCode(code) => digest(&[&"claim by code", code, reference, display_name, &version]),
        },
        SeatCommand::Rotate { seat, token: _ } => digest(&[&"rotate", seat, &version]),
        SeatCommand::Revoke { seat } => digest(&[&"revoke", seat, &version]),
    }
}
