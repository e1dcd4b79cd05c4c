//! A line of text in the making.

use super::PitSet;
use super::text::MAX_TEXT;
use arrayvec::ArrayVec;

/// Text that is put together on the stack and then handed to its formatter in one piece: positions are written with every move, and
/// formatters take their time over each of some forty small pieces. Nothing that is written here is longer than what is read.
/// It is kept as bytes, all of them ASCII, since characters would each be asked for their length.
pub(super) struct Line(ArrayVec<u8, MAX_TEXT>);

impl Line {
    pub(super) const fn new() -> Line {
        Line(ArrayVec::new_const())
    }

    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("only ASCII is written")
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) {
        self.0.try_extend_from_slice(text.as_bytes()).expect("a line has room for all that is written");
    }

    /// A letter or a sign, which must be ASCII.
    #[inline]
    pub(super) fn sign(&mut self, sign: u8) {
        self.0.push(sign);
    }

    #[inline]
    pub(super) fn number(&mut self, number: u8) {
        // A copy of known length takes two instructions, one of as many bytes as there are digits a call.
        let Decimal { digits, count } = DECIMALS[usize::from(number)];
        self.0.try_extend_from_slice(&digits).expect("a line has room for all that is written");
        self.0.truncate(self.0.len() - digits.len() + usize::from(count));
    }

    /// Indices joined by `+`.
    pub(super) fn pits(&mut self, pits: PitSet) {
        for (n, pit) in pits.iter().enumerate() {
            if n > 0 {
                self.sign(b'+');
            }
            self.number(pit);
        }
    }
}

/// A number as text: its digits from the left.
#[derive(Clone, Copy)]
struct Decimal {
    digits: [u8; 3],
    count: u8,
}

static DECIMALS: [Decimal; 256] = {
    let mut decimals = [Decimal { digits: [0; 3], count: 0 }; 256];
    let mut number = 0;
    while number < decimals.len() {
        let [hundreds, tens, ones] = [b'0' + (number / 100) as u8, b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
        decimals[number] = match number {
            0..10 => Decimal { digits: [ones, 0, 0], count: 1 },
            10..100 => Decimal { digits: [tens, ones, 0], count: 2 },
            _ => Decimal { digits: [hundreds, tens, ones], count: 3 },
        };
        number += 1;
    }
    decimals
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
        }
    }
}
