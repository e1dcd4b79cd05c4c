//! Who holds the seats, and by what secrets they are recognised.

use super::text::{PLAIN, is_plain};
use super::{Event, Rejection, SecretHash, Session};
use crate::game::{BySeat, Seat};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most bytes of a reference or a display name.
pub const MAX_NAME_BYTES: usize = 64;

/// A reference or a display name that can't be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("at most {MAX_NAME_BYTES} bytes of text {PLAIN}")]
pub struct NameFault;

/// Checks a player's reference or display name: at most [`MAX_NAME_BYTES`] bytes of plain text. It may be empty.
///
/// # Errors
/// When it is not well formed.
pub fn check_name(name: &str) -> Result<(), NameFault> {
    if name.len() <= MAX_NAME_BYTES && is_plain(name) { Ok(()) } else { Err(NameFault) }
}

/// Who plays. Both texts are the caller's own and mean nothing here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Player {
    /// What the caller knows the player by; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// What to call the player; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
}

/// How a seat is set up when its session is made. A seat with a join code is free to be claimed; any other is the player's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeatStart {
    /// Which seat.
    #[serde(with = "super::event::seat")]
    pub seat: Seat,
    /// Who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<Player>,
    /// Its token, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretHash>,
    /// Its join code, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join_code: Option<SecretHash>,
}

/// A seat as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    player: Option<Player>,
    token: Option<SecretHash>,
    join_code: Option<SecretHash>,
    revoked: bool,
}

impl Held {
    /// Who holds the seat; nobody as long as it is not claimed.
    #[must_use]
    pub const fn player(&self) -> Option<&Player> {
        self.player.as_ref()
    }

    /// Whether its join code waits for somebody.
    #[must_use]
    pub const fn is_joinable(&self) -> bool {
        self.join_code.is_some() && self.player.is_none()
    }

    /// Whether it has a token that is in force.
    #[must_use]
    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }
}

/// What a caller shows before it may change a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Nothing: the caller is known and may do everything.
    Trusted,
    /// A seat's token.
    Token {
        /// The seat.
        seat: Seat,
        /// Of the token.
        hash: SecretHash,
    },
    /// The join code of a seat.
    JoinCode {
        /// The seat that it must be of; `None`: whichever it is of.
        seat: Option<Seat>,
        /// Of the code.
        hash: SecretHash,
    },
}

/// Something that somebody wants to happen to a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeatCommand {
    /// Take it.
    Claim {
        /// By what right: with a join code the seat follows from it.
        by: Claimant,
        /// Who takes it.
        player: Player,
        /// The new token.
        token: SecretHash,
    },
    /// Put a new token in place of the old one.
    Rotate {
        /// The seat.
        seat: Seat,
        /// The new token.
        token: SecretHash,
    },
    /// Make its token and its join code void.
    Revoke {
        /// The seat.
        seat: Seat,
    },
}

/// By what right a seat is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimant {
    /// A trusted caller names the seat.
    Trusted(Seat),
    /// The bearer of a join code.
    JoinCode(SecretHash),
}

/// Both seats as they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seats(BySeat<Held>);

impl Seats {
    /// As they are set up.
    pub(super) fn new(starts: &[SeatStart]) -> Seats {
        let mut seats = Seats::default();
        for SeatStart { seat, player, token, join_code } in starts {
            let held = Held { player: player.clone(), token: *token, join_code: *join_code, revoked: false };
            seats.0[*seat] = held;
        }
        seats
    }

    /// A seat.
    #[must_use]
    pub fn of(&self, seat: Seat) -> &Held {
        &self.0[seat]
    }

    /// Whether a credential is in force. A join code that was used goes on being recognised, so that the call that used it can be
    /// repeated.
    #[must_use]
    pub fn accept(&self, credential: &Credential) -> bool {
        match credential {
            Credential::Trusted => true,
            Credential::Token { seat, hash } => self.0[*seat].token.as_ref() == Some(hash),
            Credential::JoinCode { seat, hash } => self.by_join_code(hash).is_some_and(|of| seat.is_none_or(|seat| seat == of)),
        }
    }

    /// The same players, each in the other's seat, as a rematch begins. Tokens are each of one session: none is taken along.
    #[must_use]
    pub fn swapped(&self) -> Vec<SeatStart> {
        let seat_of = |seat: Seat| {
            let player = self.of(seat.other()).player().cloned()?;
            Some(SeatStart { seat, player: Some(player), token: None, join_code: None })
        };
        Seat::BOTH.into_iter().filter_map(seat_of).collect()
    }

    fn by_join_code(&self, hash: &SecretHash) -> Option<Seat> {
        Seat::BOTH.into_iter().find(|&seat| self.0[seat].join_code.as_ref() == Some(hash))
    }

    fn claim(&mut self, seat: Seat, player: Player, token: SecretHash) {
        let held = &mut self.0[seat];
        (held.player, held.token, held.revoked) = (Some(player), Some(token), false);
    }

    fn rotate(&mut self, seat: Seat, token: SecretHash) {
        (self.0[seat].token, self.0[seat].revoked) = (Some(token), false);
    }

    fn revoke(&mut self, seat: Seat) {
        let held = &mut self.0[seat];
        (held.token, held.join_code, held.revoked) = (None, None, true);
    }

    /// Takes an event of a seat in; false if it can't have happened.
    pub(super) fn evolve(&mut self, event: &Event) -> bool {
        match event {
            Event::SeatClaimed { seat, player, token } if self.may_claim(*seat, true) => {
                self.claim(*seat, player.clone(), *token);
            }
            Event::TokenRotated { seat, token } if self.0[*seat].player.is_some() => self.rotate(*seat, *token),
            Event::TokenRevoked { seat } if self.may_revoke(*seat) => self.revoke(*seat),
            _ => return false,
        }
        true
    }

    /// Once a seat is claimed, only a trusted caller can give it to somebody else, and only after it was revoked.
    fn may_claim(&self, seat: Seat, trusted: bool) -> bool {
        let held = &self.0[seat];
        if held.revoked { trusted } else { held.player.is_none() }
    }

    fn may_revoke(&self, seat: Seat) -> bool {
        self.0[seat].token.is_some() || self.0[seat].join_code.is_some()
    }
}

impl Session {
    /// The event that a command on a seat brings about. Whoever gives it has been checked by [`Seats::accept`].
    pub(super) fn decide_seat(&self, command: &SeatCommand) -> Result<Event, Rejection> {
        let seats = self.seats();
        match *command {
            SeatCommand::Claim { by, ref player, token } => {
                let (seat, trusted) = match by {
                    Claimant::Trusted(seat) => (seat, true),
                    Claimant::JoinCode(hash) => (seats.by_join_code(&hash).ok_or(Rejection::JoinCodeUnknown)?, false),
                };
                if let Some(result) = self.result() {
                    return Err(Rejection::SessionOver { cause: result.cause.name() });
                }
                if !seats.may_claim(seat, trusted) {
                    return Err(Rejection::SeatTaken { seat });
                }
                Ok(Event::SeatClaimed { seat, player: player.clone(), token })
            }
            SeatCommand::Rotate { seat, token } => match seats.of(seat).player {
                Some(_) => Ok(Event::TokenRotated { seat, token }),
                None => Err(Rejection::SeatUnclaimed { seat }),
            },
            SeatCommand::Revoke { seat } => {
                if seats.may_revoke(seat) {
                    Ok(Event::TokenRevoked { seat })
                } else {
                    Err(Rejection::NothingToRevoke { seat })
                }
            }
        }
    }
}
