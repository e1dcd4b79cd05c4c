//! The codec of the generated code: prost's, with buffers that fit the messages.

use prost::Message;
use prost::bytes::Buf;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::ProstEncoder;

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
    type Decoder = MessageDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstEncoder::new(buffers())
    }

    fn decoder(&mut self) -> MessageDecoder<U> {
        MessageDecoder(PhantomData)
    }
}

/// Reads messages as tonic's own decoder does, but from a slice of bytes: a message lies in one piece, and prost reads a slice several times
/// as fast as it does a buffer that has to be asked for every byte.
#[derive(Debug, Clone)]
pub struct MessageDecoder<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for MessageDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let length = buf.remaining();
        let read = if buf.chunk().len() == length { U::decode(buf.chunk()) } else { U::decode(&mut *buf) };
        buf.advance(buf.remaining());
        read.map(Some).map_err(|error| Status::internal(error.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffers()
    }
}
