//! Positions and moves as text, short enough to type and lossless for play.
#![doc = include_str!("pages/notation.md")]

use super::line::Line;
use super::reader::Reader;
use super::setup::{SetUp, SetUpPit};
use super::{BySeat, EndReason, Game, MAX_PITS, Move, Phase, PitSet, Position, Redistribution, Seat};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Longer text than this is not read, in bytes. The longest position that a board allows takes about 130.
pub const MAX_TEXT: usize = 400;

/// Text that is no position or no move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("at character {at}: expected {expected}")]
pub struct TextError {
    /// Where it went wrong, from 1.
    pub at: usize,
    /// What should have stood there.
    pub expected: &'static str,
}

/// Reads a position; see the [module](self).
impl FromStr for SetUp {
    type Err = TextError;

    fn from_str(text: &str) -> Result<SetUp, TextError> {
        let mut reader = Reader::new(text)?;
        reader.skip_blanks();
        let before = reader;
        let Some(game) = Game::from_id(reader.word()) else {
            return before.error("a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi");
        };
        reader.gap("a blank, then the pits")?;
        let south = row(&mut reader)?;
        reader.expect(b'/', "another pit (,) or North's row (/)")?;
        let north = row(&mut reader)?;
        reader.gap("another pit (,) or a blank, then the banks")?;
        let south_bank = reader.number("South's bank")?;
        reader.expect(b'-', "- and North's bank")?;
        let north_bank = reader.number("North's bank")?;
        reader.gap("a blank, then the seat to act")?;
        let to_act = reader.seat()?;
        reader.gap("a blank, then the phase")?;
        let phase = phase(&mut reader)?;
        let mut set_up = SetUp {
            game,
            rows: BySeat::new(south, north),
            banks: BySeat::new(south_bank, north_bank),
            to_act,
            phase,
            last_sower: None,
            heir: None,
            refused: BySeat::default(),
        };
        while key(&mut reader, &mut set_up)? {}
        reader.end("last=, heir=, refused= (each once) or the end of the text")?;
        Ok(set_up)
    }
}

fn row(reader: &mut Reader) -> Result<Vec<SetUpPit>, TextError> {
    let mut pits = Vec::with_capacity(MAX_PITS / 2);
    loop {
        while let Some(seeds) = reader.take_plain_pit() {
            pits.push(SetUpPit { seeds: seeds.into(), ..SetUpPit::default() });
        }
        let mut pit = SetUpPit::default();
        if reader.take_byte(b'x') {
            pit.closed = true;
        } else {
            pit.seeds = reader.number("the seeds of a pit, or x")?;
            pit.crossed = reader.take_byte(b'^');
            pit.marked = reader.take_byte(b'*');
        }
        pits.push(pit);
        if !reader.take_byte(b',') {
            return Ok(pits);
        }
    }
}

fn phase(reader: &mut Reader) -> Result<Phase, TextError> {
    let before = *reader;
    match reader.word() {
        "sow" => Ok(Phase::Sow),
        "open1" => Ok(Phase::Open1),
        "open2" => Ok(Phase::Open2),
        "bonus" => Ok(Phase::Bonus),
        "answer" => {
            reader.expect(b':', ": and the pits on offer")?;
            reader.pits().map(Phase::Answer)
        }
        "over" => {
            reader.expect(b':', ": and how the game ended")?;
            let before = *reader;
            let name = reader.word();
            match EndReason::ALL.into_iter().find(|reason| reason.name() == name) {
                Some(reason) => Ok(Phase::Over(reason)),
                None => before.error("how the game ended, such as no_move"),
            }
        }
        _ => before.error("a phase: sow, open1, open2, bonus, answer:PITS or over:REASON"),
    }
}

/// Reads one `KEY=VALUE` if there is one that was not read yet.
fn key(reader: &mut Reader, set_up: &mut SetUp) -> Result<bool, TextError> {
    let mut ahead = *reader;
    ahead.skip_blanks();
    if !ahead.is_behind_blank() {
        return Ok(false);
    }
    if set_up.last_sower.is_none() && ahead.take("last=") {
        set_up.last_sower = Some(ahead.seat()?);
    } else if set_up.heir.is_none() && ahead.take("heir=") {
        set_up.heir = Some(ahead.seat()?);
    } else if set_up.refused == BySeat::default() && ahead.take("refused=") {
        let first = ahead.seat()?;
        set_up.refused[first] = true;
        set_up.refused[first.other()] = ahead.take_byte(first.other().letter() as u8);
    } else {
        return Ok(false);
    }
    *reader = ahead;
    Ok(true)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.ring();
        let mut line = Line::new();
        line.text(self.game.id());
        for pit in 0..ring.pits() {
            let separator = if pit == 0 {
                ' '
            } else if pit == ring.row {
                '/'
            } else {
                ','
            };
            line.letter(separator);
            if self.closed.has(pit) {
                line.letter('x');
                continue;
            }
            line.number(self.seeds(pit));
            if self.controller(pit) != ring.row_of(pit) {
                line.letter('^');
            }
            if self.marked.has(pit) {
                line.letter('*');
            }
        }
        line.letter(' ');
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

/// Reads a move; see the [module](self).
impl FromStr for Move {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Move, TextError> {
        const EXPECTED: &str = "a move: PIT, PITxSEEDS, PIT+PIT>PIT:SEEDS,..., offer PITS, accept, decline or pass";
        let mut reader = Reader::new(text)?;
        reader.skip_blanks();
        if !matches!(reader.peek(), Some(b'0'..=b'9')) {
            let before = reader;
            let mv = match reader.word() {
                "accept" => Move::Answer { accept: true },
                "decline" => Move::Answer { accept: false },
                "pass" => Move::Pass,
                "offer" => {
                    reader.gap("a blank, then the pits on offer")?;
                    Move::Offer(reader.pits()?)
                }
                _ => return before.error(EXPECTED),
            };
            reader.end("the end of the move")?;
            return Ok(mv);
        }
        let mut ahead = reader;
        let pit = ahead.small("the index of a pit")?;
        ahead.skip_blanks();
        if ahead.take_byte(b'x') {
            ahead.skip_blanks();
            let seeds = ahead.small("the number of seeds")?;
            ahead.end("the end of the move")?;
            return Ok(Move::Sow { pit, seeds: Some(seeds) });
        }
        if ahead.peek().is_none() {
            return Ok(Move::sow(pit));
        }
        let emptied = reader.pits()?;
        reader.expect(b'>', "x and a number of seeds, + and another pit, > and placements, or the end of the move")?;
        let placed = placements(&mut reader)?;
        reader.end("another placement (,) or the end of the move")?;
        Ok(Move::Redistribute(Redistribution { emptied, placed }))
    }
}

/// `PIT:SEEDS` separated by commas, each pit once, and at least one seed: a move that places none is written in a way that nobody reads.
fn placements(reader: &mut Reader) -> Result<[u8; MAX_PITS], TextError> {
    let mut placed = [0; MAX_PITS];
    let mut named = PitSet::EMPTY;
    let first = *reader;
    loop {
        reader.skip_blanks();
        let before = *reader;
        let pit = reader.small("the index of a pit")?;
        if usize::from(pit) >= MAX_PITS || named.has(pit) {
            return before.error("the index of a pit, 0 to 19, that is not named yet");
        }
        named = named | PitSet::of(pit);
        reader.skip_blanks();
        reader.expect(b':', ": and the number of seeds")?;
        reader.skip_blanks();
        placed[usize::from(pit)] = reader.small("the number of seeds")?;
        reader.skip_blanks();
        if !reader.take_byte(b',') {
            return if placed == [0; MAX_PITS] { first.error("placements with at least one seed") } else { Ok(placed) };
        }
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
