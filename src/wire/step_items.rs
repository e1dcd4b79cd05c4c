//! The request of StepPositions, which is read and written by hand. Its moves are a character or two each and come by ten thousands: a
//! string of its own for each of them, or for each position, takes longer to make and to throw away than the move takes to play.

use super::proto::PositionStep;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, bool, btree_map, message, skip_field, string};
use prost::{DecodeError, Message};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

const NAME: &str = "StepPositionsRequest";
const GAME: u32 = 1;
const OPTIONS: u32 = 2;
const ITEMS: u32 = 3;
const INCLUDE_LEGAL_MOVES: u32 = 4;
const INCLUDE_STEPS: u32 = 5;

/// What stands before an item's position and before each of its moves.
const POSITION_KEY: u8 = 1 << 3 | WireType::LengthDelimited as u8;
const MOVE_KEY: u8 = 2 << 3 | WireType::LengthDelimited as u8;

/// Positions and moves to play on them: at most 1,000 items, 2,000 moves an item and 100,000 moves in all.
#[derive(Debug, Clone, Default)]
pub struct StepPositionsRequest {
    /// Identifier, the same for all items.
    pub game: String,
    /// Options by name, the same for all items.
    pub options: BTreeMap<String, String>,
    /// At most 1,000.
    pub items: Items,
    /// Whether each result lists the legal moves of its position.
    pub include_legal_moves: bool,
    /// Whether each result bears the steps of its moves.
    pub include_steps: bool,
}

/// The items of a request, all in one piece of memory.
#[derive(Clone, Default)]
pub struct Items {
    /// What the texts are parts of.
    all: String,
    /// Where the texts lie: of each item its position, then its moves.
    texts: Vec<Range<u32>>,
    /// How many texts there are up to the end of each item.
    ends: Vec<usize>,
}

/// A position and moves to play on it, one after the other.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    all: &'a str,
    position: &'a Range<u32>,
    moves: &'a [Range<u32>],
}

impl<'a> Item<'a> {
    /// As text; the start position if empty.
    #[must_use]
    pub fn position(&self) -> &'a str {
        text(self.all, self.position)
    }

    /// As text.
    pub fn moves(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let all = self.all;
        self.moves.iter().map(move |place| text(all, place))
    }
}

fn text<'a>(all: &'a str, place: &Range<u32>) -> &'a str {
    &all[place.start as usize..place.end as usize]
}

impl Items {
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
    pub fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let texts = &self.texts[std::mem::replace(&mut begin, end)..end];
            Item { all: &self.all, position: &texts[0], moves: &texts[1..] }
        })
    }

    /// Adds an item.
    pub fn push(&mut self, item: &PositionStep) {
        for text in std::iter::once(&item.position).chain(&item.moves) {
            let begin = self.all.len();
            self.all.push_str(text);
            self.texts.push(place(begin, self.all.len()));
        }
        self.ends.push(self.texts.len());
    }

    fn merge(&mut self, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        if wire_type == WireType::LengthDelimited
            && let Some((item, length)) = whole_item(buf.chunk())
            && self.push_plain(item)
        {
            buf.advance(length);
            if self.len() == 1 {
                self.make_room(length, buf.remaining());
            }
            return Ok(());
        }
        let mut item = PositionStep::default();
        message::merge(wire_type, &mut item, buf, ctx)?;
        self.push(&item);
        Ok(())
    }

    /// Makes room for what is left of a message, by the length of its first item: others are mostly like it. To grow step by step takes fresh
    /// memory each time, which the system hands out page by page.
    fn make_room(&mut self, first: usize, left: usize) {
        self.all.reserve(left);
        self.texts.reserve(self.texts.len() * (left / first));
        self.ends.reserve(left / first);
    }

    /// Adds an item as clients write it: its position, then its moves, and each so short that its length is one byte. `false`: it is another
    /// one, for prost to read or to refuse, and nothing was added.
    fn push_plain(&mut self, item: &str) -> bool {
        let (all, texts) = (self.all.len(), self.texts.len());
        // Keys and lengths stay between the texts: to copy everything at once is quicker.
        self.all.push_str(item);
        let mut at = 0;
        let position = take(item, &mut at, POSITION_KEY).unwrap_or(0..0);
        self.texts.push(place(all + position.start, all + position.end));
        while let Some(mv) = take(item, &mut at, MOVE_KEY) {
            self.texts.push(place(all + mv.start, all + mv.end));
        }
        let whole = at == item.len();
        if whole {
            self.ends.push(self.texts.len());
        } else {
            self.all.truncate(all);
            self.texts.truncate(texts);
        }
        whole
    }
}

fn place(begin: usize, end: usize) -> Range<u32> {
    let number = |at| u32::try_from(at).expect("messages are shorter than 2 GiB");
    number(begin)..number(end)
}

/// An item that lies in one piece at the beginning of some bytes, behind its length, and where it ends.
fn whole_item(bytes: &[u8]) -> Option<(&str, usize)> {
    let (begin, length) = match *bytes {
        [length @ ..0x80, ..] => (1, usize::from(length)),
        [low, high @ ..0x80, ..] => (2, usize::from(low & 0x7F) | usize::from(high) << 7),
        _ => return None,
    };
    let item = bytes.get(begin..begin + length)?;
    Some((str::from_utf8(item).ok()?, begin + length))
}

/// Takes a text that has this key and a length of one byte, if one comes next, and tells where it lies.
fn take(item: &str, at: &mut usize, key: u8) -> Option<Range<usize>> {
    let [found, length @ ..0x80, ..] = item.as_bytes()[*at..] else { return None };
    let begin = *at + 2;
    let end = begin + usize::from(length);
    if found != key || !item.is_char_boundary(end) {
        return None;
    }
    *at = end;
    Some(begin..end)
}

impl FromIterator<PositionStep> for Items {
    fn from_iter<I: IntoIterator<Item = PositionStep>>(items: I) -> Items {
        let mut all = Items::default();
        items.into_iter().for_each(|item| all.push(&item));
        all
    }
}

impl From<Item<'_>> for PositionStep {
    fn from(item: Item<'_>) -> PositionStep {
        PositionStep { position: item.position().to_owned(), moves: item.moves().map(str::to_owned).collect() }
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(PositionStep::from)).finish()
    }
}

/// As prost would write and read it.
impl Message for StepPositionsRequest {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if !self.game.is_empty() {
            string::encode(GAME, &self.game, buf);
        }
        btree_map::encode(string::encode, string::encoded_len, string::encode, string::encoded_len, OPTIONS, &self.options, buf);
        for item in self.items.iter() {
            message::encode(ITEMS, &PositionStep::from(item), buf);
        }
        if self.include_legal_moves {
            bool::encode(INCLUDE_LEGAL_MOVES, &true, buf);
        }
        if self.include_steps {
            bool::encode(INCLUDE_STEPS, &true, buf);
        }
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        let (field, merged) = match tag {
            GAME => ("game", string::merge(wire_type, &mut self.game, buf, ctx)),
            OPTIONS => ("options", btree_map::merge(string::merge, string::merge, &mut self.options, buf, ctx)),
            ITEMS => ("items", self.items.merge(wire_type, buf, ctx)),
            INCLUDE_LEGAL_MOVES => ("include_legal_moves", bool::merge(wire_type, &mut self.include_legal_moves, buf, ctx)),
            INCLUDE_STEPS => ("include_steps", bool::merge(wire_type, &mut self.include_steps, buf, ctx)),
            _ => return skip_field(wire_type, tag, buf, ctx),
        };
        merged.map_err(|mut error| {
            error.push(NAME, field);
            error
        })
    }

    fn encoded_len(&self) -> usize {
        let game = if self.game.is_empty() { 0 } else { string::encoded_len(GAME, &self.game) };
        let options = btree_map::encoded_len(string::encoded_len, string::encoded_len, OPTIONS, &self.options);
        let items = self.items.iter().map(|item| message::encoded_len(ITEMS, &PositionStep::from(item)));
        let flags = usize::from(self.include_legal_moves) + usize::from(self.include_steps);
        game + options + items.sum::<usize>() + flags * bool::encoded_len(INCLUDE_STEPS, &true)
    }

    fn clear(&mut self) {
        *self = StepPositionsRequest::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as prost makes it.
    mod generated {
        use super::super::PositionStep;
        use std::collections::BTreeMap;

        #[derive(Clone, PartialEq, prost::Message)]
        pub struct StepPositionsRequest {
            #[prost(string, tag = "1")]
            pub game: String,
            #[prost(btree_map = "string, string", tag = "2")]
            pub options: BTreeMap<String, String>,
            #[prost(message, repeated, tag = "3")]
            pub items: Vec<PositionStep>,
            #[prost(bool, tag = "4")]
            pub include_legal_moves: bool,
            #[prost(bool, tag = "5")]
            pub include_steps: bool,
        }
    }

    fn generated(read: StepPositionsRequest) -> generated::StepPositionsRequest {
        let StepPositionsRequest { game, options, items, include_legal_moves, include_steps } = read;
        let items = items.iter().map(PositionStep::from).collect();
        generated::StepPositionsRequest { game, options, items, include_legal_moves, include_steps }
    }

    /// Bytes that are handed out one by one.
    struct OneByOne<'a>(&'a [u8]);

    impl Buf for OneByOne<'_> {
        fn remaining(&self) -> usize {
            self.0.len()
        }

        fn chunk(&self) -> &[u8] {
            &self.0[..self.0.len().min(1)]
        }

        fn advance(&mut self, count: usize) {
            self.0.advance(count);
        }
    }

    fn item(position: &str, moves: &[&str]) -> PositionStep {
        PositionStep { position: position.to_owned(), moves: moves.iter().map(|&mv| mv.to_owned()).collect() }
    }

    /// Items that are read at once and such as are left to prost, in turn.
    fn sample() -> generated::StepPositionsRequest {
        let long = "9".repeat(300);
        let items = [
            ("ayoayo 4", &["3", "13x2"][..]),
            ("", &[]),
            ("é", &["1"]),
            ("", &["3", "", "pass"]),
            ("gore", &["", "é", &long, "offer 1+2"]),
            (&long, &["", ""]),
            ("kiothi", &[]),
        ];
        generated::StepPositionsRequest {
            game: "gore".to_owned(),
            options: [("a".to_owned(), "b".to_owned()), (String::new(), long.clone())].into(),
            items: items.map(|(position, moves)| item(position, moves)).into(),
            include_legal_moves: true,
            include_steps: true,
        }
    }

    /// Also what is broken: the same error, with the same names of fields.
    fn assert_read_alike(bytes: &[u8]) {
        let expected = generated::StepPositionsRequest::decode(bytes);
        assert_eq!(StepPositionsRequest::decode(bytes).map(generated), expected, "{bytes:?}");
        assert_eq!(StepPositionsRequest::decode(OneByOne(bytes)).map(generated), expected, "one by one: {bytes:?}");
    }

    #[test]
    fn it_is_written_and_read_as_prost_would() {
        let request = sample();
        let bytes = request.encode_to_vec();
        let read = StepPositionsRequest::decode(bytes.as_slice()).expect("a message");
        assert_eq!((read.items.len(), read.items.is_empty()), (request.items.len(), false));
        assert_eq!(read.items.iter().map(|item| item.moves().len()).sum::<usize>(), 12);
        assert_eq!((read.encoded_len(), read.encode_to_vec()), (bytes.len(), bytes));
        assert_eq!(format!("{:?}", read.items), format!("{:?}", request.items));
        assert_eq!(generated(read), request);
        assert!(StepPositionsRequest::default().encode_to_vec().is_empty());
    }
    #[test]
    fn whatever_is_read_is_read_as_prost_would() {
        let bytes = sample().encode_to_vec();
        assert_read_alike(&bytes);
        // Every byte replaced by some others, and every length.
        for place in 0..bytes.len() {
            for byte in [0, 1, 2, 8, 10, 18, 26, 34, 0x7F, 0x80, 0xFF] {
                let mut other = bytes.clone();
                other[place] = byte;
                assert_read_alike(&other);
            }
            assert_read_alike(&bytes[..place]);
        }
    }

    #[test]
    fn fields_that_come_in_another_order_are_read_all_the_same() {
        let parts: [&[u8]; 5] = [b"\x0A\x014", b"\x0A\x015", b"\x12\x013", b"\x12\x00", b"\x18\x07"];
        for order in 0..5usize.pow(4) {
            let fields: Vec<u8> = (0..4).flat_map(|place| parts[order / 5usize.pow(place) % 5]).copied().collect();
            let item = [&[26, fields.len() as u8][..], &fields].concat();
            assert_read_alike(&[&item[..], b"\x20\x01", &item].concat());
        }
    }
}
