//! What is kept of a secret: enough to recognise it, and nothing to find it out by.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use subtle::ConstantTimeEq;

/// SHA-256 of a secret. Secrets are random and long, so that neither salt nor a slow function is needed.
///
/// As text: 64 hexadecimal digits. Comparing two takes the same time whatever is in them.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// A hash that was computed.
    #[must_use]
    pub const fn new(sha256: [u8; 32]) -> SecretHash {
        SecretHash(sha256)
    }

    /// From 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<SecretHash> {
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |ascii: u8| char::from(ascii).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
        }
        Some(SecretHash(hash))
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &SecretHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hashes have no business in logs.
impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

impl Serialize for SecretHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SecretHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SecretHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        SecretHash::from_hex(&text).ok_or_else(|| D::Error::custom("not the hash of a secret"))
    }
}

#[cfg(test)]
mod tests {
    use super::SecretHash;

    #[test]
    fn hex_goes_both_ways_and_debug_shows_nothing() {
        let hash = SecretHash::new(std::array::from_fn(|n| n as u8 * 8 + 1));
        assert_eq!(SecretHash::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(SecretHash::from_hex(&hash.to_string().to_uppercase()), Some(hash));
        assert_ne!(hash, SecretHash::new([0; 32]));
        for bad in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert_eq!(SecretHash::from_hex(bad), None, "{bad}");
        }
        assert_eq!(format!("{hash:?}"), "SecretHash(..)");
    }
}
