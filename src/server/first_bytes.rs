//! What a connection says first, by which its protocol is known.

use bytes::{Bytes, BytesMut};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What every connection of HTTP/2 begins with.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The length of a frame's header.
pub const FRAME_HEADER: usize = 9;
/// The longest first line of HTTP/1 that is read.
const LONGEST_LINE: usize = 8 * 1024;

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Reads so much as shows that there is a peer that speaks HTTP: of HTTP/2 the preface and the header of the first frame, of
/// HTTP/1 the first line. Gives what was read, which is yet to be served.
pub async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(Protocol, Bytes)> {
    let mut bytes = BytesMut::with_capacity(1024);
    loop {
        if let Some(protocol) = recognise(&bytes) {
            return Ok((protocol, bytes.freeze()));
        }
        if bytes.len() >= LONGEST_LINE {
            return Err(io::Error::new(ErrorKind::InvalidData, "no end of the first line"));
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

fn recognise(bytes: &[u8]) -> Option<Protocol> {
    let preface = bytes.len().min(PREFACE.len());
    if bytes[..preface] == PREFACE[..preface] {
        return (bytes.len() >= PREFACE.len() + FRAME_HEADER).then_some(Protocol::Http2);
    }
    bytes.contains(&b'\n').then_some(Protocol::Http1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_bytes_tell_the_protocol_however_they_are_cut() {
        let http2 = [PREFACE, &[0; FRAME_HEADER]].concat();
        for (said, protocol) in
            [(&http2[..], Protocol::Http2), (b"POST / HTTP/1.1\r\n", Protocol::Http1), (b"P\n", Protocol::Http1)]
        {
            for cut in 1..said.len() {
                let mut stream = said[..cut].chain(&said[cut..]);
                assert_eq!(read(&mut stream).await.expect("a protocol"), (protocol, Bytes::copy_from_slice(said)));
                assert_eq!(read(&mut &said[..cut]).await.expect_err("not yet").kind(), ErrorKind::UnexpectedEof);
            }
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up() {
        let error = read(&mut tokio::io::repeat(b'a')).await.expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
