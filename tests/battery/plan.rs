//! What is drawn of a random schedule before it begins, and what came of it.

use crate::audit::Objection;
use crate::fault::{Counts, Fault};
use crate::faulty::Rates;
use crate::mutants::Mutant;
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is drawn before it begins.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub mutant: Option<Mutant>,
    /// Servers are called over the wire, and hear each other's hints. Then what happens follows from the seed only by and large.
    pub over_the_wire: bool,
    pub servers: usize,
    pub sessions: usize,
    pub clients: u32,
    pub calls: u32,
    pub watchers: usize,
    pub cached: usize,
    pub deletions: u64,
    pub rates: Rates,
    /// Kills, cuts from the store and jumps of clocks, one after the other.
    pub events: u32,
    /// What happens to what the servers stand on, one after the other.
    pub outages: u32,
    pub pause: Duration,
    /// A call that takes longer is given up, and its outcome is unknown.
    pub patience: Duration,
}

impl Plan {
    pub fn draw(seed: u64, mutant: Option<Mutant>) -> Plan {
        let mut dice = SeededDice::for_game(seed, 0);
        let mut below = |sides: u64| dice.below(sides);
        let rates = match below(4) {
            0 => Rates { before: 0, after: 0, late: 0, half_open: 0, slow: 100, flipped: 0 },
            1 => Rates { before: 10, after: 40, late: 40, half_open: 20, slow: 20, flipped: 40 },
            2 => Rates { before: 50, after: 20, late: 20, half_open: 10, slow: 100, flipped: 40 },
            _ => Rates { before: 5, after: 5, late: 5, half_open: 5, slow: 5, flipped: 40 },
        };
        Plan {
            seed,
            mutant,
            over_the_wire: false,
            servers: 2 + below(3) as usize,
            sessions: 1 + below(3) as usize,
            clients: 2 + below(4) as u32,
            calls: 15 + below(25) as u32,
            watchers: 1 + below(5) as usize,
            cached: [1, 2, 16][below(3) as usize],
            deletions: [0, 0, 2, 10][below(4) as usize],
            rates,
            events: below(12) as u32,
            outages: below(6) as u32,
            patience: Duration::from_millis(150),
            pause: Duration::from_micros([500, 5_000, 20_000][below(3) as usize]),
        }
    }
}

impl Plan {
    /// The same in real time, in which machines may be busy.
    pub fn over_the_wire(self) -> Plan {
        Plan { over_the_wire: true, patience: Duration::from_secs(1), pause: self.pause / 2, outages: 4 + self.outages, ..self }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Found {
    pub objections: Vec<(String, Objection)>,
    /// Sessions whose answers no order explains, and why.
    pub disorder: Vec<(String, String)>,
    pub tally: Tally,
    /// Digest of all that clients and watchers were told, and when.
    pub trace: String,
}

/// How much there was of it.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub calls: usize,
    pub acknowledged: usize,
    /// Acknowledged as what was asked for before.
    pub repeated: usize,
    pub refused: usize,
    pub unknown: usize,
    pub events: usize,
    pub watched: usize,
    /// Rounds that time has ended.
    pub timed_out: usize,
    pub faults: Counts,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        let Tally { calls, acknowledged, repeated, refused, unknown, events, watched, timed_out, faults } = other;
        self.calls += calls;
        self.acknowledged += acknowledged;
        self.repeated += repeated;
        self.refused += refused;
        self.unknown += unknown;
        self.events += events;
        self.watched += watched;
        self.timed_out += timed_out;
        for (fault, times) in faults {
            *self.faults.entry(*fault).or_default() += times;
        }
    }

    /// What there must be of everything in the end and is not yet: of these faults, too.
    pub fn missing(&self, faults: &[Fault]) -> Vec<String> {
        let Tally { calls: _, acknowledged, repeated, refused, unknown, events: _, watched, timed_out, faults: met } = self;
        let counts = [
            ("acknowledged", acknowledged),
            ("repeated", repeated),
            ("refused", refused),
            ("unknown", unknown),
            ("watched", watched),
            ("timed out", timed_out),
        ];
        let none = counts.into_iter().filter(|(_, count)| **count == 0).map(|(what, _)| what.to_owned());
        none.chain(faults.iter().filter(|fault| !met.contains_key(*fault)).map(|fault| format!("{fault:?}"))).collect()
    }
}

impl Found {
    pub fn is_clean(&self) -> bool {
        self.objections.is_empty() && self.disorder.is_empty()
    }

    /// The checks that found something.
    pub fn checks(&self) -> BTreeSet<&'static str> {
        let order = self.disorder.iter().map(|_| "linearizability");
        self.objections.iter().map(|(_, objection)| objection.check()).chain(order).collect()
    }
}
