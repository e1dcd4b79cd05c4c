//! The watches on a Play stream.

use super::play_commands::{failed, reply};
use super::{Owner, Watcher, messages};
use crate::wire::SessionHandlers;
use crate::wire::fields::Fields;
use crate::wire::proto::play_response::Reply;
use crate::wire::proto::{self, PlayResponse};
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use futures_util::StreamExt;
use futures_util::stream::{AbortHandle, BoxStream, SelectAll, abortable};
use std::collections::HashMap;
use tonic::Status;

/// Watches on one stream, at most.
const WATCHES: usize = 1_000;
const WATCH_SESSION: &str = "/mancala.v1.SessionService/WatchSession";

/// The watches of a stream, by the ids of the commands that began them.
#[derive(Default)]
pub(super) struct Watches {
    pub(super) news: SelectAll<BoxStream<'static, PlayResponse>>,
    pub(super) running: HashMap<String, Running>,
}

pub(super) struct Running {
    handle: AbortHandle,
    version: u32,
}

impl Watches {
    pub(super) async fn begin(
        &mut self,
        handlers: &SessionHandlers,
        owner: &Owner,
        id: String,
        request: proto::WatchSessionRequest,
    ) -> Result<(), Status> {
        if self.running.contains_key(&id) {
            let mut fields = Fields::new();
            fields.fault("command_id", "another one than that of a watch that is running");
            return fields.done(None);
        }
        if self.running.len() >= WATCHES {
            let text = format!("the stream has {WATCHES} watches already; end one, or open another stream");
            return Err(Refused::new(Reason::TooManyWatches, text, vec![("most", WATCHES.to_string())]).into_status());
        }
        owner.count(WATCH_SESSION)?;
        // It lives no longer than the stream that it is on.
        let watcher = Watcher::begin(handlers, owner, None, request).await?;
        let own = id.clone();
        let news = messages(watcher).map(move |news| match news {
            Ok(news) => reply(own.clone(), Reply::WatchSession(news)),
            Err(status) => failed(own.clone(), &status),
        });
        let (news, handle) = abortable(news);
        self.news.push(Box::pin(news));
        self.running.insert(id, Running { handle, version: 0 });
        Ok(())
    }

    /// Notes how far a watch has come, or that it has ended.
    pub(super) fn note(&mut self, PlayResponse { command_id, reply }: &PlayResponse) {
        match reply {
            Some(Reply::WatchSession(news)) => {
                if let Some(running) = self.running.get_mut(command_id) {
                    running.version = news.version;
                }
            }
            _ => {
                self.running.remove(command_id);
            }
        }
    }

    /// Ends a watch, and gives where it had come.
    pub(super) fn stop(&mut self, command_id: &str) -> u32 {
        let Some(running) = self.running.remove(command_id) else { return 0 };
        running.handle.abort();
        running.version
    }
}
