//! Proposals and their answers.

use super::{Cause, Event, MatchResult, Proposal, ProposalKind, Rejection, Session};
use crate::game::Seat;
use sha2::{Digest, Sha256};

impl Session {
    pub(super) fn propose(
        &self,
        seat: Option<Seat>,
        kind: ProposalKind,
        to_version: Option<u32>,
    ) -> Result<Vec<Event>, Rejection> {
        let seat = seat.unwrap_or(self.position().to_act());
        if let (Some(result), false) = (self.result(), kind == ProposalKind::Rematch) {
            return Err(Rejection::SessionOver { cause: result.cause.name() });
        }
        if let Some(open) = self.proposals().of(kind) {
            return Err(Rejection::ProposalOpen { kind, by: open.by });
        }
        if self.proposals().was_made(seat, kind) {
            return Err(Rejection::ProposalTooSoon { kind, seat });
        }
        match self.obstacle(kind, to_version) {
            Some(why) => Err(Rejection::ProposalImpossible { kind, why }),
            None => Ok(vec![Event::Proposed { seat, kind, to_version }]),
        }
    }

    /// Why this can't be agreed on now, if it can't.
    fn obstacle(&self, kind: ProposalKind, to_version: Option<u32>) -> Option<&'static str> {
        match kind {
            ProposalKind::Takeback => match to_version {
                None => Some("a takeback names the version to go back to"),
                Some(version) if self.plies_at(version).is_some_and(|plies| plies < self.record().moves().len()) => None,
                Some(_) => Some("the version must be the round's first or that of a move which still stands, and not the last"),
            },
            _ if to_version.is_some() => Some("only a takeback names a version"),
            ProposalKind::EndMatch if self.rounds() == 1 => Some("the session has one round; propose a draw or an abort"),
            ProposalKind::Rematch if self.result().is_none() => Some("the session has not ended yet"),
            ProposalKind::Rematch if self.next_session_id().is_some() => Some("there is a rematch already"),
            ProposalKind::Draw | ProposalKind::Abort | ProposalKind::EndMatch | ProposalKind::Rematch => None,
        }
    }

    pub(super) fn answer(&self, seat: Option<Seat>, kind: ProposalKind, accept: bool) -> Result<Vec<Event>, Rejection> {
        let proposal = self.open_proposal(kind)?;
        let seat = seat.unwrap_or(proposal.by.other());
        if seat == proposal.by {
            return Err(Rejection::ProposalOfOther { kind, by: proposal.by });
        }
        let mut events = vec![Event::Answered { seat, kind, accept }];
        if accept {
            events.extend(self.agreed(proposal));
        }
        Ok(events)
    }

    /// What an agreement brings about.
    fn agreed(&self, proposal: Proposal) -> Vec<Event> {
        match proposal.kind {
            ProposalKind::Draw => self.after_round(self.position(), MatchResult::agreed_draw(self.position())),
            ProposalKind::Takeback => {
                let to_version = proposal.to_version.unwrap_or(self.round_version());
                let mut record = self.record().clone();
                record.take_back_to(self.plies_at(to_version).unwrap_or_default());
                vec![Event::TakenBack { to_version, position: record.position().to_string() }]
            }
            ProposalKind::Abort => {
                let single = MatchResult { cause: Cause::Abort, ..MatchResult::agreed_draw(self.position()) };
                let result = if self.rounds() == 1 { single } else { self.standing(Cause::Abort) };
                vec![Event::Ended { result: MatchResult { winner: None, ..result } }]
            }
            ProposalKind::EndMatch => vec![Event::Ended { result: self.standing(Cause::Agreement) }],
            ProposalKind::Rematch => vec![Event::RematchMade { session_id: self.rematch_id() }],
        }
    }

    pub(super) fn withdraw(&self, seat: Option<Seat>, kind: ProposalKind) -> Result<Vec<Event>, Rejection> {
        let proposal = self.open_proposal(kind)?;
        let seat = seat.unwrap_or(proposal.by);
        if seat == proposal.by {
            Ok(vec![Event::Withdrawn { seat, kind }])
        } else {
            Err(Rejection::ProposalOfOther { kind, by: proposal.by })
        }
    }

    fn open_proposal(&self, kind: ProposalKind) -> Result<Proposal, Rejection> {
        self.proposals().of(kind).copied().ok_or(Rejection::ProposalNotFound { kind })
    }

    /// The id of this session's rematch. It follows from the session, so that however often a rematch is made, it is one.
    #[must_use]
    pub fn rematch_id(&self) -> String {
        let digest = Sha256::digest(format!("rematch of {}", self.id()));
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}
