//! Matches of several rounds: what a round is worth, and how the next one begins.
//! See [the common rules](super#matches) and rule 7, 11 or 5 of the games that have their own.

use super::kiothi::Kiothi;
use super::{BySeat, Game, MAX_PITS, Phase, PitSet, Position, Rules, Seat};

/// Seeds that are put in a pit of Ali Guli Mane when it is filled again.
const REFILL: u32 = 5;

/// How a match goes on after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// With this position.
    Round(Position),
    /// Not at all: this seat holds too few seeds to fill one pit (Ali Guli Mane), and the other has won.
    CannotFill(Seat),
}

/// Points that a round is worth to its winner, by the seeds that the seats banked when it was played to its end.
#[must_use]
pub fn points(rules: &Rules, banks: BySeat<u32>) -> u32 {
    match rules {
        Rules::Kiothi(Kiothi { two_counter_win, .. }) if banks[Seat::South].abs_diff(banks[Seat::North]) == 2 => {
            two_counter_win.points()
        }
        _ => 1,
    }
}

/// Seeds that each seat holds when a round is over: its bank and what its row still has.
#[must_use]
pub fn holdings(end: &Position) -> BySeat<u32> {
    let of = |seat: Seat| {
        let row: u32 = end.ring().row(seat).iter().map(|pit| u32::from(end.seeds(pit))).sum();
        u32::from(end.banks()[seat]) + row
    };
    BySeat::new(of(Seat::South), of(Seat::North))
}

/// How the match goes on: with round number `round`, which `first` starts, after one that ended so and that `winner` won.
#[must_use]
pub fn next_round(rules: &Rules, round: u32, first: Seat, end: &Position, winner: Option<Seat>) -> Next {
    let fresh = rules.start_with(first);
    match rules.game() {
        Game::AliGuliMane => refill(end, first),
        Game::Hoyito3 => Next::Round(Position { heir: winner.filter(|_| round >= 3), ..fresh }),
        Game::Gore | Game::Ayoayo | Game::Kiothi => Next::Round(fresh),
    }
}

/// Rule 7 of Ali Guli Mane: each seat fills its pits from what it holds, leftmost first; the others are closed.
fn refill(end: &Position, first: Seat) -> Next {
    let held = holdings(end);
    if let Some(seat) = Seat::BOTH.into_iter().find(|&seat| held[seat] < REFILL) {
        return Next::CannotFill(seat);
    }
    let mut pits = [0; MAX_PITS];
    let mut banks = BySeat::new(0, 0);
    let mut closed = PitSet::EMPTY;
    for seat in Seat::BOTH {
        let mut left = held[seat];
        for pit in end.ring().row(seat).iter() {
            if left >= REFILL {
                pits[usize::from(pit)] = REFILL as u8;
                left -= REFILL;
            } else {
                closed = closed | PitSet::of(pit);
            }
        }
        banks[seat] = left as u8;
    }
    Next::Round(Position { banks, closed, ..Position::new(end.game(), pits, first, Phase::Sow) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::SetUp;

    #[test]
    fn refilling_closes_what_cannot_be_filled() {
        let rules = Rules::new(Game::AliGuliMane);
        let end = |text: &str| text.parse::<SetUp>().unwrap().position(&rules).unwrap();
        let next = |text: &str, first| next_round(&rules, 2, first, &end(text), None);
        let Next::Round(position) = next("ali_guli_mane 0,1,0,0,2,0,1/0,0,0,0,0,0,0 40-26 N over:no_seeds", Seat::North) else {
            panic!("both can fill pits")
        };
        assert_eq!(position.to_string(), "ali_guli_mane 5,5,5,5,5,5,5/5,5,5,5,5,x,x 9-1 N sow");
        let poor = "ali_guli_mane 0,0,0,0,0,0,0/0,0,0,0,0,0,0 66-4 N over:no_seeds";
        assert_eq!(next(poor, Seat::South), Next::CannotFill(Seat::North));
    }

    #[test]
    fn only_kiothi_counts_a_narrow_win_more() {
        let narrow = BySeat::new(31, 29);
        assert_eq!(points(&Rules::new(Game::Kiothi), narrow), 2);
        let ten = Rules::with_options(Game::Kiothi, [("two_counter_win", "10")]).unwrap();
        assert_eq!(points(&ten, narrow), 10);
        assert_eq!(points(&ten, BySeat::new(32, 28)), 1);
        assert_eq!(points(&Rules::new(Game::Gore), BySeat::new(25, 23)), 1);
    }
}
