//! An item of StepPositions, which is read and written by hand. Its moves are a character or two each and come by ten thousands: a
//! string of its own for each of them takes longer to make and to throw away than the move takes to play.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, key_len, skip_field, string};
use prost::{DecodeError, Message};

const POSITION: u32 = 1;
const MOVES: u32 = 2;

/// A position and moves to play on it, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PositionStep {
    /// As text; the start position if empty.
    pub position: String,
    /// As text, at most 2,000.
    pub moves: Texts,
}

/// Short texts in one string, one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Texts {
    all: String,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// Where the next one is read. It is empty but for that, and keeps its memory.
    read: String,
}

impl Texts {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| &self.all[std::mem::replace(&mut begin, end)..end])
    }

    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    fn merge(&mut self, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        string::merge(wire_type, &mut self.read, buf, ctx)?;
        self.all.push_str(&self.read);
        self.ends.push(self.all.len());
        self.read.clear();
        Ok(())
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Texts {
        let mut all = Texts::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}

/// As prost would write and read it.
impl Message for PositionStep {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if !self.position.is_empty() {
            string::encode(POSITION, &self.position, buf);
        }
        for text in self.moves.iter() {
            encode_key(MOVES, WireType::LengthDelimited, buf);
            encode_varint(text.len() as u64, buf);
            buf.put_slice(text.as_bytes());
        }
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        match tag {
            POSITION => string::merge(wire_type, &mut self.position, buf, ctx),
            MOVES => self.moves.merge(wire_type, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let position = if self.position.is_empty() { 0 } else { string::encoded_len(POSITION, &self.position) };
        let moves = self.moves.iter().map(|text| key_len(MOVES) + encoded_len_varint(text.len() as u64) + text.len());
        position + moves.sum::<usize>()
    }

    fn clear(&mut self) {
        *self = PositionStep::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as prost makes it.
    #[derive(Clone, PartialEq, prost::Message)]
    struct Generated {
        #[prost(string, tag = "1")]
        position: String,
        #[prost(string, repeated, tag = "2")]
        moves: Vec<String>,
    }

    fn both(position: &str, moves: &[&str]) -> (PositionStep, Generated) {
        let generated = Generated { position: position.to_owned(), moves: moves.iter().map(|&mv| mv.to_owned()).collect() };
        (PositionStep { position: position.to_owned(), moves: moves.iter().collect() }, generated)
    }

    #[test]
    fn it_is_written_and_read_as_prost_would() {
        let long = "9".repeat(300);
        for (position, moves) in
            [("", &[][..]), ("ayoayo", &[]), ("", &["3"]), ("gore", &["", "0+1>2:3", "", "é", &long, "pass"]), (&long, &["", ""])]
        {
            let (ours, generated) = both(position, moves);
            let bytes = generated.encode_to_vec();
            assert_eq!(ours.encode_to_vec(), bytes, "{moves:?}");
            let read = PositionStep::decode(bytes.as_slice()).expect("a message");
            assert_eq!(read, ours, "{moves:?}");
            assert_eq!(read.moves.iter().collect::<Vec<_>>(), moves);
            assert_eq!((read.moves.len(), read.moves.is_empty()), (moves.len(), moves.is_empty()));
        }
    }

    #[test]
    fn what_is_broken_is_broken_as_for_prost() {
        let (_, generated) = both("gore 4", &["1", "offer 1+2", "é"]);
        let bytes = generated.encode_to_vec();
        // Every byte replaced by some others, and every length.
        for place in 0..bytes.len() {
            for byte in [0, 1, 8, 10, 18, 26, 0x7F, 0x80, 0xFF] {
                let mut broken = bytes.clone();
                broken[place] = byte;
                assert_read_alike(&broken);
            }
            assert_read_alike(&bytes[..place]);
        }
    }

    fn assert_read_alike(bytes: &[u8]) {
        let (ours, generated) = (PositionStep::decode(bytes), Generated::decode(bytes));
        match (ours, generated) {
            (Ok(ours), Ok(generated)) => {
                assert_eq!(ours.position, generated.position, "{bytes:?}");
                assert_eq!(ours.moves.iter().collect::<Vec<_>>(), generated.moves, "{bytes:?}");
            }
            (ours, generated) => assert_eq!(ours.is_err(), generated.is_err(), "{bytes:?}"),
        }
    }
}
