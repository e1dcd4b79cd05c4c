//! Commands in a row: what comes for one session faster than it is stored is decided one by one, and stored at once.

use super::commands::{advance, check_version, decide};
use super::live::Live;
use super::request::{command_digest, request};
use super::{Applied, ServiceError, Sessions, Target};
use crate::game::observer::Step;
use crate::session::{Command, Event, Micros, Session, View};
use std::collections::VecDeque;

/// A command that is to be carried out.
#[derive(Debug, Clone)]
pub struct Asked<L> {
    /// On what, and under what conditions.
    pub target: Target,
    /// The command.
    pub command: Command,
    /// Whether the steps of its move are wanted.
    pub want_steps: bool,
    /// Looks at the session as it is after the command.
    pub look: L,
}

/// What became of each, in order.
type Outcomes<T> = Vec<Result<Applied<T>, ServiceError>>;

impl Sessions {
    /// How many commands on a session are stored together at most.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        self.store.longest_row()
    }

    /// Carries out commands on one session, one after the other, as [`Sessions::apply`] does each. Moves of which nothing else is to be told
    /// are stored together, where the store can.
    pub async fn apply_row<T, L>(&self, row: Vec<Asked<L>>) -> Vec<Result<Applied<T>, ServiceError>>
    where
        T: Send + 'static,
        L: Fn(&Session) -> T + Send + Sync + 'static,
    {
        let (sessions, count) = (self.clone(), row.len());
        let carried = self.under_way.carry_out(Box::pin(async move { sessions.apply_row_now(row.into()).await }));
        carried.await.unwrap_or_else(|error| failed(&error, count))
    }

    async fn apply_row_now<T, L: Fn(&Session) -> T>(&self, mut row: VecDeque<Asked<L>>) -> Outcomes<T> {
        let mut outcomes = Vec::with_capacity(row.len());
        while !row.is_empty() {
            let together = self.apply_together(&mut row).await;
            if together.is_empty()
                && let Some(Asked { target, command, want_steps, look }) = row.pop_front()
            {
                outcomes.push(self.clone().apply_now(target, command, want_steps, look).await);
            }
            outcomes.extend(together);
        }
        outcomes
    }

    /// Carries out as many as can be stored together, and takes them from the row. None if the first is to be carried out by itself, for
    /// whatever reason: there it is told.
    async fn apply_together<T, L: Fn(&Session) -> T>(&self, row: &mut VecDeque<Asked<L>>) -> Outcomes<T> {
        let longest = self.store.longest_row();
        let Some(first) = row.front().filter(|_| row.len() > 1 && longest > 1) else { return Vec::new() };
        let session_id = &first.target.session_id;
        let slot = self.slots.get(session_id);
        let mut slot = slot.lock().await;
        let is_there = self.fill(session_id, &mut slot).await.is_ok();
        // Out of its slot while it knows more than the store.
        let Some(mut live) = slot.take().filter(|_| is_there) else { return Vec::new() };
        let count = row.len().min(longest);
        let (mut applied, mut appends) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for Asked { target, command, want_steps, look } in row.iter().take(count) {
            let now = self.time_of_next(&live.session);
            let Some((events, steps)) = plain(&live, target, command, *want_steps, now) else { break };
            let request = request(&target.request_id, || command_digest(command, target.expected_version));
            let Ok(append) = advance(&mut live, &events, request, now) else { return Vec::new() };
            appends.push(append);
            applied.push(Applied { events, steps, after: look(&live.session), replayed: false });
        }
        let Some(last) = appends.last_mut() else {
            *slot = Some(live);
            return Vec::new();
        };
        last.summary = View::of(&live.session).to_json();
        match self.store_row(&mut slot, live, appends).await {
            Ok(Some(_)) => {
                row.drain(..applied.len());
                applied.into_iter().map(Ok).collect()
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                row.drain(..applied.len());
                failed(&error, applied.len())
            }
        }
    }
}

/// What a move brings about, if it is to be played and no more: it's no repetition, nobody is out of time and nothing is refused.
fn plain(live: &Live, target: &Target, command: &Command, want_steps: bool, now: Micros) -> Option<(Vec<Event>, Vec<Step>)> {
    let session = &live.session;
    let is_new = target.request_id.as_ref().is_none_or(|id| live.answered(id).is_none());
    let is_plain = matches!(command, Command::Play { .. })
        && is_new
        && session.seats().accept(&target.credential)
        && session.timed_out(now).is_none()
        && check_version(session, target.expected_version).is_ok();
    if is_plain { decide(session, command, now, want_steps).ok() } else { None }
}

fn failed<T>(error: &ServiceError, count: usize) -> Outcomes<T> {
    (0..count).map(|_| Err(error.clone())).collect()
}
