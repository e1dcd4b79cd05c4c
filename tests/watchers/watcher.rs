//! Those who watch one session, with cuts of all kinds, and write down what they see.

use crate::app::PATIENCE;
use crate::place::Place;
use crate::truth::Truth;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, PlayRequest, WatchSessionRequest, WatchSessionResponse};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;
use tonic::{Response, Status};
use tonic_types::StatusExt;

/// One who watches.
pub struct Watcher {
    pub place: Place,
    pub truth: Truth,
    pub session_id: String,
    pub dice: SeededDice,
    pub include_steps: bool,
    /// By a command of a Play stream.
    pub by_play: bool,
}

/// What one has seen.
pub struct Seen {
    pub session_id: String,
    pub include_steps: bool,
    /// It wanted the events after this.
    pub start: u32,
    pub messages: Vec<WatchSessionResponse>,
    /// Its watch ended because the session was deleted.
    pub deleted: bool,
    pub ends: Ends,
}

/// How often its streams ended, and how.
#[derive(Debug, Default, Clone, Copy)]
pub struct Ends {
    pub dropped: u32,
    pub aged: u32,
    pub stopped: u32,
    pub broken: u32,
}

/// How a stream ended.
enum End {
    All,
    Deleted,
    Cut,
}

impl Watcher {
    pub async fn run(mut self) -> Seen {
        let known = u64::from(self.truth.known(&self.session_id));
        let from_now = self.dice.below(4) == 0;
        let start = if from_now { None } else { Some(self.dice.below(known + 1) as u32) };
        let include_snapshot = start != Some(0) && self.dice.below(2) == 0;
        let mut request = WatchSessionRequest {
            session_id: self.session_id.clone(),
            after_version: start,
            include_snapshot,
            include_steps: self.include_steps,
        };
        let mut seen = Seen {
            session_id: self.session_id.clone(),
            include_steps: self.include_steps,
            start: start.unwrap_or(0),
            messages: Vec::new(),
            deleted: false,
            ends: Ends::default(),
        };
        let mut channel = self.place.connect().await;
        loop {
            match self.watch(&channel, request.clone(), &mut seen).await {
                End::All => return seen,
                End::Deleted => {
                    seen.deleted = true;
                    return seen;
                }
                End::Cut => {}
            }
            if let Some(last) = seen.messages.last() {
                request.after_version = Some(last.version);
                request.include_snapshot = last.version > 0 && self.dice.below(4) == 0;
            }
            if self.dice.below(2) == 0 || channel_is_of_another(&seen) {
                channel = self.place.connect().await;
            }
        }
    }

    async fn watch(&mut self, channel: &Channel, request: WatchSessionRequest, seen: &mut Seen) -> End {
        let mut first = true;
        let wanted = request.after_version;
        let snapshot = request.include_snapshot;
        let mut messages = match open(channel, request, self.by_play).await {
            Ok(messages) => messages,
            Err(failure) => return self.judge(failure, seen),
        };
        let messages_to_drop = 1 + self.dice.below(20);
        for _ in 0..messages_to_drop {
            let at = seen.messages.last().map_or(0, |last| last.version);
            if !first && self.truth.finished().is_some_and(|last| last.get(&self.session_id).is_none_or(|last| *last == at)) {
                return End::All;
            }
            // Whoever has everything has to be told that nothing follows.
            let next = tokio::select! {
                next = timeout(PATIENCE, messages.next()) => next.expect("a sign of life"),
                () = self.truth.wait_for_end(), if !first && self.truth.finished().is_none() => continue,
            };
            let message = match next {
                Some(Ok(message)) => message,
                Some(Err(failure)) => return self.judge(failure, seen),
                // A Play stream has no other end when its connection breaks in good order.
                None => return End::Cut,
            };
            if first {
                first = false;
                let session = message.session.as_ref().map(|session| session.version);
                assert_eq!(session.is_some(), snapshot, "the snapshot comes first, and once");
                if seen.messages.is_empty() {
                    seen.start = wanted.or(session).unwrap_or(0);
                }
                if let Some(session) = session {
                    assert_eq!(session, message.version - message.events.len() as u32, "events follow on the snapshot");
                }
            } else {
                assert_eq!(message.session, None, "one snapshot a watch");
            }
            seen.messages.push(message);
            if self.dice.below(3) == 0 {
                tokio::time::sleep(Duration::from_millis(self.dice.below(30))).await;
            }
        }
        seen.ends.dropped += 1;
        End::Cut
    }

    fn judge(&self, failure: Failure, seen: &mut Seen) -> End {
        let Some((reason, resume_after)) = failure.reason else {
            seen.ends.broken += 1;
            return End::Cut;
        };
        let at = seen.messages.last().map(|last| last.version.to_string());
        // A Play stream itself, which may have many watches, ends without a version.
        let of_stream = self.by_play && resume_after.as_ref().is_some_and(String::is_empty);
        let right = at.is_none() || resume_after.is_none() || of_stream || resume_after == at;
        assert!(right, "resume after {resume_after:?} when all up to {at:?} is there");
        match reason.as_str() {
            "STREAM_AGED" => seen.ends.aged += 1,
            "STREAM_STOPPING" => seen.ends.stopped += 1,
            "SESSION_NOT_FOUND" => {
                assert!(self.truth.is_deleted(&self.session_id), "{} is not gone", self.session_id);
                return End::Deleted;
            }
            // The server is about to stop.
            "STORE_UNAVAILABLE" | "STOPPING" => seen.ends.broken += 1,
            reason => panic!("{reason} ends no watch"),
        }
        End::Cut
    }
}

/// After a stop the old connection leads nowhere.
fn channel_is_of_another(seen: &Seen) -> bool {
    seen.ends.stopped + seen.ends.broken > 0
}

/// Why a stream ended: its reason, and what to resume after; none if the connection broke.
pub struct Failure {
    pub reason: Option<(String, Option<String>)>,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        let info = status.get_details_error_info();
        Failure { reason: info.map(|info| (info.reason, info.metadata.get("resume_after").cloned())) }
    }
}

type Messages = std::pin::Pin<Box<dyn tokio_stream::Stream<Item = Result<WatchSessionResponse, Failure>> + Send>>;

async fn open(channel: &Channel, request: WatchSessionRequest, by_play: bool) -> Result<Messages, Failure> {
    let mut client = SessionServiceClient::new(channel.clone());
    if !by_play {
        let messages = client.watch_session(request).await.map(Response::into_inner)?;
        return Ok(Box::pin(messages.map(|message| message.map_err(Failure::from))));
    }
    let (commands, sent) = mpsc::unbounded_channel();
    let watch = PlayRequest { command_id: "eye".to_owned(), command: Some(Command::WatchSession(request)) };
    commands.send(watch).expect("room");
    let replies = client.play(UnboundedReceiverStream::new(sent)).await.map(Response::into_inner)?;
    Ok(Box::pin(replies.map(move |reply| {
        // The caller's side stays open as long as somebody listens.
        let _open = &commands;
        let proto::PlayResponse { command_id, reply } = reply?;
        assert_eq!(command_id, "eye");
        match reply.expect("a reply") {
            Reply::WatchSession(message) => Ok(message),
            Reply::Failure(failure) => {
                let refusal = failure.refusal.expect("a reason");
                Err(Failure { reason: Some((refusal.reason, refusal.metadata.get("resume_after").cloned())) })
            }
            other => panic!("nobody asked for {other:?}"),
        }
    })))
}
