//! Repeated requests: how they are recognised.

use crate::session::{Claimant, Command, Player, SeatCommand};
use crate::store::Request;
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::io::Write as _;

/// A caller's id of a request, if it gave one.
pub type RequestId = Option<String>;

/// Digest of a request's content. Each part goes in with its length, so that parts can't run into each other.
pub(super) fn digest(parts: &[&dyn Display]) -> [u8; 32] {
    const LENGTH: usize = size_of::<u64>();
    // All in one piece: a hash takes its time over each of several small ones. There is one with every move.
    let mut content = Vec::with_capacity(128);
    for part in parts {
        let start = content.len() + LENGTH;
        content.extend([0; LENGTH]);
        write!(content, "{part}").expect("memory takes all");
        let length = (content.len() - start) as u64;
        content[start - LENGTH..start].copy_from_slice(&length.to_le_bytes());
    }
    Sha256::digest(content).into()
}

/// The request to be stored with what it causes.
pub(super) fn request(id: &RequestId, digest: impl FnOnce() -> [u8; 32]) -> Option<Request> {
    id.as_ref().map(|id| Request { id: id.clone(), digest: digest() })
}

/// What is the same in two requests for the same thing. Views (whether steps are wanted) are not part of it.
pub(super) fn command_digest(command: &Command, expected_version: Option<u32>) -> [u8; 32] {
    let version = or_dash(&expected_version);
    match command {
        Command::Play { seat, mv } => digest(&[&"play", or_dash(seat), mv, version]),
        Command::Resign { seat, whole_match } => digest(&[&"resign", or_dash(seat), whole_match, version]),
        Command::Propose { seat, kind, to_version } => {
            digest(&[&"propose", or_dash(seat), &kind.name(), or_dash(to_version), version])
        }
        Command::Answer { seat, kind, accept } => digest(&[&"answer", or_dash(seat), &kind.name(), accept, version]),
        Command::Withdraw { seat, kind } => digest(&[&"withdraw", or_dash(seat), &kind.name(), version]),
        Command::ClaimTimeout => digest(&[&"claim_timeout", version]),
        Command::Seat(command) => seat_digest(command, version),
    }
}

fn or_dash<T: Display>(part: &Option<T>) -> &dyn Display {
    part.as_ref().map_or(&"-", |part| part)
}

/// Without the new token, which is another one every time.
fn seat_digest(command: &SeatCommand, version: &dyn Display) -> [u8; 32] {
    match command {
        SeatCommand::Claim { by, player: Player { reference, display_name }, token: _ } => match by {
            Claimant::Trusted(seat) => digest(&[&"claim", seat, reference, display_name, version]),
            Claimant::JoinCode(code) => digest(&[&"claim by code", code, reference, display_name, version]),
        },
        SeatCommand::Rotate { seat, token: _ } => digest(&[&"rotate", seat, version]),
        SeatCommand::Revoke { seat } => digest(&[&"revoke", seat, version]),
    }
}
