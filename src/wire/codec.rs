//! The codec of the generated code: prost's, with buffers that fit the messages.

use prost::Message;
use std::marker::PhantomData;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstDecoder, ProstEncoder};

/// What a buffer holds at first, in bytes: it grows if need be. Nearly all messages are smaller, and blocks of this size are
/// what allocators are fastest at; tonic's own 8 KiB, twice a call, are not.
const BUFFER: usize = 1_000;
/// An answer is sent in parts of about so many bytes: tonic's own choice.
const YIELD_AT: usize = 32 << 10;

fn buffers() -> BufferSettings {
    BufferSettings::new(BUFFER, YIELD_AT)
}

/// Messages as prost writes and reads them.
#[derive(Debug, Clone)]
pub struct MessageCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for MessageCodec<T, U> {
    fn default() -> MessageCodec<T, U> {
        MessageCodec(PhantomData)
    }
}

impl<T, U> Codec for MessageCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstEncoder::new(buffers())
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstDecoder::new(buffers())
    }
}
