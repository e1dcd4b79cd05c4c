//! Clocks: how much time each seat has, as a value. Nothing here knows what time it is.

use super::Micros;
use crate::game::{BySeat, Seat};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How time is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClockSetting {
    /// So long for every decision.
    PerMove {
        /// In microseconds.
        limit: Micros,
    },
    /// So long for all decisions of a round, and something more after each.
    Total {
        /// In microseconds.
        main: Micros,
        /// In microseconds.
        increment: Micros,
    },
    /// So long for all decisions of a round, and then a number of periods; a decision made within a period does not use it up.
    ByoYomi {
        /// In microseconds.
        main: Micros,
        /// Length of a period, in microseconds.
        period: Micros,
        /// How many.
        periods: u32,
    },
}

/// The longest time that a setting may name: a year.
pub const MAX_TIME: Micros = 366 * 86_400 * 1_000_000;
/// The most byo-yomi periods.
pub const MAX_PERIODS: u32 = 100;

/// A clock that can't be set so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClockFault {
    /// This time is zero, negative or too long.
    #[error("{0} must be more than 0, and at most 366 days")]
    Needed(&'static str),
    /// This time, which may be zero, is negative or too long.
    #[error("{0} must be from 0 to 366 days")]
    OutOfBounds(&'static str),
    /// Too few or too many periods.
    #[error("byo-yomi has 1 to {MAX_PERIODS} periods")]
    Periods,
}

impl ClockSetting {
    /// Checks that all times are in their bounds. An increment may be zero, and a main time before byo-yomi.
    ///
    /// # Errors
    /// What is out of bounds.
    pub fn check(&self) -> Result<(), ClockFault> {
        let needed = |name, time| if (1..=MAX_TIME).contains(&time) { Ok(()) } else { Err(ClockFault::Needed(name)) };
        let bounded = |name, time| if (0..=MAX_TIME).contains(&time) { Ok(()) } else { Err(ClockFault::OutOfBounds(name)) };
        match *self {
            ClockSetting::PerMove { limit } => needed("the time for a move", limit),
            ClockSetting::Total { main, increment } => {
                needed("the main time", main)?;
                bounded("the increment", increment)
            }
            ClockSetting::ByoYomi { periods, .. } if !(1..=MAX_PERIODS).contains(&periods) => Err(ClockFault::Periods),
            ClockSetting::ByoYomi { main, period, .. } => {
                bounded("the main time", main)?;
                needed("a period", period)
            }
        }
    }

    const fn full(&self) -> Remaining {
        match *self {
            ClockSetting::PerMove { limit } => Remaining { main: limit, periods: 0 },
            ClockSetting::Total { main, .. } => Remaining { main, periods: 0 },
            ClockSetting::ByoYomi { main, periods, .. } => Remaining { main, periods },
        }
    }
}

/// What a seat has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remaining {
    /// Of the main time, or of the limit of a move, in microseconds.
    pub main: Micros,
    /// Byo-yomi periods.
    pub periods: u32,
}

/// The clocks of both seats. A seat's clock runs while it must act, from its first move in the session on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    setting: ClockSetting,
    remaining: BySeat<Remaining>,
    moved: BySeat<bool>,
    /// When the present decision fell due.
    since: Micros,
}

impl Clock {
    /// Clocks of a session that begins.
    #[must_use]
    pub const fn new(setting: ClockSetting, now: Micros) -> Clock {
        let full = setting.full();
        Clock { setting, remaining: BySeat::new(full, full), moved: BySeat::new(false, false), since: now }
    }

    /// How they are set.
    #[must_use]
    pub const fn setting(&self) -> &ClockSetting {
        &self.setting
    }

    /// When a seat that must act will be out of time; never before its first move.
    #[must_use]
    pub fn deadline(&self, to_act: Seat) -> Option<Micros> {
        self.moved[to_act].then(|| self.since.saturating_add(self.left(to_act)))
    }

    fn left(&self, seat: Seat) -> Micros {
        let Remaining { main, periods } = self.remaining[seat];
        match self.setting {
            ClockSetting::ByoYomi { period, .. } => main + period * Micros::from(periods),
            ClockSetting::PerMove { .. } | ClockSetting::Total { .. } => main,
        }
    }

    /// What a seat had left when the present decision fell due.
    #[must_use]
    pub fn remaining(&self, seat: Seat) -> Remaining {
        self.remaining[seat]
    }

    fn after_use(&self, seat: Seat, now: Micros) -> Remaining {
        let used = now.saturating_sub(self.since).max(0);
        let Remaining { main, periods } = self.remaining[seat];
        match self.setting {
            ClockSetting::ByoYomi { period, .. } if used > main => {
                // A period is used up when it is over, not when it has begun.
                let over = (used - main) / period;
                Remaining { main: 0, periods: periods.saturating_sub(u32::try_from(over).unwrap_or(u32::MAX)) }
            }
            _ => Remaining { main: (main - used).max(0), periods },
        }
    }

    /// A seat has decided; the next decision falls due now.
    pub fn press(&mut self, seat: Seat, now: Micros) {
        let ran = self.moved[seat];
        self.stop(seat, now);
        if let (ClockSetting::Total { increment, .. }, true) = (self.setting, ran) {
            self.remaining[seat].main += increment;
        }
        self.moved[seat] = true;
    }

    /// Moves are taken back while a seat had to act. Nobody gets time back: what was used stays used, also by the decision that was
    /// not made, and the next one falls due now.
    pub fn take_back(&mut self, acting: Seat, now: Micros) {
        self.stop(acting, now);
    }

    /// Takes from a seat what it has used since its decision fell due; the next one falls due now.
    fn stop(&mut self, seat: Seat, now: Micros) {
        if self.moved[seat] {
            self.remaining[seat] = match self.setting {
                ClockSetting::PerMove { .. } => self.setting.full(),
                ClockSetting::Total { .. } | ClockSetting::ByoYomi { .. } => self.after_use(seat, now),
            };
        }
        self.since = now;
    }

    /// A round begins: both clocks are full again.
    pub fn new_round(&mut self, now: Micros) {
        let full = self.setting.full();
        self.remaining = BySeat::new(full, full);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    fn clock(setting: ClockSetting) -> Clock {
        setting.check().unwrap();
        Clock::new(setting, 0)
    }

    #[test]
    fn a_clock_starts_with_the_first_move_of_its_seat() {
        let mut clock = clock(ClockSetting::Total { main: 60 * SECOND, increment: 2 * SECOND });
        assert_eq!(clock.deadline(Seat::South), None);
        clock.press(Seat::South, 1_000 * SECOND);
        assert_eq!(clock.deadline(Seat::North), None);
        clock.press(Seat::North, 2_000 * SECOND);
        assert_eq!(clock.deadline(Seat::South), Some(2_060 * SECOND));
        clock.press(Seat::South, 2_010 * SECOND);
        assert_eq!(clock.deadline(Seat::North), Some(2_070 * SECOND));
        clock.press(Seat::North, 2_011 * SECOND);
        assert_eq!(clock.deadline(Seat::South), Some(2_011 * SECOND + 52 * SECOND), "60 - 10 used + 2 added");
    }

    #[test]
    fn a_limit_is_whole_for_every_move() {
        let mut clock = clock(ClockSetting::PerMove { limit: 10 * SECOND });
        clock.press(Seat::South, 0);
        clock.press(Seat::South, 9 * SECOND);
        assert_eq!(clock.deadline(Seat::South), Some(19 * SECOND));
        assert_eq!(clock.remaining(Seat::South).main, 10 * SECOND);
    }

    #[test]
    fn a_period_is_used_up_when_it_is_over() {
        let mut clock = clock(ClockSetting::ByoYomi { main: 10 * SECOND, period: 5 * SECOND, periods: 3 });
        clock.press(Seat::South, 0);
        assert_eq!(clock.deadline(Seat::South), Some(25 * SECOND));
        clock.press(Seat::South, 14 * SECOND);
        assert_eq!(clock.remaining(Seat::South), Remaining { main: 0, periods: 3 });
        clock.press(Seat::South, 14 * SECOND + 6 * SECOND);
        assert_eq!(clock.remaining(Seat::South), Remaining { main: 0, periods: 2 });
        assert_eq!(clock.deadline(Seat::South), Some(30 * SECOND));
    }

    #[test]
    fn a_takeback_gives_no_time_back() {
        let mut clock = clock(ClockSetting::Total { main: 60 * SECOND, increment: 2 * SECOND });
        clock.press(Seat::South, 0);
        clock.press(Seat::North, 0);
        clock.take_back(Seat::South, 50 * SECOND);
        assert_eq!(clock.remaining(Seat::South).main, 10 * SECOND, "the 50 that South had thought");
        assert_eq!(clock.deadline(Seat::North), Some(110 * SECOND));
    }

    #[test]
    fn a_clock_that_is_set_back_gives_no_time() {
        let mut clock = clock(ClockSetting::Total { main: 10 * SECOND, increment: 0 });
        clock.press(Seat::South, 100 * SECOND);
        clock.press(Seat::South, 0);
        assert_eq!(clock.remaining(Seat::South).main, 10 * SECOND);
    }

    /// Records are read before it is judged whether their times can be.
    #[test]
    fn at_the_end_of_all_time_nothing_overflows() {
        let mut clock = clock(ClockSetting::Total { main: 10 * SECOND, increment: 0 });
        clock.press(Seat::South, 0);
        clock.press(Seat::North, Micros::MAX);
        assert_eq!(clock.deadline(Seat::South), Some(Micros::MAX));
        clock.press(Seat::South, Micros::MIN);
        assert_eq!(clock.remaining(Seat::South).main, 10 * SECOND);
    }

    #[test]
    fn bounds() {
        let said = |setting: ClockSetting| setting.check().err().map_or_else(String::new, |fault| fault.to_string());
        let needed = |name: &str| format!("{name} must be more than 0, and at most 366 days");
        let bounded = |name: &str| format!("{name} must be from 0 to 366 days");
        let (move_time, main, increment, period) = ("the time for a move", "the main time", "the increment", "a period");
        for limit in [-1, 0, MAX_TIME + 1] {
            assert_eq!(said(ClockSetting::PerMove { limit }), needed(move_time));
            assert_eq!(said(ClockSetting::Total { main: limit, increment: 5 }), needed(main));
            assert_eq!(said(ClockSetting::ByoYomi { main: 5, period: limit, periods: 1 }), needed(period));
        }
        for time in [-1, MAX_TIME + 1] {
            assert_eq!(said(ClockSetting::Total { main: 5, increment: time }), bounded(increment));
            assert_eq!(said(ClockSetting::ByoYomi { main: time, period: 5, periods: 1 }), bounded(main));
        }
        for periods in [0, 101] {
            assert_eq!(said(ClockSetting::ByoYomi { main: 0, period: 5, periods }), "byo-yomi has 1 to 100 periods");
        }
        for fits in [
            ClockSetting::PerMove { limit: MAX_TIME },
            ClockSetting::Total { main: 1, increment: 0 },
            ClockSetting::Total { main: MAX_TIME, increment: MAX_TIME },
            ClockSetting::ByoYomi { main: 0, period: 5, periods: 1 },
            ClockSetting::ByoYomi { main: MAX_TIME, period: MAX_TIME, periods: 100 },
        ] {
            assert_eq!(said(fits), "");
        }
    }
}
