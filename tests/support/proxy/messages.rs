//! Messages of Postgres's protocol, as far as a proxy must know them: where they begin and end, and which of them write.

use std::collections::HashSet;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A message as it is on the wire.
pub struct Message {
    /// None: the first message of a client has no tag.
    pub tag: Option<u8>,
    pub bytes: Vec<u8>,
}

/// Longer ones are none.
const LONGEST: usize = 64 << 20;

impl Message {
    /// Reads a message with a tag; none: the other side has closed or the connection is broken.
    pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Message> {
        let tag = stream.read_u8().await.ok()?;
        let mut message = Message::read_rest(stream, vec![tag]).await?;
        message.tag = Some(tag);
        Some(message)
    }

    /// Reads a client's first message.
    pub async fn read_first(stream: &mut (impl AsyncRead + Unpin)) -> Option<Message> {
        Message::read_rest(stream, Vec::new()).await
    }

    async fn read_rest(stream: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>) -> Option<Message> {
        let length = stream.read_u32().await.ok()?;
        bytes.extend(length.to_be_bytes());
        let begun = bytes.len();
        let rest = (length as usize).checked_sub(4).filter(|rest| *rest < LONGEST)?;
        bytes.resize(begun + rest, 0);
        stream.read_exact(&mut bytes[begun..]).await.ok()?;
        Some(Message { tag: None, bytes })
    }

    /// Whether whoever sent it waits for something now.
    pub fn ends(&self) -> bool {
        matches!(self.tag, None | Some(SYNC | SIMPLE_QUERY | READY))
    }

    /// The texts at its beginning.
    fn texts(&self) -> impl Iterator<Item = String> {
        self.bytes[5..].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// What a client says.
pub const BIND: u8 = b'B';
pub const SYNC: u8 = b'S';
const PARSE: u8 = b'P';
const SIMPLE_QUERY: u8 = b'Q';
/// What a server says.
pub const READY: u8 = b'Z';
pub const COMPLETE: u8 = b'C';
pub const NOTIFICATION: u8 = b'A';

/// "Send what you have", of a client.
pub const FLUSH: [u8; 5] = [b'H', 0, 0, 0, 4];
/// "Ready, and in no transaction", of a server.
pub const READY_AND_IDLE: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

/// What is known of a connection from what its client has said.
#[derive(Default)]
pub struct Statements {
    writes: HashSet<String>,
    /// It listens to what other replicas tell.
    pub listens: bool,
}

impl Statements {
    /// Takes note of a message.
    pub fn note(&mut self, message: &Message) {
        if !matches!(message.tag, Some(PARSE | SIMPLE_QUERY)) {
            return;
        }
        let texts: Vec<_> = message.texts().take(2).collect();
        self.listens |= texts.iter().any(|text| text.contains("LISTEN "));
        let [name, sql] = &texts[..] else { return };
        if is_write(sql) {
            self.writes.insert(name.clone());
        } else {
            // The statement without a name is another one each time.
            self.writes.remove(name);
        }
    }

    /// Whether a message begins a write of sessions.
    pub fn begins_write(&self, message: &Message) -> bool {
        message.tag == Some(BIND) && message.texts().nth(1).is_some_and(|name| self.writes.contains(&name))
    }
}

/// Whether a statement makes, changes or deletes sessions.
fn is_write(sql: &str) -> bool {
    sql.contains("INSERT INTO sessions") || sql.contains("UPDATE sessions SET")
}
