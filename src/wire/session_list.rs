//! ListSessions, outwards.

use super::SessionHandlers;
use super::access::Caller;
use super::convert::timestamp;
use super::page_token;
use super::proto;
use crate::service::{Listed, Page};
use prost::Message;
use tonic::Status;

/// A page ends early when it has grown to this many bytes.
const PAGE_BYTES: usize = 1 << 20;

impl SessionHandlers {
    /// A page of sessions, as a caller may see them.
    pub async fn session_list(
        &self,
        caller: &Caller,
        page: &Page,
        Listed { sessions, mut next }: Listed,
    ) -> Result<proto::ListSessionsResponse, Status> {
        let mut out = Vec::with_capacity(sessions.len());
        let mut bytes = 0;
        let mut last = None;
        for shown in sessions {
            let place = (shown.0.created, shown.0.session_id.clone());
            let Some(session) = self.listed_as(caller, shown).await? else { continue };
            bytes += session.encoded_len();
            if bytes > PAGE_BYTES && !out.is_empty() {
                next = last;
                break;
            }
            last = Some(place);
            out.push(session);
        }
        let next_page_token = next.map(|place| page_token::write(&page.filter, &place)).unwrap_or_default();
        let server_time = Some(timestamp(self.sessions.now()));
        Ok(proto::ListSessionsResponse { sessions: out, next_page_token, server_time })
    }
}
