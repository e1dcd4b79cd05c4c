//! A game in play: a position with its history, and the guards that end games which go nowhere.

use super::observer::Observer;
use super::occurrences::Occurrences;
use super::rules::with_variant;
use super::variant::{Ply, Variant};
use super::{EndReason, Game, IllegalMove, Move, Position, Rules};

/// When a game that goes nowhere is ended; 0: never. See [the ruling](super#games-that-go-nowhere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guards {
    /// The same position occurs this often.
    pub repetition: u32,
    /// So many plies in a row, answers not counted, without a capture.
    pub quiet: u32,
    /// The game has had this many plies.
    pub max_plies: u32,
}

impl Guards {
    /// No guard.
    pub const OFF: Guards = Guards { repetition: 0, quiet: 0, max_plies: 0 };

    /// The guards that a game has unless others are chosen.
    #[must_use]
    pub const fn of(game: Game) -> Guards {
        let quiet = match game {
            Game::Hoyito3 => 400,
            Game::AliGuliMane | Game::Ayoayo | Game::Gore | Game::Kiothi => 200,
        };
        Guards { repetition: 3, quiet, max_plies: 2_000 }
    }
}

/// A game in play.
#[derive(Debug, Clone)]
pub struct Record {
    rules: Rules,
    guards: Guards,
    start: Position,
    position: Position,
    moves: Vec<Move>,
    quiet: u32,
    seen: Occurrences,
}

impl Record {
    /// A game that begins at a position.
    ///
    /// # Panics
    /// When the position is of another game than the rules.
    #[must_use]
    pub fn new(rules: Rules, guards: Guards, start: Position) -> Record {
        assert_eq!(rules.game(), start.game(), "rules and position are of the same game");
        let mut record =
            Record { rules, guards, start, position: start, moves: Vec::new(), quiet: 0, seen: Occurrences::default() };
        record.restart();
        record
    }

    /// Goes back to the beginning, keeping what memory it has.
    pub fn restart(&mut self) {
        self.position = self.start;
        self.moves.clear();
        self.quiet = 0;
        self.seen.clear();
        self.seen.count(&self.start);
    }

    /// The rules that it is played by.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The guards in force.
    #[must_use]
    pub const fn guards(&self) -> Guards {
        self.guards
    }

    /// Where it began.
    #[must_use]
    pub const fn start(&self) -> &Position {
        &self.start
    }

    /// Where it stands.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The moves so far.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Plays a move, and ends the game if a rule or a guard says so.
    ///
    /// # Errors
    /// Why the move is not legal; nothing has changed then.
    pub fn play(&mut self, mv: Move, observer: &mut impl Observer) -> Result<Ply, IllegalMove> {
        let mv = self.rules.check(&self.position, mv)?.mv();
        let ply = with_variant!(self.rules, variant => self.advance(&variant, mv, observer));
        Ok(ply)
    }

    /// What a move would lead to, guards included.
    ///
    /// # Errors
    /// Why the move is not legal.
    pub fn preview(&self, mv: Move, observer: &mut impl Observer) -> Result<Ahead, IllegalMove> {
        let legal = self.rules.check(&self.position, mv)?;
        let (mut position, ply) = legal.play(observer);
        let mv = legal.mv();
        let is_new = ply.captured > 0 && self.rules.captures_are_final();
        let times = if is_new { 1 } else { self.seen.times(&position) + 1 };
        if !position.is_over()
            && let Some(reason) = self.guard(times, self.quiet_after(mv, ply), self.moves.len() as u32 + 1)
        {
            self.rules.finish(&mut position, reason, observer);
        }
        Ok(Ahead { mv, position, ply })
    }

    /// Takes the last moves back, so that only the first `plies` remain.
    pub fn take_back_to(&mut self, plies: usize) {
        let moves = std::mem::take(&mut self.moves);
        self.restart();
        for mv in moves.into_iter().take(plies) {
            self.play(mv, &mut ()).expect("a move that was played is legal");
        }
    }

    /// Plays a legal move by the rules of the record's game.
    #[inline(always)]
    pub(super) fn advance<V: Variant>(&mut self, variant: &V, mv: Move, observer: &mut impl Observer) -> Ply {
        let ply = variant.play(&mut self.position, mv, observer);
        self.moves.push(mv);
        self.quiet = self.quiet_after(mv, ply);
        if ply.captured > 0 && V::CAPTURES_ARE_FINAL {
            self.seen.forget();
        }
        if !self.position.is_over() {
            let times = if self.guards.repetition > 0 { self.seen.count(&self.position) } else { 0 };
            if let Some(reason) = self.guard(times, self.quiet, self.moves.len() as u32) {
                variant.finish(&mut self.position, reason, observer);
            }
        }
        ply
    }

    fn quiet_after(&self, mv: Move, ply: Ply) -> u32 {
        match mv {
            _ if ply.captured > 0 => 0,
            Move::Answer { .. } => self.quiet,
            _ => self.quiet + 1,
        }
    }

    /// The guard that ends the game: after so many occurrences of the position, quiet plies, and plies.
    #[inline(always)]
    fn guard(&self, times: u32, quiet: u32, plies: u32) -> Option<EndReason> {
        let reached = |limit: u32, count: u32| limit > 0 && count >= limit;
        if reached(self.guards.repetition, times) {
            Some(EndReason::Repetition)
        } else if reached(self.guards.quiet, quiet) {
            Some(EndReason::Quiet)
        } else if reached(self.guards.max_plies, plies) {
            Some(EndReason::MaxPlies)
        } else {
            None
        }
    }
}

/// Where a move leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// The move in its canonical form.
    pub mv: Move,
    /// The position after it.
    pub position: Position,
    /// What else it does.
    pub ply: Ply,
}
