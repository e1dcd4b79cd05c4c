//! Which calls are made, and how often each.

use crate::game::Dice;
use std::str::FromStr;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// ApplyMove.
    Apply,
    /// ListLegalMoves.
    Legal,
    /// GetSession.
    Get,
    /// A health check: what a call costs that does nothing.
    Health,
    /// CreateSession, when a game is over. It is never asked for.
    Create,
}

impl Call {
    /// Those that can be asked for.
    const ASKED: [Call; 4] = [Call::Apply, Call::Legal, Call::Get, Call::Health];

    pub const fn name(self) -> &'static str {
        match self {
            Call::Apply => "apply",
            Call::Legal => "legal",
            Call::Get => "get",
            Call::Health => "health",
            Call::Create => "create",
        }
    }
}

/// Calls with their weights; at least one, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix(Vec<(Call, u32)>);

impl Mix {
    /// Draws a call.
    pub fn draw(&self, dice: &mut impl Dice) -> Call {
        let mut left = dice.below(self.0.iter().map(|&(_, weight)| u64::from(weight)).sum());
        for &(call, weight) in &self.0 {
            if left < u64::from(weight) {
                return call;
            }
            left -= u64::from(weight);
        }
        unreachable!("what is drawn is below the sum of the weights")
    }

    /// Whether any of its calls is about a session.
    pub fn needs_sessions(&self) -> bool {
        self.0.iter().any(|&(call, _)| call != Call::Health)
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Mix, String> {
        let mut calls: Vec<(Call, u32)> = Vec::new();
        for part in text.split(',') {
            let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
            let call = Call::ASKED.into_iter().find(|call| call.name() == name).ok_or_else(|| {
                format!("\"{name}\" is no call: name some of {}, as in apply=8,get=1", Call::ASKED.map(Call::name).join(", "))
            })?;
            if calls.iter().any(|&(other, _)| other == call) {
                return Err(format!("{name} is named twice"));
            }
            let weight = weight.parse().ok().filter(|weight| (1..=1_000).contains(weight));
            calls.push((call, weight.ok_or_else(|| format!("the weight of {name} is a number from 1 to 1000"))?));
        }
        Ok(Mix(calls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededDice;

    #[test]
    fn calls_are_drawn_by_their_weights() {
        let mix: Mix = "apply=8,legal,get=1".parse().expect("a mix");
        let mut dice = SeededDice::new(1);
        let mut counts = [0u32; 5];
        (0..10_000).for_each(|_| counts[mix.draw(&mut dice) as usize] += 1);
        assert!((7_800..8_200).contains(&counts[0]) && (900..1_100).contains(&counts[1]), "{counts:?}");
        assert!((900..1_100).contains(&counts[2]) && counts[3..] == [0, 0], "{counts:?}");
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        for text in ["", "apply=0", "apply=-1", "apply=1001", "apply=x", "apply,apply", "move=1", "create=1", "apply=1,"] {
            assert!(text.parse::<Mix>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_health_checks_need_no_session() {
        assert!(!"health".parse::<Mix>().expect("a mix").needs_sessions());
        assert!("health=5,get=1".parse::<Mix>().expect("a mix").needs_sessions());
    }
}
