//! Positions and moves written down, in [the notation](super::text).

use super::line::Line;
use super::{Move, Phase, Position, Redistribution, Seat};
use std::fmt;

impl Position {
    /// A pit with all that is said about it, and a comma.
    #[inline]
    fn write_pit(&self, line: &mut Line, pit: u8) {
        if self.closed.has(pit) {
            line.text("x,");
            return;
        }
        line.number(self.seeds(pit));
        line.letter_if(self.controller(pit) != self.ring().row_of(pit), '^');
        line.letter_if(self.marked.has(pit), '*');
        line.letter(',');
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.ring();
        let not_plain = (self.north_controls ^ ring.row(Seat::North)) | self.marked | self.closed;
        let mut line = Line::new();
        line.text(self.game.id());
        line.letter(' ');
        for (seat, end) in [(Seat::South, '/'), (Seat::North, ' ')] {
            let first = if seat == Seat::South { 0 } else { ring.row };
            if (not_plain & ring.row(seat)).is_empty() {
                line.numbers(&self.pits[usize::from(first)..][..usize::from(ring.row)]);
            } else {
                (first..first + ring.row).for_each(|pit| self.write_pit(&mut line, pit));
            }
            line.replace_last(end);
        }
        line.number(self.banks[Seat::South]);
        line.letter('-');
        line.number(self.banks[Seat::North]);
        line.letter(' ');
        line.letter(self.to_act.letter());
        line.letter(' ');
        write_phase(&mut line, self.phase);
        if let Some(seat) = self.last_sower {
            line.text(" last=");
            line.letter(seat.letter());
        }
        if let Some(seat) = self.heir {
            line.text(" heir=");
            line.letter(seat.letter());
        }
        line.text(match (self.refused[Seat::South], self.refused[Seat::North]) {
            (true, true) => " refused=SN",
            (true, false) => " refused=S",
            (false, true) => " refused=N",
            (false, false) => "",
        });
        f.write_str(line.as_str())
    }
}

fn write_phase(line: &mut Line, phase: Phase) {
    match phase {
        Phase::Sow => line.text("sow"),
        Phase::Open1 => line.text("open1"),
        Phase::Open2 => line.text("open2"),
        Phase::Bonus => line.text("bonus"),
        Phase::Answer(pits) => {
            line.text("answer:");
            line.pits(pits);
        }
        Phase::Over(reason) => {
            line.text("over:");
            line.text(reason.name());
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::new();
        write_phase(&mut line, *self);
        f.write_str(line.as_str())
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::new();
        match self {
            Move::Sow { pit, seeds } => {
                line.number(*pit);
                if let Some(seeds) = seeds {
                    line.letter('x');
                    line.number(*seeds);
                }
            }
            Move::Redistribute(Redistribution { emptied, placed }) => {
                line.pits(*emptied);
                let mut separator = '>';
                for (pit, &seeds) in (0..).zip(placed) {
                    if seeds > 0 {
                        line.letter(separator);
                        line.number(pit);
                        line.letter(':');
                        line.number(seeds);
                        separator = ',';
                    }
                }
                // A move that places nothing is legal nowhere and read by nobody, and is written all the same.
                if separator == '>' {
                    line.letter(separator);
                }
            }
            Move::Offer(pits) => {
                line.text("offer ");
                line.pits(*pits);
            }
            Move::Answer { accept: true } => line.text("accept"),
            Move::Answer { accept: false } => line.text("decline"),
            Move::Pass => line.text("pass"),
        }
        f.write_str(line.as_str())
    }
}
