//! The callers on streams: one for each connection, which makes its moves as commands of one Play stream. A session may have several
//! moves on their way, since the game is known here too.

use super::load::{PAUSE, SessionClient};
use super::mix::Call;
use super::pace::Pace;
use super::plan::Plan;
use super::player::{Player, Right, creation};
use super::tally::{Fault, Tally, lock};
use crate::game::Rules;
use crate::random::SeededDice;
use crate::wire::proto::play_request::Command;
use crate::wire::proto::play_response::Reply;
use crate::wire::proto::session_service_client::SessionServiceClient;
use crate::wire::proto::{PlayRequest, PlayResponse};
use crate::wire::reason::code_name;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Plays sessions of its own on one stream.
pub struct Streamer {
    sessions: SessionClient,
    tables: Vec<Table>,
    /// The tables that may have one more command on its way, each as often as it may.
    ready: VecDeque<usize>,
    dice: SeededDice,
    checked: bool,
    label: String,
}

/// A session, the one after it when it is over, and so on.
struct Table {
    rules: Rules,
    /// None: to be made.
    player: Option<Player>,
    /// What is on its way, in the order of its answers.
    sent: VecDeque<Sent>,
    /// Commands that it could have on their way, but for a game that must end or be made first.
    held: usize,
}

struct Sent {
    from: Instant,
    what: What,
}

enum What {
    Creation,
    /// With the right answer to it.
    Move(Right),
}

impl What {
    const fn call(&self) -> Call {
        match self {
            What::Creation => Call::Create,
            What::Move(_) => Call::Apply,
        }
    }
}

impl Streamer {
    /// The one of this number, from 0, of as many as there are connections. The moves on their way are shared out among all sessions.
    pub fn new(number: u32, channel: Channel, plan: &Plan) -> Streamer {
        let own: Vec<_> = (0..plan.sessions).filter(|session| session % plan.connections == number).collect();
        let rules = |session: u32| Rules::new(plan.games[session as usize % plan.games.len()]);
        let share = |session: u32| plan.concurrency / plan.sessions + u32::from(session < plan.concurrency % plan.sessions);
        let table = |session| Table { rules: rules(session), player: None, sent: VecDeque::new(), held: 0 };
        let rounds = 0..share(0);
        let ready = rounds.flat_map(|round| own.iter().enumerate().filter(move |(_, session)| round < share(**session)));
        Streamer {
            sessions: SessionServiceClient::with_interceptor(channel, plan.bearer.clone()),
            ready: ready.map(|(table, _)| table).collect(),
            tables: own.iter().map(|session| table(*session)).collect(),
            dice: SeededDice::new(plan.seed.wrapping_add(number.into())),
            checked: plan.checked,
            label: plan.label.clone(),
        }
    }

    /// Makes the first sessions by calls.
    pub async fn make_sessions(&mut self) -> Result<(), Fault> {
        for table in &mut self.tables {
            let answer = self.sessions.create_session(creation(table.rules, &self.label)).await?.into_inner();
            table.player = Some(Player::new(answer.session, table.rules)?);
        }
        Ok(())
    }

    /// Plays until it gets no more tickets, or its stream ends.
    pub async fn work(mut self, pace: Pace, tally: Arc<Mutex<Tally>>) {
        // As many as are on their way at most.
        let (commands, outgoing) = mpsc::unbounded_channel();
        let mut replies = match self.sessions.play(UnboundedReceiverStream::new(outgoing)).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return lock(&tally).count(Call::Apply, Default::default(), Err(status.into())),
        };
        let mut goes_on = true;
        while goes_on || self.tables.iter().any(|table| !table.sent.is_empty()) {
            tokio::select! {
                reply = replies.message() => match reply {
                    Ok(Some(reply)) => {
                        if !self.take(reply, &tally) {
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                    Ok(None) => return self.give_up(&Status::unavailable("the stream has ended"), &tally),
                    Err(status) => return self.give_up(&status, &tally),
                },
                ticket = pace.next(), if goes_on && !self.ready.is_empty() => match (ticket, self.ready.pop_front()) {
                    (Some(from), Some(table)) => {
                        // It fails when the stream has ended, which its replies tell.
                        let _ = commands.send(self.command(table, from));
                    }
                    _ => goes_on = false,
                },
            }
        }
    }

    /// The next command of a table.
    fn command(&mut self, number: usize, from: Instant) -> PlayRequest {
        let table = &mut self.tables[number];
        let (what, command) = match &mut table.player {
            None => (What::Creation, Command::CreateSession(creation(table.rules, &self.label))),
            Some(player) => {
                let (request, right) = player.play(&mut self.dice);
                (What::Move(right), Command::ApplyMove(request))
            }
        };
        table.sent.push_back(Sent { from, what });
        self.hold_back(number);
        PlayRequest { command_id: number.to_string(), command: Some(command) }
    }

    /// Takes from a table whose game is over or must be made what else it could have on its way; gives it back if the game goes on. Of a
    /// game that is over and answered, one is left to make the next.
    fn hold_back(&mut self, number: usize) {
        let table = &mut self.tables[number];
        if table.player.as_ref().is_some_and(|player| !player.is_over()) {
            self.ready.extend(std::iter::repeat_n(number, std::mem::take(&mut table.held)));
            return;
        }
        let before = self.ready.len();
        self.ready.retain(|ready| *ready != number);
        table.held += before - self.ready.len();
        if table.sent.is_empty() {
            table.player = None;
            table.held -= 1;
            self.ready.push_back(number);
        }
    }

    /// Takes an answer in. Whether it is as it should be.
    fn take(&mut self, PlayResponse { command_id, reply }: PlayResponse, tally: &Mutex<Tally>) -> bool {
        let number = command_id.parse::<usize>().ok().filter(|number| *number < self.tables.len());
        let Some((number, sent)) = number.and_then(|number| Some((number, self.tables[number].sent.pop_front()?))) else {
            lock(tally).count(Call::Apply, Default::default(), Err(Fault::wrong_answer()));
            return false;
        };
        let table = &mut self.tables[number];
        let outcome = match (&sent.what, reply) {
            (What::Creation, Some(Reply::CreateSession(made))) => {
                Player::new(made.session, table.rules).map(|player| table.player = Some(player))
            }
            (What::Move(right), Some(Reply::ApplyMove(answer))) if self.checked => right.check(&answer),
            (What::Move(_), Some(Reply::ApplyMove(_))) => Ok(()),
            (_, Some(Reply::Failure(failure))) => {
                let code = (0..=16).map(|code| code_name(Code::from(code))).find(|name| *name == failure.code);
                let reason = failure.refusal.map(|refusal| refusal.reason).unwrap_or_default();
                Err(Fault { code: code.unwrap_or(code_name(Code::Unknown)), reason })
            }
            _ => Err(Fault::wrong_answer()),
        };
        let right = outcome.is_ok();
        if !right {
            // It is not known where the session stands.
            table.player = None;
        }
        table.held += 1;
        lock(tally).count(sent.what.call(), sent.from.elapsed(), outcome);
        self.hold_back(number);
        right
    }

    /// What is on its way is answered by the end of the stream.
    fn give_up(self, status: &Status, tally: &Mutex<Tally>) {
        for sent in self.tables.into_iter().flat_map(|table| table.sent) {
            lock(tally).count(sent.what.call(), sent.from.elapsed(), Err(status.clone().into()));
        }
    }
}
