//! Play: commands in, replies and news out.

use super::life::{End, Life};
use super::play_commands::{carry_out, carry_out_row, failed, reply, session_of};
use super::play_watches::Watches;
use super::{Messages, Owner};
use crate::wire::SessionHandlers;
use crate::wire::complete::refused;
use crate::wire::fields::Fields;
use crate::wire::proto::play_request::Command;
use crate::wire::proto::play_response::Reply;
use crate::wire::proto::{self, PlayRequest, PlayResponse};
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use prost::Message;
use std::collections::{HashMap, VecDeque};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

/// Commands that wait for their replies, at most, and their bytes: while there are so many no more are read.
const WAITING: usize = 1_024;
const WAITING_BYTES: usize = 256 << 10;
/// Replies that wait to be taken, at most, in groups of those that came together.
const OUTGOING: usize = 4;
/// Requests that are taken in one go, at most: about a millisecond, which others on this thread wait.
const AT_ONCE: usize = 512;

/// Answers the commands of a stream. It ends when the caller has ended its side and has all its replies and no watches.
pub fn play(
    handlers: SessionHandlers,
    owner: Owner,
    until: Option<Instant>,
    incoming: Streaming<PlayRequest>,
) -> Messages<PlayResponse> {
    let (outgoing, replies) = mpsc::channel(OUTGOING);
    let life = Life::new(&handlers.streams, until);
    let player = Player {
        handlers,
        owner,
        outgoing,
        waiting: 0,
        waiting_bytes: 0,
        sessions: HashMap::new(),
        new: Vec::new(),
        due: VecDeque::new(),
        running: JoinSet::new(),
    };
    // A task of its own: commands are carried out whether or not somebody takes replies at that moment.
    tokio::spawn(player.run(incoming, life));
    Box::pin(ReceiverStream::new(replies).map_ok(|group| stream::iter(group.into_iter().map(Ok))).try_flatten())
}

/// A command that is well formed so far.
struct Waiting {
    id: String,
    command: Command,
    bytes: usize,
}

/// Commands that were carried out: the session that they were on, the bytes that they took, and the replies.
struct Done {
    session_id: String,
    bytes: usize,
    replies: Vec<PlayResponse>,
}

struct Player {
    handlers: SessionHandlers,
    owner: Owner,
    outgoing: mpsc::Sender<Result<Vec<PlayResponse>, Status>>,
    waiting: usize,
    waiting_bytes: usize,
    /// Sessions on which a command runs or is about to, with those that wait for it.
    sessions: HashMap<String, VecDeque<Waiting>>,
    /// Those of them on which it is about to.
    new: Vec<String>,
    /// Watches whose turn it is, with their sessions.
    due: VecDeque<(String, Waiting)>,
    /// Each in a task of its own: while replies are not taken nothing here is carried on, and a command may hold what others wait for.
    running: JoinSet<Done>,
}

/// Why a stream ends before its end.
enum Cut {
    /// The caller has gone.
    Gone,
    /// With this status.
    With(Status),
}

impl Player {
    async fn run(mut self, incoming: Streaming<PlayRequest>, life: Life) {
        // Nobody is left to be told anything if the caller has gone.
        if let Err(Cut::With(status)) = self.play(incoming, life).await {
            let _ = self.outgoing.send(Err(status)).await;
        }
    }

    async fn play(&mut self, mut incoming: Streaming<PlayRequest>, mut life: Life) -> Result<(), Cut> {
        let mut watches = Watches::default();
        let mut open = true;
        while open || self.waiting > 0 || !watches.running.is_empty() {
            self.begin_due(&mut watches).await?;
            tokio::select! {
                Some(done) = self.running.join_next() => self.answer(done).await?,
                request = incoming.message(), if open && self.has_room() => {
                    open = self.take_all(request, &mut incoming, &mut watches).await?;
                }
                Some(news) = watches.news.next(), if !watches.news.is_empty() => {
                    watches.note(&news);
                    self.send(vec![news]).await?;
                }
                () = self.outgoing.closed() => return Err(Cut::Gone),
                woken = life.wait(std::future::pending()) => {
                    if let Err(end) = woken {
                        // Who waits no longer takes no replies.
                        if !matches!(end, End::Deadline(_)) {
                            self.finish().await?;
                        }
                        return Err(Cut::With(end.status("")));
                    }
                    life.beat();
                }
            }
        }
        Ok(())
    }

    /// Waits for the commands that are carried out, while somebody takes their replies.
    async fn finish(&mut self) -> Result<(), Cut> {
        loop {
            while let Some((session_id, watch)) = self.due.pop_front() {
                self.pass(session_id, watch.bytes);
            }
            tokio::select! {
                done = self.running.join_next() => match done {
                    Some(done) => self.answer(done).await?,
                    None => return Ok(()),
                },
                () = self.outgoing.closed() => return Err(Cut::Gone),
            }
        }
    }

    /// Sends the replies to commands, and starts what waited for them.
    async fn answer(&mut self, done: Result<Done, JoinError>) -> Result<(), Cut> {
        // Nobody cancels it, so that it has panicked.
        let done = done.map_err(|_panic| Cut::With(Refused::plain(Reason::Internal).into_status()))?;
        let Done { session_id, bytes, replies } = done;
        self.waiting -= replies.len();
        self.waiting_bytes -= bytes;
        self.run_next(session_id);
        self.send(replies).await
    }

    /// Begins the watches whose turn it is: they follow what was sent before them on their sessions.
    async fn begin_due(&mut self, watches: &mut Watches) -> Result<(), Cut> {
        while let Some((session_id, Waiting { id, command, bytes })) = self.due.pop_front() {
            let Command::WatchSession(request) = command else { continue };
            let begun = watches.begin(&self.handlers, &self.owner, id.clone(), request).await;
            self.pass(session_id, bytes);
            if let Err(status) = begun {
                self.send(vec![failed(id, &status)]).await?;
            }
        }
        Ok(())
    }

    /// Goes on behind a watch.
    fn pass(&mut self, session_id: String, bytes: usize) {
        self.waiting -= 1;
        self.waiting_bytes -= bytes;
        self.run_next(session_id);
    }

    /// Forgets a watch that has not begun. Whether there was one.
    fn forget_watch(&mut self, command_id: &str) -> bool {
        let is_it = |waiting: &Waiting| waiting.id == command_id && matches!(waiting.command, Command::WatchSession(_));
        let found = self.sessions.values_mut().find_map(|waiting| waiting.remove(waiting.iter().position(is_it)?));
        if let Some(Waiting { bytes, .. }) = &found {
            self.waiting -= 1;
            self.waiting_bytes -= bytes;
        }
        found.is_some()
    }

    async fn send(&mut self, replies: Vec<PlayResponse>) -> Result<(), Cut> {
        if replies.is_empty() {
            return Ok(());
        }
        self.outgoing.send(Ok(replies)).await.map_err(|_closed| Cut::Gone)
    }

    const fn has_room(&self) -> bool {
        self.waiting < WAITING && self.waiting_bytes < WAITING_BYTES
    }

    /// Takes a request and what has arrived behind it, and only then starts what can start, so that moves on one session that came together
    /// are stored together. Whether more may come.
    async fn take_all(
        &mut self,
        request: Result<Option<PlayRequest>, Status>,
        incoming: &mut Streaming<PlayRequest>,
        watches: &mut Watches,
    ) -> Result<bool, Cut> {
        let mut replies = Vec::new();
        let mut next = Some(request);
        let mut taken = 0;
        while let Some(Ok(Some(request))) = next {
            replies.extend(self.take(request, watches));
            taken += 1;
            let may_go_on = self.has_room() && taken < AT_ONCE;
            next = if may_go_on { incoming.message().now_or_never() } else { None };
        }
        for session_id in std::mem::take(&mut self.new) {
            self.run_next(session_id);
        }
        self.send(replies).await?;
        match next {
            None => Ok(true),
            Some(Ok(_)) => Ok(false),
            // What can't be read ends the stream: where the next message would begin is not known.
            Some(Err(status)) => {
                self.finish().await?;
                Err(refused(&status).map_or(Cut::Gone, |refused| Cut::With(refused.into_status())))
            }
        }
    }

    /// Takes a request. The reply to it, if it is not carried out by a task.
    fn take(&mut self, request: PlayRequest, watches: &mut Watches) -> Option<PlayResponse> {
        let bytes = request.encoded_len();
        let PlayRequest { command_id, command } = request;
        let mut fields = Fields::new();
        // What can't be an id is not repeated.
        let id = fields.command_id(command_id).unwrap_or_default();
        if command.is_none() {
            fields.fault("command", "one of those that this server knows");
        }
        let command = match fields.done(command) {
            Err(status) => return Some(failed(id, &status)),
            Ok(Command::StopWatch(request)) => {
                let version = if self.forget_watch(&request.command_id) { 0 } else { watches.stop(&request.command_id) };
                return Some(reply(id, Reply::StopWatch(proto::StopWatchResponse { version })));
            }
            Ok(command) => command,
        };
        self.waiting += 1;
        self.waiting_bytes += bytes;
        let session_id = session_of(&command);
        match self.sessions.get_mut(session_id) {
            Some(before) => before.push_back(Waiting { id, command, bytes }),
            // Commands on no session yet wait for nothing.
            None if session_id.is_empty() => self.start_next(String::new(), Waiting { id, command, bytes }),
            None => {
                self.new.push(session_id.to_owned());
                self.sessions.insert(session_id.to_owned(), VecDeque::from([Waiting { id, command, bytes }]));
            }
        }
        None
    }

    /// Starts what waited for the last command on its session: if it is a move, the moves after it too.
    fn run_next(&mut self, session_id: String) {
        let Some(waiting) = self.sessions.get_mut(&session_id) else { return };
        let is_move = |waiting: &Waiting| matches!(waiting.command, Command::ApplyMove(_));
        // Where moves are stored one by one, each is answered by itself.
        let longest = self.handlers.sessions.longest_row();
        let moves = waiting.iter().take(longest).take_while(|next| is_move(next)).count();
        if moves > 1 {
            let row = waiting.drain(..moves).collect();
            return self.start_row(session_id, row);
        }
        match waiting.pop_front() {
            Some(next) => self.start_next(session_id, next),
            None => {
                self.sessions.remove(&session_id);
            }
        }
    }

    fn start_next(&mut self, session_id: String, next: Waiting) {
        match next.command {
            Command::WatchSession(_) => self.due.push_back((session_id, next)),
            _ => self.start(session_id, next),
        }
    }

    fn start(&mut self, session_id: String, Waiting { id, command, bytes }: Waiting) {
        let (handlers, owner) = (self.handlers.clone(), self.owner.clone());
        self.running.spawn(async move {
            let reply = match carry_out(&handlers, &owner, command).await {
                Ok(done) => reply(id, done),
                Err(status) => failed(id, &status),
            };
            Done { session_id, bytes, replies: vec![reply] }
        });
    }

    /// Starts moves on one session.
    fn start_row(&mut self, session_id: String, row: Vec<Waiting>) {
        let (handlers, owner) = (self.handlers.clone(), self.owner.clone());
        self.running.spawn(async move {
            let bytes = row.iter().map(|waiting| waiting.bytes).sum();
            let (mut ids, mut requests) = (Vec::with_capacity(row.len()), Vec::with_capacity(row.len()));
            for Waiting { id, command, .. } in row {
                if let Command::ApplyMove(request) = command {
                    ids.push(id);
                    requests.push(request);
                }
            }
            let answers = carry_out_row(&handlers, &owner, requests).await;
            let replies = ids.into_iter().zip(answers).map(|(id, answer)| match answer {
                Ok(answer) => reply(id, Reply::ApplyMove(answer)),
                Err(status) => failed(id, &status),
            });
            Done { session_id, bytes, replies: replies.collect() }
        });
    }
}
