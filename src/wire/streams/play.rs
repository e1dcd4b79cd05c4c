//! Play: commands in, replies and news out.

use super::life::{End, Life};
use super::{Messages, Owner, Watcher, messages};
use crate::wire::SessionHandlers;
use crate::wire::access::may_call;
use crate::wire::complete::refused;
use crate::wire::fields::Fields;
use crate::wire::proto::play_request::Command;
use crate::wire::proto::play_response::Reply;
use crate::wire::proto::session_service_server::SessionService;
use crate::wire::proto::{self, PlayRequest, PlayResponse};
use crate::wire::reason::{Reason, code_name};
use crate::wire::refuse::Refused;
use futures_util::stream::{self, AbortHandle, BoxStream, SelectAll, abortable};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use prost::Message;
use std::collections::{HashMap, VecDeque};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tonic_types::StatusExt;

/// Commands that wait for their replies, at most, and their bytes: while there are so many no more are read.
const WAITING: usize = 1_024;
const WAITING_BYTES: usize = 256 << 10;
/// Replies that wait to be taken, at most, in groups of those that came together.
const OUTGOING: usize = 4;
/// Requests that are taken in one go, at most: about a millisecond, which others on this thread wait.
const AT_ONCE: usize = 512;
/// Watches on one stream, at most.
const WATCHES: usize = 1_000;
const APPLY_MOVE: &str = "/mancala.v1.SessionService/ApplyMove";
const WATCH_SESSION: &str = "/mancala.v1.SessionService/WatchSession";

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
            replies.extend(self.take(request, watches).await);
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
    async fn take(&mut self, request: PlayRequest, watches: &mut Watches) -> Option<PlayResponse> {
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
            Ok(Command::WatchSession(request)) => {
                let begun = watches.begin(&self.handlers, &self.owner, id.clone(), request).await;
                return begun.err().map(|status| failed(id, &status));
            }
            Ok(Command::StopWatch(request)) => {
                let version = watches.stop(&request.command_id);
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
            None if session_id.is_empty() => self.start(String::new(), Waiting { id, command, bytes }),
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
            Some(next) => self.start(session_id, next),
            None => {
                self.sessions.remove(&session_id);
            }
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

fn reply(command_id: String, reply: Reply) -> PlayResponse {
    PlayResponse { command_id, reply: Some(reply) }
}

/// The reply to a command that failed, with all that the status of the call would bear.
fn failed(command_id: String, status: &Status) -> PlayResponse {
    let details = status.get_error_details();
    let (reason, metadata) = match details.error_info() {
        Some(info) => (info.reason.clone(), info.metadata.clone().into_iter().collect()),
        None => (Reason::Internal.name().to_owned(), Default::default()),
    };
    let refusal = proto::Refusal { reason, message: status.message().to_owned(), metadata };
    let faults = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    let fields = faults.into_iter().map(|fault| proto::FieldFault { field: fault.field, description: fault.description });
    let retry_after = details.retry_info().and_then(|info| info.retry_delay);
    let failure = proto::PlayFailure {
        code: code_name(status.code()).to_owned(),
        refusal: Some(refusal),
        fields: fields.collect(),
        retry_after: retry_after.and_then(|delay| prost_types::Duration::try_from(delay).ok()),
    };
    reply(command_id, Reply::Failure(failure))
}

/// Plays moves on one session, each as the call does.
async fn carry_out_row(
    handlers: &SessionHandlers,
    owner: &Owner,
    requests: Vec<proto::ApplyMoveRequest>,
) -> impl Iterator<Item = Result<proto::ApplyMoveResponse, Status>> {
    let admitted = handlers.check_still_admitted(&owner.caller).await.and_then(|()| may_call(&owner.caller, APPLY_MOVE));
    let counted = requests.into_iter().map(move |request| {
        admitted.clone()?;
        owner.count(APPLY_MOVE)?;
        Ok(request)
    });
    handlers.apply_moves(&owner.caller, counted).await
}

/// Carries a command out as the call of its name.
async fn carry_out(handlers: &SessionHandlers, owner: &Owner, command: Command) -> Result<Reply, Status> {
    let caller = owner.caller.clone();
    handlers.check_still_admitted(&caller).await?;
    macro_rules! call {
        ($method:literal, $call:ident, $request:expr, $reply:ident) => {{
            let path = concat!("/mancala.v1.SessionService/", $method);
            owner.count(path)?;
            may_call(&caller, path)?;
            let mut request = Request::new($request);
            request.extensions_mut().insert(caller);
            SessionService::$call(handlers, request).await.map(Response::into_inner).map(Reply::$reply)
        }};
    }
    match command {
        Command::ApplyMove(request) => call!("ApplyMove", apply_move, request, ApplyMove),
        Command::Resign(request) => call!("Resign", resign, request, Resign),
        Command::Propose(request) => call!("Propose", propose, request, Propose),
        Command::AnswerProposal(request) => call!("AnswerProposal", answer_proposal, request, AnswerProposal),
        Command::WithdrawProposal(request) => call!("WithdrawProposal", withdraw_proposal, request, WithdrawProposal),
        Command::ClaimTimeout(request) => call!("ClaimTimeout", claim_timeout, request, ClaimTimeout),
        Command::CreateSession(request) => call!("CreateSession", create_session, request, CreateSession),
        Command::GetSession(request) => call!("GetSession", get_session, request, GetSession),
        Command::ListLegalMoves(request) => call!("ListLegalMoves", list_legal_moves, request, ListLegalMoves),
        Command::SampleMoves(request) => call!("SampleMoves", sample_moves, request, SampleMoves),
        Command::CheckMove(request) => call!("CheckMove", check_move, request, CheckMove),
        // These are the stream's own.
        Command::WatchSession(_) | Command::StopWatch(_) => Err(Refused::plain(Reason::Internal).into_status()),
    }
}

/// The session that a command is on; empty for one that makes a session, whatever its id will be.
fn session_of(command: &Command) -> &str {
    match command {
        Command::ApplyMove(request) => &request.session_id,
        Command::Resign(request) => &request.session_id,
        Command::Propose(request) => &request.session_id,
        Command::AnswerProposal(request) => &request.session_id,
        Command::WithdrawProposal(request) => &request.session_id,
        Command::ClaimTimeout(request) => &request.session_id,
        Command::CreateSession(request) => &request.session_id,
        Command::GetSession(request) => &request.session_id,
        Command::ListLegalMoves(request) => &request.session_id,
        Command::SampleMoves(request) => &request.session_id,
        Command::CheckMove(request) => &request.session_id,
        Command::WatchSession(request) => &request.session_id,
        Command::StopWatch(_) => "",
    }
}

/// The watches of a stream, by the ids of the commands that began them.
#[derive(Default)]
struct Watches {
    news: SelectAll<BoxStream<'static, PlayResponse>>,
    running: HashMap<String, Running>,
}

struct Running {
    handle: AbortHandle,
    version: u32,
}

impl Watches {
    async fn begin(
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
    fn note(&mut self, PlayResponse { command_id, reply }: &PlayResponse) {
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
    fn stop(&mut self, command_id: &str) -> u32 {
        let Some(running) = self.running.remove(command_id) else { return 0 };
        running.handle.abort();
        running.version
    }
}
