//! ListSessions, outwards.

use super::convert::listed;
use super::page_token;
use super::proto;
use crate::service::{Listed, Page};
use prost::Message;

/// A page ends early when it has grown to this many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A page of sessions.
pub fn session_list(page: &Page, Listed { sessions, mut next }: Listed) -> proto::ListSessionsResponse {
    let mut out = Vec::with_capacity(sessions.len());
    let mut bytes = 0;
    let mut last = None;
    for (head, view, position) in sessions {
        let place = (head.created, head.session_id.clone());
        let session = listed(head, view, &position);
        bytes += session.encoded_len();
        if bytes > PAGE_BYTES && !out.is_empty() {
            next = last;
            break;
        }
        last = Some(place);
        out.push(session);
    }
    let next_page_token = next.map(|place| page_token::write(&page.filter, &place)).unwrap_or_default();
    proto::ListSessionsResponse { sessions: out, next_page_token }
}
