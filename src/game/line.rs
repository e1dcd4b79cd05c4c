//! A line of text in the making.

use super::PitSet;
use super::text::MAX_TEXT;
use arrayvec::ArrayString;

/// Text that is put together on the stack and then handed to its formatter in one piece: positions are written with every move, and
/// formatters take their time over each of some forty small pieces. Nothing that is written here is longer than what is read.
pub(super) struct Line(ArrayString<MAX_TEXT>);

impl Line {
    pub(super) fn new() -> Line {
        Line(ArrayString::new())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) {
        self.0.push_str(text);
    }

    #[inline]
    pub(super) fn letter(&mut self, letter: char) {
        self.0.push(letter);
    }

    #[inline]
    pub(super) fn number(&mut self, number: u8) {
        let digit = |digit: u8| char::from(b'0' + digit % 10);
        if number >= 100 {
            self.0.push(digit(number / 100));
        }
        if number >= 10 {
            self.0.push(digit(number / 10));
        }
        self.0.push(digit(number));
    }

    /// Indices joined by `+`.
    pub(super) fn pits(&mut self, pits: PitSet) {
        for (n, pit) in pits.iter().enumerate() {
            if n > 0 {
                self.0.push('+');
            }
            self.number(pit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in 0..=u8::MAX {
            let mut line = Line::new();
            line.number(number);
            assert_eq!(line.as_str(), number.to_string());
        }
    }
}
