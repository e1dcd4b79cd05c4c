//! A line of text that is being read.

use super::text::{MAX_TEXT, TextError};
use super::{PitSet, Seat};

/// What is expected of a text that is too long, which is [`MAX_TEXT`].
const TOO_LONG: &str = "the end of the text, which has at most 400 bytes";

/// Of the pits that any board has: whether this one has it is for its rules to say.
pub(super) const PIT: &str = "the index of a pit, 0 to 19";
pub(super) const NEW_PIT: &str = "the index of a pit, 0 to 19, that is not named yet";

/// Text is pasted and read from files with the end of its line.
#[inline]
const fn is_blank(byte: u8) -> bool {
    byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A place in a text, with the small readers that both notations are made of. It goes by bytes: all that it takes is ASCII.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn new(text: &'a str) -> Result<Reader<'a>, TextError> {
        let reader = Reader { text, at: 0 };
        if text.len() > MAX_TEXT { reader.error_before(text.floor_char_boundary(MAX_TEXT), TOO_LONG) } else { Ok(reader) }
    }

    /// The rest as bytes. Unlike text it can be cut anywhere, which saves a look.
    #[inline]
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The byte that comes next.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn error<T>(&self, expected: &'static str) -> Result<T, TextError> {
        self.error_before(self.at, expected)
    }

    /// The same, of something that began at a place that was passed since.
    #[cold]
    #[inline(never)]
    pub(super) fn error_before<T>(&self, at: usize, expected: &'static str) -> Result<T, TextError> {
        Err(TextError { at: self.text[..at].chars().count() + 1, expected })
    }

    /// The place that comes next.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Whether the last byte that was taken is a blank.
    #[inline]
    pub(super) fn is_behind_blank(&self) -> bool {
        self.text.as_bytes()[..self.at].last().copied().is_some_and(is_blank)
    }

    /// Takes this byte, which must be ASCII, and the blanks around it, if it comes next but for blanks.
    #[inline]
    pub(super) fn take_joint(&mut self, byte: u8) -> bool {
        let mut ahead = *self;
        ahead.skip_blanks();
        let there = ahead.take_byte(byte);
        if there {
            ahead.skip_blanks();
            *self = ahead;
        }
        there
    }

    #[inline]
    pub(super) fn expect_joint(&mut self, byte: u8, expected: &'static str) -> Result<(), TextError> {
        if self.take_joint(byte) { Ok(()) } else { self.error(expected) }
    }

    /// Takes this text if it comes next.
    #[inline]
    pub(super) fn take(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token.as_bytes());
        if there {
            self.at += token.len();
        }
        there
    }

    /// Takes this byte, which must be ASCII, if it comes next.
    #[inline]
    pub(super) fn take_byte(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), TextError> {
        if self.take_byte(byte) { Ok(()) } else { self.error(expected) }
    }

    /// A word of letters, digits and underscores; empty if none comes next.
    #[inline]
    pub(super) fn word(&mut self) -> &'a str {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        &self.text[from..self.at]
    }

    /// One to four digits.
    #[inline]
    pub(super) fn number(&mut self, expected: &'static str) -> Result<u16, TextError> {
        let mut number = 0;
        let mut digits = 0;
        for byte in self.rest() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            if digits == 4 {
                return self.error(expected);
            }
            number = number * 10 + u16::from(digit);
            digits += 1;
        }
        self.at += digits;
        if digits > 0 { Ok(number) } else { self.error(expected) }
    }

    /// Numbers of one or two digits with a comma behind each, which are taken too. Nearly all pits are such, so that they are worth a reader
    /// of their own.
    #[inline]
    pub(super) fn take_plain_pits(&mut self, mut take: impl FnMut(u8)) {
        let mut rest = self.rest();
        loop {
            let seeds = match *rest {
                [ones @ b'0'..=b'9', b',', ref behind @ ..] => {
                    rest = behind;
                    ones - b'0'
                }
                [tens @ b'0'..=b'9', ones @ b'0'..=b'9', b',', ref behind @ ..] => {
                    rest = behind;
                    (tens - b'0') * 10 + (ones - b'0')
                }
                _ => break,
            };
            take(seeds);
        }
        self.at = self.text.len() - rest.len();
    }

    /// A number below 256.
    #[inline]
    pub(super) fn small(&mut self, expected: &'static str) -> Result<u8, TextError> {
        let before = *self;
        u8::try_from(self.number(expected)?).or_else(|_| before.error(expected))
    }

    #[inline]
    pub(super) fn seat(&mut self) -> Result<Seat, TextError> {
        match self.peek().and_then(|byte| Seat::from_letter(char::from(byte))) {
            Some(seat) => {
                self.at += 1;
                Ok(seat)
            }
            None => self.error("a seat, S or N"),
        }
    }

    pub(super) fn seat_after_blanks(&mut self) -> Result<Seat, TextError> {
        self.skip_blanks();
        self.seat()
    }

    /// Different pits joined by `+`, blanks around them allowed.
    pub(super) fn pits(&mut self) -> Result<PitSet, TextError> {
        let mut set = PitSet::EMPTY;
        loop {
            self.skip_blanks();
            let before = *self;
            let pit = self.small(PIT)?;
            if pit >= PitSet::CAPACITY || set.has(pit) {
                return before.error(NEW_PIT);
            }
            set = set | PitSet::of(pit);
            self.skip_blanks();
            if !self.take_byte(b'+') {
                return Ok(set);
            }
        }
    }

    /// At least one blank between fields.
    #[inline]
    pub(super) fn gap(&mut self, expected: &'static str) -> Result<(), TextError> {
        let before = self.at;
        self.skip_blanks();
        if self.at == before { self.error(expected) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn end(&mut self, expected: &'static str) -> Result<(), TextError> {
        self.skip_blanks();
        if self.peek().is_none() { Ok(()) } else { self.error(expected) }
    }
}
