//! Appends that wait at the same time go together: one statement for several sessions takes the database hardly longer than one for one.
//!
//! Nothing waits to be joined by others. While all leaders are busy, what comes waits, and the next one takes all of it along. What a
//! statement for several does not do, for whatever reason, is done one by one, and so is what only one has asked for.

use super::link::{Link, MayBeDone};
use super::reads::{state_code, text_in};
use super::sql;
use super::text::stored;
use super::writes::{self, columns, minute};
use crate::store::{Append, Appended, StoreError};
use futures_util::future::join_all;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

/// Statements at a time. Few, so that there is something to take along; more than one, so that one that waits holds up only its own.
const LEADERS: usize = 4;
/// Sessions of one statement.
const MOST: usize = 64;
/// What must be left of a caller's time for going together with others, as a part of an attempt's time: the statement ends for all when
/// the first of them has no time left.
const LEAST: u32 = 4;
/// What an answer may need to get from the one who leads to the one who waits.
const GRACE: Duration = Duration::from_millis(50);

pub(super) struct Appends {
    link: Arc<Link>,
    waiting: Mutex<VecDeque<Waiting>>,
    leaders: Arc<Semaphore>,
    /// The statements for several sessions, by whether their clocks run.
    groups: [String; 2],
}

struct Waiting {
    append: Append,
    deadline: Instant,
    answer: oneshot::Sender<Result<Appended, StoreError>>,
}

impl Appends {
    pub fn new(link: Arc<Link>) -> Appends {
        let groups = [false, true].map(sql::append_group);
        Appends { link, waiting: Mutex::default(), leaders: Arc::new(Semaphore::new(LEADERS)), groups }
    }

    /// Adds events to a session.
    pub async fn add(self: &Arc<Self>, append: Append) -> Result<Appended, StoreError> {
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + self.link.options().write_timeout;
        self.queue().push_back(Waiting { append, deadline, answer });
        if let Ok(leads) = self.leaders.clone().try_acquire_owned() {
            // Not the caller's own work: others wait for it too, whatever becomes of the caller.
            tokio::spawn(self.clone().lead(leads));
        }
        match timeout_at(deadline + GRACE, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(StoreError::Unknown("the server stops".to_owned()))),
            Err(_) => Err(StoreError::Unknown("there is no answer in time".to_owned())),
        }
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out what waits, until nothing does.
    async fn lead(self: Arc<Self>, mut leads: OwnedSemaphorePermit) {
        let _under_way = self.link.token();
        loop {
            while let Some(batch) = self.next() {
                self.carry_out(batch).await;
            }
            drop(leads);
            // Something may have come since, and found no leader free. To look for it while leading would not do: what comes just after
            // the look finds this one leading still.
            if self.queue().is_empty() {
                return;
            }
            match self.leaders.clone().try_acquire_owned() {
                Ok(again) => leads = again,
                // All others lead, and each of them looks again once it does not.
                Err(_) => return,
            }
        }
    }

    fn next(&self) -> Option<Vec<Waiting>> {
        let mut waiting = self.queue();
        let count = waiting.len().min(MOST);
        (count > 0).then(|| waiting.drain(..count).collect())
    }

    async fn carry_out(&self, batch: Vec<Waiting>) {
        let now = Instant::now();
        let (batch, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(|it| it.deadline > now);
        for Waiting { answer, .. } in late {
            // Nobody may wait any more.
            let _ = answer.send(Err(StoreError::Unavailable("the database was too busy to be asked in time".to_owned())));
        }
        let enough = now + self.link.options().attempt_timeout() / LEAST;
        let mut seen = HashSet::new();
        // Of one session only one can succeed at a time.
        let (firsts, others): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|it| it.deadline >= enough && seen.insert(it.append.session_id.clone()));
        let (timed, untimed): (Vec<_>, Vec<_>) = firsts.into_iter().partition(|it| it.append.deadline.is_some());
        tokio::join!(self.together(timed, true), self.together(untimed, false), self.one_by_one(others, false));
    }

    async fn together(&self, batch: Vec<Waiting>, with_clocks: bool) {
        if batch.len() < 2 {
            return self.one_by_one(batch, false).await;
        }
        match self.send(&batch, with_clocks).await {
            Ok(done) => {
                let (done, refused): (Vec<_>, Vec<_>) = batch.into_iter().partition(|it| done.contains(&it.append.session_id));
                for Waiting { answer, .. } in done {
                    // Nobody may wait any more.
                    let _ = answer.send(Ok(Appended::Done));
                }
                // Why they were refused is found out as if each had come alone.
                self.one_by_one(refused, false).await;
            }
            Err(MayBeDone(in_doubt)) => self.one_by_one(batch, in_doubt).await,
        }
    }

    async fn one_by_one(&self, batch: Vec<Waiting>, in_doubt: bool) {
        let each = batch.into_iter().map(|Waiting { append, deadline, answer }| async move {
            // Nobody may wait any more.
            let _ = answer.send(writes::append(&self.link, &append, deadline, in_doubt).await);
        });
        join_all(each).await;
    }

    /// Sends one statement for all. Gives the ids of those that it was carried out for.
    async fn send(&self, batch: &[Waiting], with_clocks: bool) -> Result<HashSet<String>, MayBeDone> {
        let all = || batch.iter().map(|it| &it.append);
        let deadline = batch.iter().map(|it| it.deadline).min().unwrap_or_else(Instant::now);
        let expected: Vec<_> = all().map(|it| i64::from(it.expected_version)).collect();
        let versions: Vec<_> = all().map(|it| i64::from(it.expected_version) + it.events.len() as i64).collect();
        let seat = |seat: usize| -> Vec<_> { all().map(|it| it.players[seat].as_deref().map(stored)).collect() };
        let (request_ids, digests): (Vec<_>, Vec<_>) =
            all().map(|it| columns(it.request.as_ref())).map(|(id, digest)| (id.map(stored), digest)).unzip();
        let events =
            || all().flat_map(|it| (it.expected_version + 1..).zip(&it.events).zip(&it.hashes).map(move |event| (it, event)));
        let rows = self
            .link
            .write_once(
                &self.groups[usize::from(with_clocks)],
                &[
                    &all().map(|it| stored(&it.session_id)).collect::<Vec<_>>(),
                    &expected,
                    &versions,
                    &all().map(|it| it.time).collect::<Vec<_>>(),
                    &all().map(|it| minute(it.time)).collect::<Vec<_>>(),
                    &all().map(|it| state_code(it.state)).collect::<Vec<_>>(),
                    &seat(0),
                    &seat(1),
                    &all().map(|it| it.expires).collect::<Vec<_>>(),
                    &all().map(|it| it.deadline).collect::<Vec<_>>(),
                    &all().map(|it| stored(&it.summary)).collect::<Vec<_>>(),
                    &request_ids,
                    &digests,
                    &events().map(|(it, _)| stored(&it.session_id)).collect::<Vec<_>>(),
                    &events().map(|(_, ((seq, _), _))| i64::from(seq)).collect::<Vec<_>>(),
                    &events().map(|(_, ((_, body), _))| stored(body)).collect::<Vec<_>>(),
                    &events().map(|(_, (_, hash))| hash.bytes().as_slice()).collect::<Vec<_>>(),
                ],
                batch.len(),
                deadline,
            )
            .await?;
        // What it was carried out for is acknowledged only if it can be told.
        rows.iter().map(|row| text_in(row, 0)).collect::<Result<_, _>>().map_err(|_| MayBeDone(true))
    }
}
