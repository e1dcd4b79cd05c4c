//! What came of many games: counts, and their two ways to be printed.

use crate::game::{EndReason, Game, Outcome};
use serde_json::{Value, json};
use std::fmt::Write;

/// Counts over games. The texts depend on nothing else, so that equal games give equal texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    games: u64,
    /// By South, by North.
    wins: [u64; 2],
    /// In the order of [`EndReason::ALL`].
    ends: [u64; EndReason::ALL.len()],
    plies: u64,
    least_plies: u32,
    most_plies: u32,
    /// Sowings that were endless and therefore void.
    pub endless_sowings: u64,
}

impl Tally {
    /// Counts a game that has ended.
    pub fn add(&mut self, outcome: Outcome, plies: u32) {
        self.least_plies = if self.games == 0 { plies } else { self.least_plies.min(plies) };
        self.most_plies = self.most_plies.max(plies);
        self.plies += u64::from(plies);
        self.games += 1;
        if let Some(seat) = outcome.winner {
            self.wins[seat as usize] += 1;
        }
        for (count, reason) in self.ends.iter_mut().zip(EndReason::ALL) {
            *count += u64::from(reason == outcome.reason);
        }
    }

    /// Plies of all games.
    #[must_use]
    pub fn plies(&self) -> u64 {
        self.plies
    }

    fn draws(&self) -> u64 {
        self.games - self.wins[0] - self.wins[1]
    }

    fn mean_plies(&self) -> f64 {
        self.plies as f64 / self.games as f64
    }

    /// How games ended, those ends left out that none had.
    fn met_ends(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EndReason::ALL.iter().map(|reason| reason.name()).zip(self.ends).filter(|(_, count)| *count > 0)
    }

    /// For people.
    #[must_use]
    pub fn text(&self, game: Game, seed: u64) -> String {
        let mut text = format!("{}: {} games, seed {seed}\n", game.title(), self.games);
        let results = [("South wins", self.wins[0]), ("North wins", self.wins[1]), ("draws", self.draws())];
        for (name, count) in results.into_iter().chain(self.met_ends()) {
            let share = 100.0 * count as f64 / self.games as f64;
            writeln!(text, "  {name:<16}{count:>11} {share:>6.2} %").expect("a string takes all");
        }
        writeln!(text, "  plies: mean {:.1}, least {}, most {}", self.mean_plies(), self.least_plies, self.most_plies)
            .expect("a string takes all");
        writeln!(text, "  endless sowings: {}", self.endless_sowings).expect("a string takes all");
        text
    }

    /// For programs.
    #[must_use]
    pub fn json(&self, game: Game, seed: u64) -> Value {
        json!({
            "game": game.id(),
            "games": self.games,
            "seed": seed,
            "south_wins": self.wins[0],
            "north_wins": self.wins[1],
            "draws": self.draws(),
            "ends": self.met_ends().collect::<std::collections::BTreeMap<_, _>>(),
            "plies": { "total": self.plies, "mean": self.mean_plies(), "least": self.least_plies, "most": self.most_plies },
            "endless_sowings": self.endless_sowings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{BySeat, Seat};

    #[test]
    fn games_are_counted() {
        let outcome = |winner, reason| Outcome { winner, reason, banks: BySeat::new(1, 2), without_glory: false };
        let mut tally = Tally::default();
        tally.add(outcome(Some(Seat::North), EndReason::FinalFour), 30);
        tally.add(outcome(Some(Seat::North), EndReason::Quiet), 20);
        tally.add(outcome(Some(Seat::South), EndReason::FinalFour), 25);
        tally.add(outcome(None, EndReason::FinalFour), 26);
        tally.endless_sowings = 3;
        assert_eq!(
            tally.text(Game::Hoyito3, 5),
            "Hoyito III: 4 games, seed 5\n\
             \x20 South wins                1  25.00 %\n\
             \x20 North wins                2  50.00 %\n\
             \x20 draws                     1  25.00 %\n\
             \x20 final_four                3  75.00 %\n\
             \x20 quiet                     1  25.00 %\n\
             \x20 plies: mean 25.2, least 20, most 30\n\
             \x20 endless sowings: 3\n"
        );
        let json = tally.json(Game::Hoyito3, 5);
        assert_eq!((&json["draws"], &json["ends"]["final_four"], &json["plies"]["mean"]), (&json!(1), &json!(3), &json!(25.25)));
    }
}
