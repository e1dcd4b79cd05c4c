//! How events change a session.

use super::{Divergence, Event, Micros, Proposal, Session};
use crate::game::observer::Observer;
use crate::game::{Game, Position, Record, Rules, SetUp};
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl Session {
    /// Takes in the next event; `observer` sees the steps of its move, if it is one.
    ///
    /// # Errors
    /// When it does not follow; the session must not be used any more then.
    pub fn evolve(&mut self, event: &Event, time: Micros, observer: &mut impl Observer) -> Result<(), Divergence> {
        let version = self.version + 1;
        self.take_in(event, version, time, observer).map_err(|why| Divergence { version, why })?;
        self.version = version;
        self.updated = time;
        // Whatever else happens to a session that was to expire keeps it.
        self.expires = if let Event::Expiring { at } = event { Some(*at) } else { None };
        Ok(())
    }

    fn take_in(&mut self, event: &Event, version: u32, time: Micros, observer: &mut impl Observer) -> Result<(), &'static str> {
        match event {
            Event::Created(_) => return Err("a second creation"),
            Event::MovePlayed { seat, mv, position, captured, endless } => {
                require(self.result.is_none(), "a move after the end")?;
                require(*seat == self.position().to_act(), "a move out of turn")?;
                let ply = self.record.play(*mv, observer).map_err(|_| "a move that the rules forbid")?;
                require(ply.captured == *captured && ply.endless == *endless, "a move that does something else")?;
                self.come_to(position, "a move that leads elsewhere")?;
                self.move_versions.push(version);
                if self.spectators.delay_plies > 0 {
                    self.ply_versions.push(version);
                }
                self.proposals.move_on();
                if let Some(clock) = &mut self.clock {
                    clock.press(*seat, time);
                }
            }
            Event::Resigned { .. } => require(self.result.is_none(), "a resignation after the end")?,
            Event::TimedOut { seat, deadline } => {
                require(self.deadline() == Some(*deadline), "a time that is not out")?;
                require(*seat == self.position().to_act(), "a time that is not out")?;
            }
            Event::RoundEnded { round, result } => {
                require(*round == self.round && self.round_results.len() as u32 + 1 == *round, "the end of another round")?;
                self.points = self.points_after(result);
                self.round_results.push(*result);
            }
            Event::RoundStarted { round, position } => {
                require(*round == self.round + 1 && self.round_results.len() as u32 == self.round, "the start of another round")?;
                let start = read_position(self.rules(), position)?;
                self.record = Record::new(*self.rules(), self.guards(), start);
                self.position_text = start.to_string();
                self.round = *round;
                self.round_version = version;
                self.move_versions.clear();
                self.proposals.move_on();
                if let Some(clock) = &mut self.clock {
                    clock.new_round(time);
                }
            }
            Event::Ended { result } => {
                require(self.result.is_none(), "a second end")?;
                self.result = Some(*result);
                self.proposals.move_on();
            }
            Event::Proposed { seat, kind, to_version } => {
                require(self.proposals.of(*kind).is_none(), "a second proposal of a kind")?;
                self.proposals.add(Proposal { kind: *kind, by: *seat, version, to_version: *to_version });
            }
            Event::Answered { kind, .. } | Event::Withdrawn { kind, .. } => {
                require(self.proposals.of(*kind).is_some(), "the answer to no proposal")?;
                self.proposals.close(*kind);
            }
            Event::TakenBack { to_version, position } => {
                let plies = self.plies_at(*to_version).ok_or("a takeback to a version that is no move")?;
                let acting = self.position().to_act();
                self.record.take_back_to(plies);
                self.move_versions.truncate(plies);
                self.come_to(position, "a takeback that leads elsewhere")?;
                self.proposals.move_on();
                if let Some(clock) = &mut self.clock {
                    clock.take_back(acting, time);
                }
            }
            Event::SeatClaimed { .. } | Event::TokenRotated { .. } | Event::TokenRevoked { .. } => {
                require(self.seats.evolve(event), "a change of a seat that can't be")?;
            }
            Event::RematchMade { session_id } => {
                require(self.result.is_some(), "a rematch before the end")?;
                self.next_session_id = Some(session_id.clone());
            }
            Event::Expiring { .. } => {}
        }
        Ok(())
    }

    /// Takes note of the position as text, which must be this one.
    fn come_to(&mut self, position: &str, otherwise: &'static str) -> Result<(), &'static str> {
        // In the room of the one before: there is one with every move.
        self.position_text.clear();
        write!(self.position_text, "{}", self.record.position()).expect("a string takes all");
        require(self.position_text == position, otherwise)
    }
}

fn require(so: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if so { Ok(()) } else { Err(otherwise) }
}

/// A stored position.
pub(super) fn read_position(rules: &Rules, text: &str) -> Result<Position, &'static str> {
    let set_up: SetUp = text.parse().map_err(|_| "unreadable position")?;
    set_up.position(rules).map_err(|_| "unplayable position")
}

/// Stored rules.
pub(super) fn read_rules(game: &str, options: &BTreeMap<String, String>) -> Result<Rules, &'static str> {
    let game = Game::from_id(game).ok_or("unknown game")?;
    let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Rules::with_options(game, options).map_err(|_| "unknown option")
}
