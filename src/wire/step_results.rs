//! The answer of StepPositions, which is kept as it is on the wire: it is computed on one thread and sent by another one, and a piece of
//! bytes costs less to hand over and to throw away than a thousand messages with a string each.

use super::proto::PositionStepResult;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, message, skip_field};
use prost::{DecodeError, Message};
use std::fmt;

const NAME: &str = "StepPositionsResponse";
const RESULTS: u32 = 1;

/// One result an item, in order.
#[derive(Debug, Clone, Default)]
pub struct StepPositionsResponse {
    /// In the order of the items.
    pub results: Results,
}

/// Results, in one piece of memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Results {
    /// The field of the answer, with its keys and lengths.
    written: Vec<u8>,
    count: usize,
}

/// About as many bytes as a result has without steps and legal moves.
const LEAN: usize = 96;

impl Results {
    /// None yet, with room for so many lean ones.
    #[must_use]
    pub fn with_capacity(count: usize) -> Results {
        Results { written: Vec::with_capacity(count * LEAN), count: 0 }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How long they are on the wire, in bytes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.written.len()
    }

    /// Them, in order, each read as it is asked for.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PositionStepResult> {
        let mut rest = self.written.as_slice();
        (0..self.count).map(move |_| {
            // Before its length is its key.
            rest.advance(1);
            PositionStepResult::decode_length_delimited(&mut rest).expect("it was written here")
        })
    }

    /// Adds a result.
    pub fn push(&mut self, result: &PositionStepResult) {
        message::encode(RESULTS, result, &mut self.written);
        self.count += 1;
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// As prost would write and read it.
impl Message for StepPositionsResponse {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.results.written);
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        if tag != RESULTS {
            return skip_field(wire_type, tag, buf, ctx);
        }
        let mut result = PositionStepResult::default();
        message::merge(wire_type, &mut result, buf, ctx).map_err(|mut error| {
            error.push(NAME, "results");
            error
        })?;
        self.results.push(&result);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.results.encoded_len()
    }

    fn clear(&mut self) {
        *self = StepPositionsResponse::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::proto::{Refusal, Result};

    /// The same as prost makes it.
    mod generated {
        use super::super::PositionStepResult;

        #[derive(Clone, PartialEq, prost::Message)]
        pub struct StepPositionsResponse {
            #[prost(message, repeated, tag = "1")]
            pub results: Vec<PositionStepResult>,
        }
    }

    fn generated(read: StepPositionsResponse) -> generated::StepPositionsResponse {
        generated::StepPositionsResponse { results: read.results.iter().collect() }
    }

    fn sample() -> generated::StepPositionsResponse {
        let lean = PositionStepResult { position: "gore 4".to_owned(), plies: 20, ..Default::default() };
        let refusal = Refusal { reason: "PIT_EMPTY".to_owned(), message: "9".repeat(300), ..Default::default() };
        let refused = PositionStepResult { refusal: Some(refusal), refused_move: Some(0), ..lean.clone() };
        let over = PositionStepResult { result: Some(Result::default()), legal_moves: vec![String::new(); 2], ..lean.clone() };
        generated::StepPositionsResponse { results: vec![lean, PositionStepResult::default(), refused, over] }
    }

    #[test]
    fn it_is_written_and_read_as_prost_would() {
        let answer = sample();
        let mut results = Results::default();
        assert!(results.is_empty());
        answer.results.iter().for_each(|result| results.push(result));
        let ours = StepPositionsResponse { results };
        let bytes = answer.encode_to_vec();
        assert_eq!((ours.encoded_len(), ours.encode_to_vec()), (bytes.len(), bytes.clone()));
        assert_eq!((ours.results.len(), ours.results.is_empty()), (4, false));
        assert_eq!(format!("{:?}", ours.results), format!("{:?}", answer.results));
        assert_eq!(generated(ours), answer);
        for place in 0..bytes.len() {
            for byte in [0, 1, 8, 10, 18, 0x7F, 0x80, 0xFF] {
                let mut other = bytes.clone();
                other[place] = byte;
                assert_read_alike(&other);
            }
            assert_read_alike(&bytes[..place]);
        }
    }

    fn assert_read_alike(bytes: &[u8]) {
        assert_eq!(
            StepPositionsResponse::decode(bytes).map(generated),
            generated::StepPositionsResponse::decode(bytes),
            "{bytes:?}"
        );
    }
}
