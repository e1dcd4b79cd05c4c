//! What ids and labels may look like.

use super::text::{PLAIN, is_plain};
use std::collections::BTreeMap;
use thiserror::Error;

/// An id that is not well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdFault {
    /// Of a session.
    #[error("a session id is 4 to 63 lower-case letters, digits and hyphens")]
    Session,
    /// Of a request.
    #[error("a request id is at most 64 letters, digits, hyphens and underscores")]
    Request,
}

/// Checks a session id: 4 to 63 lower-case letters, digits and hyphens.
///
/// # Errors
/// When it is not well formed.
pub fn check_session_id(id: &str) -> Result<(), IdFault> {
    let fits = (4..=63).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if fits { Ok(()) } else { Err(IdFault::Session) }
}

/// Checks a request id: 1 to 64 letters, digits, hyphens and underscores.
///
/// # Errors
/// When it is not well formed.
pub fn check_request_id(id: &str) -> Result<(), IdFault> {
    let fits = (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(()) } else { Err(IdFault::Request) }
}

/// The most labels that a session has.
pub const MAX_LABELS: usize = 16;
const MAX_LABEL_BYTES: usize = 63;

/// Labels that can't be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LabelFault {
    /// Too many.
    #[error("at most {MAX_LABELS} labels, not {0}")]
    TooMany(usize),
    /// A key is empty, too long or not plain.
    #[error("the key of a label is 1 to {MAX_LABEL_BYTES} bytes of text {PLAIN}")]
    Key,
    /// A value is too long or not plain.
    #[error("the value of a label is at most {MAX_LABEL_BYTES} bytes of text {PLAIN}")]
    Value,
}

/// Checks labels: at most [`MAX_LABELS`], keys and values at most 63 bytes of plain text.
///
/// # Errors
/// Everything that is wrong with them.
pub fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), Vec<LabelFault>> {
    let plain = |text: &str| text.len() <= MAX_LABEL_BYTES && is_plain(text);
    let mut faults = Vec::new();
    if labels.len() > MAX_LABELS {
        faults.push(LabelFault::TooMany(labels.len()));
    }
    if labels.keys().any(|key| key.is_empty() || !plain(key)) {
        faults.push(LabelFault::Key);
    }
    if labels.values().any(|value| !plain(value)) {
        faults.push(LabelFault::Value);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids() {
        for good in ["abcd", "a-1-b", &"z".repeat(63)] {
            assert_eq!(check_session_id(good), Ok(()), "{good}");
        }
        for bad in ["", "abc", "Abcd", "ab_cd", "abc d", "abcé", &"z".repeat(64)] {
            assert_eq!(check_session_id(bad), Err(IdFault::Session), "{bad}");
        }
    }

    #[test]
    fn request_ids() {
        for good in ["a", "A_b-9", &"z".repeat(64)] {
            assert_eq!(check_request_id(good), Ok(()), "{good}");
        }
        for bad in ["", "a b", "a.b", &"z".repeat(65)] {
            assert_eq!(check_request_id(bad), Err(IdFault::Request), "{bad}");
        }
    }

    #[test]
    fn all_faults_of_labels_at_once() {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(check_labels(&BTreeMap::from([label("team", "crème"), label(&"k".repeat(63), &"v".repeat(63))])), Ok(()));
        let mut labels: BTreeMap<_, _> = (0..MAX_LABELS).map(|n| label(&n.to_string(), "")).collect();
        assert_eq!(check_labels(&labels), Ok(()));
        labels.extend([label("", "turned \u{202E}round")]);
        assert_eq!(check_labels(&labels), Err(vec![LabelFault::TooMany(17), LabelFault::Key, LabelFault::Value]));
        assert_eq!(check_labels(&BTreeMap::from([label(&"k".repeat(64), "")])), Err(vec![LabelFault::Key]));
        assert_eq!(check_labels(&BTreeMap::from([label("k", &"v".repeat(64))])), Err(vec![LabelFault::Value]));
    }
}
