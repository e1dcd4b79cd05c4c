//! The notation read once more, slowly and plainly: character by character, from a list of them. What the library's reader makes of a
//! text is held against this.

use mancala::game::text::MAX_TEXT;
use mancala::game::{BySeat, EndReason, Game, MAX_PITS, Move, Phase, PitSet, Redistribution, Seat, SetUp, SetUpPit, TextError};

type Read<T> = Result<T, TextError>;

struct Slow {
    characters: Vec<char>,
    at: usize,
}

/// A text as a set-up.
pub fn set_up(text: &str) -> Read<SetUp> {
    let mut text = Slow::new(text)?;
    text.blanks();
    let from = text.at;
    let word = text.word();
    let Some(game) = Game::ALL.into_iter().find(|game| game.id() == word) else {
        return fail(from, "a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi");
    };
    text.gap("a blank, then the pits")?;
    let south = text.row()?;
    text.joint('/', "another pit (,) or North's row (/)")?;
    let north = text.row()?;
    text.gap("another pit (,) or a blank, then the banks")?;
    let south_bank = text.number("South's bank")?;
    text.joint('-', "- and North's bank")?;
    let north_bank = text.number("North's bank")?;
    text.gap("a blank, then the seat to act")?;
    let to_act = text.seat()?;
    text.gap("a blank, then the phase")?;
    let phase = text.phase()?;
    let (mut last_sower, mut heir, mut refused) = (None, None, None);
    loop {
        text.blanks();
        let apart = is_blank(text.characters[text.at - 1]);
        if apart && last_sower.is_none() && text.takes("last=") {
            text.blanks();
            last_sower = Some(text.seat()?);
        } else if apart && heir.is_none() && text.takes("heir=") {
            text.blanks();
            heir = Some(text.seat()?);
        } else if apart && refused.is_none() && text.takes("refused=") {
            text.blanks();
            let mut both = BySeat::new(false, false);
            let first = text.seat()?;
            both[first] = true;
            if text.takes(if first == Seat::South { "N" } else { "S" }) {
                both = BySeat::new(true, true);
            }
            refused = Some(both);
        } else {
            break;
        }
    }
    text.end("last=, heir=, refused= (each once) or the end of the text")?;
    Ok(SetUp {
        game,
        rows: BySeat::new(south, north),
        banks: BySeat::new(south_bank, north_bank),
        to_act,
        phase,
        last_sower,
        heir,
        refused: refused.unwrap_or_default(),
    })
}

/// A text as a move.
pub fn mv(text: &str) -> Read<Move> {
    let mut text = Slow::new(text)?;
    text.blanks();
    let from = text.at;
    if text.next().is_some_and(|character| character.is_ascii_digit()) {
        return text.of_pits();
    }
    let mv = match text.word().as_str() {
        "accept" => Move::Answer { accept: true },
        "decline" => Move::Answer { accept: false },
        "pass" => Move::Pass,
        "offer" => {
            text.gap("a blank, then the pits on offer")?;
            let pits = text.pits()?;
            text.end("+ and another pit, or the end of the move")?;
            return Ok(Move::Offer(pits));
        }
        _ => return fail(from, "a move: PIT, PITxSEEDS, PIT+PIT>PIT:SEEDS,..., offer PITS, accept, decline or pass"),
    };
    text.end("the end of the move")?;
    Ok(mv)
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// At this character, counted from 0.
fn fail<T>(at: usize, expected: &'static str) -> Read<T> {
    Err(TextError { at: at + 1, expected })
}

impl Slow {
    fn new(text: &str) -> Read<Slow> {
        if text.len() > MAX_TEXT {
            let (mut characters, mut bytes) = (0, 0);
            for character in text.chars() {
                bytes += character.len_utf8();
                if bytes > MAX_TEXT {
                    break;
                }
                characters += 1;
            }
            return fail(characters, "the end of the text, which has at most 400 bytes");
        }
        Ok(Slow { characters: text.chars().collect(), at: 0 })
    }

    fn next(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn takes(&mut self, token: &str) -> bool {
        let token: Vec<_> = token.chars().collect();
        let there = self.characters[self.at..].starts_with(&token);
        if there {
            self.at += token.len();
        }
        there
    }

    fn must(&mut self, character: char, expected: &'static str) -> Read<()> {
        if self.takes(&character.to_string()) { Ok(()) } else { fail(self.at, expected) }
    }

    /// A character with blanks around it; if it is not there, the blanks are not taken either.
    fn joins(&mut self, character: char) -> bool {
        let from = self.at;
        self.blanks();
        if self.takes(&character.to_string()) {
            self.blanks();
            return true;
        }
        self.at = from;
        false
    }

    fn joint(&mut self, character: char, expected: &'static str) -> Read<()> {
        if self.joins(character) { Ok(()) } else { fail(self.at, expected) }
    }

    fn while_next(&mut self, fits: impl Fn(char) -> bool) -> String {
        let taken: String = self.characters[self.at..].iter().copied().take_while(|&character| fits(character)).collect();
        self.at += taken.chars().count();
        taken
    }

    fn blanks(&mut self) -> bool {
        !self.while_next(is_blank).is_empty()
    }

    fn gap(&mut self, expected: &'static str) -> Read<()> {
        if self.blanks() { Ok(()) } else { fail(self.at, expected) }
    }

    fn end(&mut self, expected: &'static str) -> Read<()> {
        self.blanks();
        if self.next().is_none() { Ok(()) } else { fail(self.at, expected) }
    }

    fn word(&mut self) -> String {
        self.while_next(|character| character.is_ascii_alphanumeric() || character == '_')
    }

    fn number(&mut self, expected: &'static str) -> Read<u16> {
        let from = self.at;
        let digits = self.while_next(|character| character.is_ascii_digit());
        if digits.is_empty() || digits.len() > 4 { fail(from, expected) } else { Ok(digits.parse().expect("digits")) }
    }

    fn small(&mut self, expected: &'static str) -> Read<u8> {
        let from = self.at;
        self.number(expected)?.try_into().or_else(|_| fail(from, expected))
    }

    fn seat(&mut self) -> Read<Seat> {
        if self.takes("S") {
            Ok(Seat::South)
        } else if self.takes("N") {
            Ok(Seat::North)
        } else {
            fail(self.at, "a seat, S or N")
        }
    }

    fn row(&mut self) -> Read<Vec<SetUpPit>> {
        let mut row = Vec::new();
        loop {
            let mut pit = SetUpPit { closed: self.takes("x"), ..SetUpPit::default() };
            if !pit.closed {
                pit.seeds = self.number("the seeds of a pit, or x")?;
                pit.crossed = self.takes("^");
                pit.marked = self.takes("*");
            }
            row.push(pit);
            if !self.joins(',') {
                return Ok(row);
            }
        }
    }

    fn phase(&mut self) -> Read<Phase> {
        let from = self.at;
        match self.word().as_str() {
            "sow" => Ok(Phase::Sow),
            "open1" => Ok(Phase::Open1),
            "open2" => Ok(Phase::Open2),
            "bonus" => Ok(Phase::Bonus),
            "answer" => {
                self.must(':', ": and the pits on offer")?;
                self.pits().map(Phase::Answer)
            }
            "over" => {
                self.must(':', ": and how the game ended")?;
                self.blanks();
                let from = self.at;
                let word = self.word();
                let reason = EndReason::ALL.into_iter().find(|reason| reason.name() == word);
                reason.map_or_else(|| fail(from, "how the game ended, such as no_move"), |reason| Ok(Phase::Over(reason)))
            }
            _ => fail(from, "a phase: sow, open1, open2, bonus, answer:PITS or over:REASON"),
        }
    }

    fn pits(&mut self) -> Read<PitSet> {
        let mut pits = Vec::new();
        loop {
            self.blanks();
            let from = self.at;
            let pit = self.small("the index of a pit, 0 to 19")?;
            if pit > 31 || pits.contains(&pit) {
                return fail(from, "the index of a pit, 0 to 19, that is not named yet");
            }
            pits.push(pit);
            self.blanks();
            if !self.takes("+") {
                return Ok(pits.into_iter().collect());
            }
        }
    }

    /// A move that begins with a pit.
    fn of_pits(&mut self) -> Read<Move> {
        let from = self.at;
        let pit = self.small("the index of a pit, 0 to 19")?;
        self.blanks();
        if self.next().is_none() {
            return Ok(Move::sow(pit));
        }
        if self.takes("x") {
            self.blanks();
            let seeds = self.small("the number of seeds, at most 255")?;
            self.end("the end of the move")?;
            return Ok(Move::Sow { pit, seeds: Some(seeds) });
        }
        self.at = from;
        let emptied = self.pits()?;
        let expected = match emptied.iter().count() {
            1 => "x and a number of seeds, + and another pit, > and placements, or the end of the move",
            _ => "+ and another pit, or > and placements",
        };
        self.must('>', expected)?;
        let placed = self.placements()?;
        self.end("another placement (,) or the end of the move")?;
        Ok(Move::Redistribute(Redistribution { emptied, placed }))
    }

    fn placements(&mut self) -> Read<[u8; MAX_PITS]> {
        let begin = self.at;
        let mut placed = [None; MAX_PITS];
        loop {
            self.blanks();
            let from = self.at;
            let pit = usize::from(self.small("the index of a pit, 0 to 19")?);
            if pit >= MAX_PITS || placed[pit].is_some() {
                return fail(from, "the index of a pit, 0 to 19, that is not named yet");
            }
            self.blanks();
            self.must(':', ": and the number of seeds")?;
            self.blanks();
            placed[pit] = Some(self.small("the number of seeds, at most 255")?);
            self.blanks();
            if !self.takes(",") {
                break;
            }
        }
        if placed.iter().flatten().all(|&seeds| seeds == 0) {
            return fail(begin, "placements with at least one seed");
        }
        Ok(placed.map(Option::unwrap_or_default))
    }
}
