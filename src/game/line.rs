//! A line of text in the making.

use super::PitSet;
use super::text::MAX_TEXT;

/// Text that is put together on the stack and then handed to its formatter in one piece: positions are written with every move, and
/// formatters take their time over each of some forty small pieces. Nothing that is written here is longer than what is read.
pub(super) struct Line {
    bytes: [u8; MAX_TEXT],
    length: usize,
}

impl Line {
    pub(super) fn new() -> Line {
        Line { bytes: [0; MAX_TEXT], length: 0 }
    }

    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).expect("it is made of text")
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) {
        self.bytes[self.length..][..text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
    }

    /// A letter, which is ASCII.
    #[inline]
    pub(super) fn letter(&mut self, letter: char) {
        self.bytes[self.length] = letter as u8;
        self.length += 1;
    }

    /// A letter, which is ASCII, if it is wanted. It is written anyhow, and counted only then: nobody could predict it.
    #[inline]
    pub(super) fn letter_if(&mut self, wanted: bool, letter: char) {
        self.bytes[self.length] = letter as u8;
        self.length += usize::from(wanted);
    }

    /// Puts a letter, which is ASCII, in the place of the last one.
    #[inline]
    pub(super) fn replace_last(&mut self, letter: char) {
        self.bytes[self.length - 1] = letter as u8;
    }

    #[inline]
    pub(super) fn number(&mut self, number: u8) {
        self.numbers(&[number]);
        self.length -= 1;
    }

    /// Numbers, each with a comma behind it.
    #[inline]
    pub(super) fn numbers(&mut self, numbers: &[u8]) {
        // Not in memory while it is counted on: the place of each number depends on all before it.
        let mut length = self.length;
        for &number in numbers {
            // Four bytes are copied whatever belongs to the number: nobody could predict how many do.
            let (bytes, own) = NUMBERS[usize::from(number)];
            self.bytes[length..][..4].copy_from_slice(&bytes);
            length += usize::from(own);
        }
        self.length = length;
    }

    /// Indices joined by `+`.
    pub(super) fn pits(&mut self, pits: PitSet) {
        for (n, pit) in pits.iter().enumerate() {
            if n > 0 {
                self.letter('+');
            }
            self.number(pit);
        }
    }
}

/// Each number with a comma behind it, and the length of both.
static NUMBERS: [([u8; 4], u8); 256] = {
    let mut all = [([b','; 4], 0); 256];
    let mut number = 0;
    while number < 256 {
        let digits = if number >= 100 {
            3
        } else if number >= 10 {
            2
        } else {
            1
        };
        let mut rest = number;
        let mut place = digits;
        while place > 0 {
            place -= 1;
            all[number].0[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        all[number].1 = digits as u8 + 1;
        number += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in 0..=u8::MAX {
            let mut line = Line::new();
            line.number(number);
            assert_eq!(line.as_str(), number.to_string());
            line.numbers(&[number, 7]);
            line.replace_last('/');
            assert_eq!(line.as_str(), format!("{number}{number},7/"));
        }
    }
}
