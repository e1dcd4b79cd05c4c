//! Page tokens: the place after which a list goes on, bound to the list's filter.

use crate::service::{Filter, Place};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// What is wrong with a token that can't be used.
pub const FAULT: &str = "the next_page_token of the page before, with the same filter";

/// The token of the page that follows a place.
pub fn write(filter: &Filter, (created, session_id): &Place) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}.{created}.{session_id}", mark(filter)))
}

/// The place that a token stands for, if this server made it for the same filter.
pub fn read(filter: &Filter, token: &str) -> Option<Place> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut parts = text.splitn(3, '.');
    let (given, created, session_id) = (parts.next()?, parts.next()?, parts.next()?);
    (given == mark(filter)).then_some((created.parse().ok()?, session_id.to_owned()))
}

/// Tells filters apart. Tokens are no secret: a forged one only leads to another place of the same list.
fn mark(filter: &Filter) -> String {
    let digest = Sha256::digest(format!("{filter:?}"));
    URL_SAFE_NO_PAD.encode(&digest[..6])
}
