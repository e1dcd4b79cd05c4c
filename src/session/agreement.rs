//! Agreements: what one seat proposes and the other answers.

use crate::game::{BySeat, Seat};
use serde::{Deserialize, Serialize};

/// What can be agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// The round is a draw.
    Draw,
    /// The round goes back to an earlier version.
    Takeback,
    /// The session ends without a result.
    Abort,
    /// The match ends with the points that there are.
    EndMatch,
    /// After the end: a new session with the seats swapped.
    Rematch,
}

impl ProposalKind {
    /// All of them.
    pub const ALL: [ProposalKind; 5] =
        [ProposalKind::Draw, ProposalKind::Takeback, ProposalKind::Abort, ProposalKind::EndMatch, ProposalKind::Rematch];

    /// Its name in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ProposalKind::Draw => "draw",
            ProposalKind::Takeback => "takeback",
            ProposalKind::Abort => "abort",
            ProposalKind::EndMatch => "end_match",
            ProposalKind::Rematch => "rematch",
        }
    }
}

/// A proposal that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// What is proposed.
    pub kind: ProposalKind,
    /// By whom.
    #[serde(with = "super::event::seat")]
    pub by: Seat,
    /// The session's version with the proposal.
    pub version: u32,
    /// Takeback: to which version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_version: Option<u32>,
}

/// The open proposals of a session, at most one of a kind, and what was proposed since the game last moved on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposals {
    open: Vec<Proposal>,
    /// Kinds that each seat has proposed since the last move: each may be proposed once.
    made: BySeat<Vec<ProposalKind>>,
}

impl Proposals {
    /// Those that wait for an answer.
    #[must_use]
    pub fn open(&self) -> &[Proposal] {
        &self.open
    }

    /// The open one of a kind.
    #[must_use]
    pub fn of(&self, kind: ProposalKind) -> Option<&Proposal> {
        self.open.iter().find(|proposal| proposal.kind == kind)
    }

    /// Whether a seat has proposed this since the last move.
    #[must_use]
    pub fn was_made(&self, seat: Seat, kind: ProposalKind) -> bool {
        self.made[seat].contains(&kind)
    }

    pub(super) fn add(&mut self, proposal: Proposal) {
        self.made[proposal.by].push(proposal.kind);
        self.open.push(proposal);
    }

    pub(super) fn close(&mut self, kind: ProposalKind) {
        self.open.retain(|proposal| proposal.kind != kind);
    }

    /// The game has moved on: what was open is void, and everything may be proposed again.
    pub(super) fn move_on(&mut self) {
        *self = Proposals::default();
    }
}
