//! Positions and moves as text, short enough to type and lossless for play.
#![doc = include_str!("pages/notation.md")]

use super::reader::{NEW_PIT, PIT, Reader};
use super::setup::{Board, SetUp, SetUpPit};
use super::setup_fault::SetUpFault;
use super::{BySeat, EndReason, Game, MAX_PITS, Move, Phase, PitSet, Position, Redistribution, Rules, Seat};
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
        let row = || Vec::with_capacity(MAX_PITS / 2);
        let mut rows = BySeat::new(row(), row());
        let rest = read(text, &mut |seat, pit| rows[seat].push(pit))?;
        Ok(SetUp { rows, ..rest })
    }
}

impl Rules {
    /// Reads a position that can be played by these rules: the same as a [`SetUp`] and its [`SetUp::position`], but quicker, since no
    /// rows are kept.
    ///
    /// # Errors
    /// [`PositionError`]: what can't be read, or all that can't be played.
    pub fn read(&self, text: &str) -> Result<Position, PositionError> {
        let mut board = Board::new(self.game().ring());
        let rest = read(text, &mut |seat, pit| board.add(seat, pit))?;
        rest.judge(self, &board).map_err(PositionError::SetUp)
    }
}

/// Why a text is no position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PositionError {
    /// It can't be read.
    Text(TextError),
    /// It can't be played; all that is wrong with it.
    SetUp(Vec<SetUpFault>),
}

impl From<TextError> for PositionError {
    fn from(error: TextError) -> PositionError {
        PositionError::Text(error)
    }
}

impl std::error::Error for PositionError {}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PositionError::Text(error) => error.fmt(f),
            PositionError::SetUp(faults) => {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                f.write_str(&faults.join("; "))
            }
        }
    }
}

/// Reads a position whose pits are handed on one by one: in what is returned the rows are empty.
#[inline]
fn read(text: &str, add: &mut impl FnMut(Seat, SetUpPit)) -> Result<SetUp, TextError> {
    let mut reader = Reader::new(text)?;
    reader.skip_blanks();
    let from = reader.at();
    let Some(game) = Game::from_id(reader.word()) else {
        return reader.error_before(from, "a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi");
    };
    reader.gap("a blank, then the pits")?;
    row(&mut reader, &mut |pit| add(Seat::South, pit))?;
    reader.expect_joint(b'/', "another pit (,) or North's row (/)")?;
    row(&mut reader, &mut |pit| add(Seat::North, pit))?;
    reader.gap("another pit (,) or a blank, then the banks")?;
    let south_bank = reader.number("South's bank")?;
    reader.expect_joint(b'-', "- and North's bank")?;
    let north_bank = reader.number("North's bank")?;
    reader.gap("a blank, then the seat to act")?;
    let to_act = reader.seat()?;
    reader.gap("a blank, then the phase")?;
    let phase = phase(&mut reader)?;
    let mut set_up = SetUp {
        game,
        rows: BySeat::new(Vec::new(), Vec::new()),
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

#[inline]
fn row(reader: &mut Reader, add: &mut impl FnMut(SetUpPit)) -> Result<(), TextError> {
    loop {
        reader.take_plain_pits(|seeds| add(SetUpPit { seeds: seeds.into(), ..SetUpPit::default() }));
        reader.skip_blanks();
        let mut pit = SetUpPit::default();
        if reader.take_byte(b'x') {
            pit.closed = true;
        } else {
            pit.seeds = reader.number("the seeds of a pit, or x")?;
            pit.crossed = reader.take_byte(b'^');
            pit.marked = reader.take_byte(b'*');
        }
        add(pit);
        if !reader.take_joint(b',') {
            return Ok(());
        }
    }
}

fn phase(reader: &mut Reader) -> Result<Phase, TextError> {
    let from = reader.at();
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
            reader.skip_blanks();
            let from = reader.at();
            let name = reader.word();
            match EndReason::ALL.into_iter().find(|reason| reason.name() == name) {
                Some(reason) => Ok(Phase::Over(reason)),
                None => reader.error_before(from, "how the game ended, such as no_move"),
            }
        }
        _ => reader.error_before(from, "a phase: sow, open1, open2, bonus, answer:PITS or over:REASON"),
    }
}

/// Reads one `KEY=VALUE` if there is one that was not read yet.
fn key(reader: &mut Reader, set_up: &mut SetUp) -> Result<bool, TextError> {
    if reader.peek().is_none() {
        return Ok(false);
    }
    let mut ahead = *reader;
    ahead.skip_blanks();
    if !ahead.is_behind_blank() {
        return Ok(false);
    }
    if set_up.last_sower.is_none() && ahead.take("last=") {
        set_up.last_sower = Some(ahead.seat_after_blanks()?);
    } else if set_up.heir.is_none() && ahead.take("heir=") {
        set_up.heir = Some(ahead.seat_after_blanks()?);
    } else if set_up.refused == BySeat::default() && ahead.take("refused=") {
        let first = ahead.seat_after_blanks()?;
        set_up.refused[first] = true;
        set_up.refused[first.other()] = ahead.take_byte(first.other().letter() as u8);
    } else {
        return Ok(false);
    }
    *reader = ahead;
    Ok(true)
}

/// Reads a move; see the [module](self).
impl FromStr for Move {
    type Err = TextError;

    #[inline]
    fn from_str(text: &str) -> Result<Move, TextError> {
        // Nearly all moves are such, so that they are worth a reader of their own.
        match plain_sowing(text.as_bytes()) {
            Some(mv) => Ok(mv),
            None => read_move(text),
        }
    }
}

/// `PIT` or `PITxSEEDS` and nothing else, numbers of one or two digits.
#[inline]
fn plain_sowing(text: &[u8]) -> Option<Move> {
    let (pit, rest) = plain_number(text)?;
    let seeds = match rest {
        [] => None,
        [b'x', seeds @ ..] => match plain_number(seeds)? {
            (seeds, []) => Some(seeds),
            _ => return None,
        },
        _ => return None,
    };
    Some(Move::Sow { pit, seeds })
}

#[inline]
fn plain_number(text: &[u8]) -> Option<(u8, &[u8])> {
    match *text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', ref rest @ ..] => Some(((tens - b'0') * 10 + (ones - b'0'), rest)),
        [ones @ b'0'..=b'9', ref rest @ ..] => Some((ones - b'0', rest)),
        _ => None,
    }
}

fn read_move(text: &str) -> Result<Move, TextError> {
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
                let pits = reader.pits()?;
                reader.end("+ and another pit, or the end of the move")?;
                return Ok(Move::Offer(pits));
            }
            _ => return before.error(EXPECTED),
        };
        reader.end("the end of the move")?;
        return Ok(mv);
    }
    let mut ahead = reader;
    let pit = ahead.small(PIT)?;
    ahead.skip_blanks();
    if ahead.take_byte(b'x') {
        ahead.skip_blanks();
        let seeds = ahead.small(SEEDS)?;
        ahead.end("the end of the move")?;
        return Ok(Move::Sow { pit, seeds: Some(seeds) });
    }
    if ahead.peek().is_none() {
        return Ok(Move::sow(pit));
    }
    let emptied = reader.pits()?;
    let one = "x and a number of seeds, + and another pit, > and placements, or the end of the move";
    reader.expect(b'>', if emptied.len() == 1 { one } else { "+ and another pit, or > and placements" })?;
    let placed = placements(&mut reader)?;
    reader.end("another placement (,) or the end of the move")?;
    Ok(Move::Redistribute(Redistribution { emptied, placed }))
}

const SEEDS: &str = "the number of seeds, at most 255";

/// `PIT:SEEDS` separated by commas, each pit once, and at least one seed: a move that places none is written in a way that nobody reads.
fn placements(reader: &mut Reader) -> Result<[u8; MAX_PITS], TextError> {
    let mut placed = [0; MAX_PITS];
    let mut named = PitSet::EMPTY;
    let first = *reader;
    loop {
        reader.skip_blanks();
        let before = *reader;
        let pit = reader.small(PIT)?;
        if usize::from(pit) >= MAX_PITS || named.has(pit) {
            return before.error(NEW_PIT);
        }
        named = named | PitSet::of(pit);
        reader.skip_blanks();
        reader.expect(b':', ": and the number of seeds")?;
        reader.skip_blanks();
        placed[usize::from(pit)] = reader.small(SEEDS)?;
        reader.skip_blanks();
        if !reader.take_byte(b',') {
            return if placed == [0; MAX_PITS] { first.error("placements with at least one seed") } else { Ok(placed) };
        }
    }
}
