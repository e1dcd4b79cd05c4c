//! Statements over pooled connections, each with a time that it never exceeds.
//!
//! A statement whose connection breaks is sent again, the same, on a new one until its time is over: every statement of this store may
//! be carried out twice. It is not enough to look whether the first one was carried out, for it may be under way still.

use super::condition::Condition;
use super::errors::{Trouble, text, text_of_pool, trouble, trouble_of_pool};
use super::tls::Connector;
use super::{OpenError, Options};
use crate::store::{StoreError, StoreMetrics};
use deadpool_postgres::{Client, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Values of a statement's parameters.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Values with their types, of a statement that is not kept.
pub(super) type TypedValues<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// Pause before a statement is repeated, at first. It doubles, up to the longest, and is cut by chance.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How a write ended that was carried out or refused.
pub(super) struct Written {
    /// Its rows; none at all if what it would insert is there already.
    pub rows: Option<Vec<Row>>,
    /// An earlier attempt at it may have been carried out.
    pub in_doubt: bool,
    /// When its time is over.
    pub deadline: Instant,
}

/// A write that failed, and whether it may have been carried out all the same.
pub(super) struct MayBeDone(pub bool);

pub(super) struct Link {
    pool: Pool,
    condition: Arc<Condition>,
    options: Options,
    metrics: StoreMetrics,
    calls: TaskTracker,
}

/// A statement to send.
#[derive(Clone, Copy)]
enum Statement<'a> {
    /// Kept by each connection once it has been sent.
    Kept(&'a str, Values<'a>),
    /// Sent with its values, and forgotten: planned for these values.
    Once(&'a str, TypedValues<'a>),
}

/// Why an attempt failed.
struct Failed {
    trouble: Trouble,
    why: String,
    /// The statement may have been carried out.
    in_doubt: bool,
}

impl Link {
    pub fn new(options: Options, connector: Connector, condition: Arc<Condition>) -> Result<Link, OpenError> {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(connector.config().clone(), connector, config);
        let pool = Pool::builder(manager).max_size(options.connections).runtime(Runtime::Tokio1).build();
        let pool = pool.map_err(|error| OpenError::Url(error.to_string()))?;
        Ok(Link { pool, condition, options, metrics: StoreMetrics::default(), calls: TaskTracker::new() })
    }

    /// Reads rows.
    pub async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        self.read(Statement::Kept(sql, values), Instant::now() + self.options.read_timeout).await
    }

    /// Reads rows by a statement of which there are too many to keep.
    pub async fn query_once(&self, sql: &str, values: TypedValues<'_>) -> Result<Vec<Row>, StoreError> {
        self.read(Statement::Once(sql, values), Instant::now() + self.options.read_timeout).await
    }

    /// Reads rows to find out what has become of a write, in the rest of its time.
    pub async fn settle(&self, sql: &str, values: Values<'_>, written: &Written) -> Result<Vec<Row>, StoreError> {
        let rows = self.read(Statement::Kept(sql, values), written.deadline).await;
        rows.map_err(|error| if written.in_doubt { StoreError::Unknown(error.to_string()) } else { error })
    }

    /// Makes what an earlier attempt has stored as durable as any write that is acknowledged. The server may have restarted since, and
    /// what it then shows need not be on its standby.
    pub async fn confirm(&self, written: &Written) -> Result<(), StoreError> {
        let heartbeat =
            self.repeat(Statement::Kept(super::sql::HEARTBEAT, &[]), written.deadline, self.options.attempt_timeout());
        heartbeat.await.map(drop).map_err(|error| StoreError::Unknown(error.to_string()))
    }

    /// Writes. In doubt it is repeated; when its time is over in doubt, the outcome is unknown.
    pub async fn write(&self, sql: &str, values: Values<'_>) -> Result<Written, StoreError> {
        self.write_until(sql, values, Instant::now() + self.options.write_timeout).await
    }

    /// The same, until a time.
    pub async fn write_until(&self, sql: &str, values: Values<'_>, deadline: Instant) -> Result<Written, StoreError> {
        if let Some(refusal) = self.condition.refuses_writes() {
            return Err(refusal);
        }
        let begun = Instant::now();
        let written = self.repeat(Statement::Kept(sql, values), deadline, self.options.attempt_timeout()).await?;
        self.metrics.commit_seconds.observe(begun.elapsed().as_secs_f64());
        self.metrics.batch_writes.observe(1.0);
        Ok(written)
    }

    /// Writes for several sessions at once, trying it once. If it fails, whether it may have been carried out all the same.
    pub async fn write_once(
        &self,
        sql: &str,
        values: Values<'_>,
        sessions: usize,
        deadline: Instant,
    ) -> Result<Vec<Row>, MayBeDone> {
        if self.condition.refuses_writes().is_some() {
            return Err(MayBeDone(false));
        }
        let begun = Instant::now();
        let until = deadline.min(begun + self.options.attempt_timeout());
        let rows = self.attempt(Statement::Kept(sql, values), until).await.map_err(|failed| {
            if !matches!(failed.trouble, Trouble::Again | Trouble::Taken) {
                self.condition.suspect();
            }
            MayBeDone(failed.in_doubt)
        })?;
        self.metrics.commit_seconds.observe(begun.elapsed().as_secs_f64());
        self.metrics.batch_writes.observe(sessions as f64);
        Ok(rows)
    }

    /// Counts work as under way until the token is dropped; closing waits for it.
    pub fn token(&self) -> TaskTrackerToken {
        self.calls.token()
    }

    async fn read(&self, statement: Statement<'_>, deadline: Instant) -> Result<Vec<Row>, StoreError> {
        if let Some(refusal) = self.condition.refuses_reads() {
            return Err(refusal);
        }
        let ended = self.repeat(statement, deadline, self.options.read_timeout).await;
        let ended = ended.map_err(|error| match error {
            // Nothing was to be written.
            StoreError::Unknown(why) => StoreError::Unavailable(why),
            other => other,
        });
        Ok(ended?.rows.unwrap_or_default())
    }

    /// Sends a statement until it is carried out or refused, or until its time is over.
    async fn repeat(&self, statement: Statement<'_>, deadline: Instant, attempt: Duration) -> Result<Written, StoreError> {
        let _call = self.calls.token();
        let (mut in_doubt, mut pause) = (false, PAUSE);
        loop {
            let until = deadline.min(Instant::now() + attempt);
            let failed = match self.attempt(statement, until).await {
                Ok(rows) => return Ok(Written { rows: Some(rows), in_doubt, deadline }),
                Err(Failed { trouble: Trouble::Taken, .. }) => return Ok(Written { rows: None, in_doubt, deadline }),
                Err(failed) => failed,
            };
            in_doubt |= failed.in_doubt;
            if failed.trouble != Trouble::Again {
                self.condition.suspect();
            }
            let over = Instant::now() + pause >= deadline || self.pool.is_closed();
            // In doubt even what would not pass is tried on: another server may have come to be the one to write to.
            if over || !(failed.trouble.passes() || in_doubt) {
                return Err(if in_doubt { StoreError::Unknown(failed.why) } else { failed.trouble.answer(failed.why) });
            }
            sleep(pause.mul_f64(chance())).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Sends a statement once.
    async fn attempt(&self, statement: Statement<'_>, until: Instant) -> Result<Vec<Row>, Failed> {
        let client = self.connection(until).await?;
        let sent = match statement {
            Statement::Kept(sql, values) => {
                let prepared = match timeout_at(until, client.prepare_cached(sql)).await {
                    Ok(Ok(prepared)) => prepared,
                    Ok(Err(error)) => return Err(self.failed(client, &error, false)),
                    Err(_) => return Err(too_slow(client, false)),
                };
                timeout_at(until, client.query(&prepared, values)).await
            }
            Statement::Once(sql, values) => timeout_at(until, client.query_typed(sql, values)).await,
        };
        match sent {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => Err(self.failed(client, &error, true)),
            Err(_) => Err(too_slow(client, true)),
        }
    }

    async fn connection(&self, until: Instant) -> Result<Client, Failed> {
        let wait = until.saturating_duration_since(Instant::now());
        let create = wait.min(self.options.connect_timeout());
        let timeouts = Timeouts { wait: Some(wait), create: Some(create), recycle: Some(wait) };
        self.pool.timeout_get(&timeouts).await.map_err(|error| match trouble_of_pool(&error) {
            Some(trouble) => Failed { trouble, why: text_of_pool(&error), in_doubt: false },
            None => Failed { trouble: Trouble::Refused, why: "the store is closed".into(), in_doubt: false },
        })
    }

    /// A statement that was answered with an error, or not at all.
    fn failed(&self, client: Client, error: &tokio_postgres::Error, sent: bool) -> Failed {
        let trouble = trouble(error);
        if matches!(trouble, Trouble::Lost | Trouble::ReadOnly) {
            drop(Object::take(client));
        }
        if trouble == Trouble::Lost {
            // The others that lie idle have gone the same way, or will be made anew in no time.
            self.pool.retain(|_, _| false);
        }
        Failed { trouble, why: text(error), in_doubt: sent && trouble == Trouble::Lost }
    }

    /// Finishes what is under way and closes.
    pub async fn close(&self) {
        self.pool.close();
        self.calls.close();
        self.calls.wait().await;
    }

    pub const fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }

    /// Calls that are waiting or under way.
    pub fn under_way(&self) -> usize {
        self.calls.len()
    }

    pub const fn options(&self) -> &Options {
        &self.options
    }
}

/// A statement that was not answered in time. Its connection is given up: the answer may come yet.
fn too_slow(client: Client, sent: bool) -> Failed {
    drop(Object::take(client));
    Failed { trouble: Trouble::Lost, why: "the database does not answer in time".into(), in_doubt: sent }
}

/// Between a half and one.
fn chance() -> f64 {
    let mut byte = [0];
    // Without chance the pause is whole, and nothing else is lost.
    let _ = getrandom::fill(&mut byte);
    1.0 - f64::from(byte[0]) / 512.0
}
