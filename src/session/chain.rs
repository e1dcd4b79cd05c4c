//! The chain of hashes: each event's hash covers the one before it, so that a changed history shows.
//!
//! The hash of an event is SHA-256 over, in this order: the 32 bytes of the hash before it ([`EventHash::START`] for the first event);
//! its version, as 4 bytes; its time, as 8 bytes; the length of its request id in bytes, as 8 bytes, and the request id, which is
//! empty if there is none; the length of its body, as 8 bytes, and the body as it is stored. Numbers are little-endian.
//!
//! Neither the session's id nor what a request asked for is covered: a session keeps its chain under another id.

use super::Micros;
use sha2::{Digest, Sha256};
use std::fmt;

/// The hash of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventHash([u8; 32]);

/// The first digits of a hash, which records show with every event.
pub const SHORT_DIGITS: usize = 16;

impl EventHash {
    /// What stands before the first event.
    pub const START: EventHash = EventHash([0; 32]);

    /// From the bytes that are stored.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> EventHash {
        EventHash(bytes)
    }

    /// To be stored.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash of the event that follows one with this hash.
    #[must_use]
    pub fn then(&self, version: u32, time: Micros, request_id: Option<&str>, body: &str) -> EventHash {
        let request_id = request_id.unwrap_or_default();
        let mut sha = Sha256::new();
        sha.update(self.0);
        sha.update(version.to_le_bytes());
        sha.update(time.to_le_bytes());
        for text in [request_id, body] {
            sha.update((text.len() as u64).to_le_bytes());
            sha.update(text);
        }
        EventHash(sha.finalize().into())
    }

    /// Its first 16 digits.
    #[must_use]
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(SHORT_DIGITS);
        digits
    }

    /// From 64 lower-case hexadecimal digits; `None` if it is something else.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<EventHash> {
        let mut bytes = [0; 32];
        if digits.len() != 64 || !is_lower_hex(digits) {
            return None;
        }
        for (byte, place) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[place..place + 2], 16).ok()?;
        }
        Some(EventHash(bytes))
    }
}

/// Whether a text is made of lower-case hexadecimal digits.
pub(super) fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// 64 lower-case hexadecimal digits.
impl fmt::Display for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        f.write_str(std::str::from_utf8(digits.as_flattened()).expect("digits are ASCII"))
    }
}

impl fmt::Debug for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_what_its_description_says() {
        let mut bytes = vec![0; 32];
        bytes.extend([1, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, b'r']);
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']);
        let expected = EventHash::new(Sha256::digest(&bytes).into());
        assert_eq!(EventHash::START.then(1, 2, Some("r"), "{}"), expected);
        // Pinned: stored chains depend on it.
        assert_eq!(EventHash::START.then(1, 0, None, "").to_string(), PINNED);
    }

    const PINNED: &str = "4fd1d2ff6c51602f713ecc93de04b68c467fce612e546aeea886223b02304d63";

    #[test]
    fn every_part_counts() {
        let base = EventHash::START.then(2, 10, Some("ab"), "cd");
        let others = [
            base.then(2, 10, Some("ab"), "cd"),
            EventHash::START.then(3, 10, Some("ab"), "cd"),
            EventHash::START.then(2, 11, Some("ab"), "cd"),
            EventHash::START.then(2, 10, Some("a"), "bcd"),
            EventHash::START.then(2, 10, None, "abcd"),
            EventHash::START.then(2, 10, Some("ab"), "ce"),
        ];
        for other in others {
            assert_ne!(other, base);
        }
    }

    #[test]
    fn hexadecimal_there_and_back() {
        let hash = EventHash::START.then(1, 2, None, "x");
        assert_eq!(EventHash::from_hex(&hash.to_string()), Some(hash));
        assert!(hash.to_string().starts_with(&hash.short()));
        let upper = hash.to_string().to_uppercase();
        for bad in ["", "00", &upper, &format!("{hash}0"), &"é".repeat(32)] {
            assert_eq!(EventHash::from_hex(bad), None, "{bad}");
        }
    }
}
