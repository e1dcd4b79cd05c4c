//! Statements over pooled connections, each with a time that it never exceeds.
//!
//! A statement whose connection breaks is sent again, the same, on a new one until its time is over: every statement of this store may
//! be carried out twice. It is not enough to look whether the first one was carried out, for it may be under way still.

use super::condition::Condition;
use super::errors::{Trouble, text, text_of_pool, trouble, trouble_of_pool};
use super::pooled::{Busy, SILENT, STANDBY, admit, follows};
use super::tls::{Connector, Opened};
use super::{OpenError, Options, sql};
use crate::store::{StoreError, StoreMetrics};
use deadpool_postgres::{Client, Hook, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
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
/// How long a statement may take that goes through a whole table.
const LEISURE: Duration = Duration::from_secs(30);
/// How long closing waits for what is under way.
const CLOSING: Duration = Duration::from_secs(2);

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

/// Which servers are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Servers {
    /// The primary alone. What a standby shows may be older than what has been acknowledged.
    Primary,
    /// A standby, too, for commands that read what is there.
    Any,
}

pub(super) struct Link {
    pool: Pool,
    connector: Connector,
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
    pub fn new(options: Options, connector: Connector, condition: Arc<Condition>, servers: Servers) -> Result<Link, OpenError> {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(connector.config().clone(), connector.clone(), config);
        let mut pool = Pool::builder(manager).max_size(options.connections).runtime(Runtime::Tokio1);
        if servers == Servers::Primary {
            let (condition, patience) = (condition.clone(), options.connect_timeout());
            pool = pool.post_create(Hook::async_fn(move |client, _| {
                let condition = condition.clone();
                Box::pin(async move { admit(client, &condition, patience).await })
            }));
        }
        let pool = pool.build().map_err(|error| OpenError::Url(error.to_string()))?;
        Ok(Link { pool, connector, condition, options, metrics: StoreMetrics::default(), calls: TaskTracker::new() })
    }

    /// Reads rows.
    pub async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        self.read(Statement::Kept(sql, values), Instant::now() + self.options.read_timeout).await
    }

    /// Reads rows by a statement of which there are too many to keep.
    pub async fn query_once(&self, sql: &str, values: TypedValues<'_>) -> Result<Vec<Row>, StoreError> {
        self.read(Statement::Once(sql, values), Instant::now() + self.options.read_timeout).await
    }

    /// Reads rows by a statement that goes through a whole table: on a connection of its own and in a time of its own, so that it is in
    /// nobody's way, and no sign of trouble if it takes long.
    pub async fn query_at_leisure(&self, sql: &str) -> Result<Vec<Row>, StoreError> {
        if let Some(refusal) = self.condition.refuses_reads() {
            return Err(refusal);
        }
        let limits = format!("-c lock_timeout=0 -c statement_timeout={}", LEISURE.as_millis());
        let connector = self.connector.with_options(&limits);
        let read = async {
            let Opened { client, .. } = connector.open(None).await?;
            if follows(&client).await? { Ok(None) } else { client.query_typed(sql, &[]).await.map(Some) }
        };
        match timeout(LEISURE, read).await {
            Ok(Ok(Some(rows))) => Ok(rows),
            Ok(Ok(None)) => Err(StoreError::Unavailable(STANDBY.into())),
            Ok(Err(error)) => Err(trouble(&error).answer(text(&error))),
            Err(_) => Err(StoreError::Unavailable(SILENT.into())),
        }
    }

    /// Reads rows to find out what has become of a write, in the rest of its time.
    pub async fn settle(&self, sql: &str, values: Values<'_>, written: &Written) -> Result<Vec<Row>, StoreError> {
        let rows = self.read(Statement::Kept(sql, values), written.deadline).await;
        rows.map_err(|error| if written.in_doubt { StoreError::Unknown(error.to_string()) } else { error })
    }

    /// Makes what an earlier attempt has stored as durable as any write that is acknowledged. The server may have restarted since, and
    /// what it then shows need not be on its standby.
    pub async fn confirm(&self, written: &Written) -> Result<(), StoreError> {
        let heartbeat = self.repeat(Statement::Kept(sql::HEARTBEAT, &[]), written.deadline, self.options.attempt_timeout());
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
            if !failed.trouble.is_of_others() {
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
            if !failed.trouble.is_of_others() {
                self.condition.suspect();
            }
            // One that waits for the same row again, and has not the time to be told that it waits in vain, would end in doubt.
            let needed = if failed.trouble == Trouble::Locked { pause + self.options.lock_timeout() } else { pause };
            let over = Instant::now() + needed >= deadline || self.pool.is_closed();
            // In doubt even what would not pass is tried on: another server may have come to be the one to write to.
            if over || !(failed.trouble.passes() || in_doubt) {
                return Err(if in_doubt { StoreError::Unknown(failed.why) } else { failed.trouble.answer(failed.why) });
            }
            sleep(pause.mul_f64(chance())).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Sends a statement once, unless its time is over before.
    async fn attempt(&self, statement: Statement<'_>, until: Instant) -> Result<Vec<Row>, Failed> {
        let busy = Busy::with(self.connection(until).await?);
        let client = busy.client();
        if Instant::now() >= until {
            return Err(not_sent(busy));
        }
        let sent = match statement {
            Statement::Kept(sql, values) => {
                let prepared = match timeout_at(until, client.prepare_cached(sql)).await {
                    Ok(Ok(prepared)) => prepared,
                    Ok(Err(error)) => return Err(self.failed(busy.free(), &error, false)),
                    Err(_) => return Err(self.too_slow(busy, false)),
                };
                if Instant::now() >= until {
                    return Err(not_sent(busy));
                }
                timeout_at(until, client.query(&prepared, values)).await
            }
            Statement::Once(sql, values) => timeout_at(until, client.query_typed(sql, values)).await,
        };
        match sent {
            Ok(Ok(rows)) => {
                drop(busy.free());
                Ok(rows)
            }
            Ok(Err(error)) => Err(self.failed(busy.free(), &error, true)),
            Err(_) => Err(self.too_slow(busy, true)),
        }
    }

    async fn connection(&self, until: Instant) -> Result<Client, Failed> {
        let wait = until.saturating_duration_since(Instant::now());
        let create = wait.min(self.options.connect_timeout());
        let timeouts = Timeouts { wait: Some(wait), create: Some(create), recycle: Some(wait) };
        // Each of them may take as long as all together.
        let Ok(got) = timeout_at(until, self.pool.timeout_get(&timeouts)).await else {
            return Err(Failed { trouble: Trouble::Again, why: "no connection in time".into(), in_doubt: false });
        };
        got.map_err(|error| match trouble_of_pool(&error) {
            Some(trouble) => Failed { trouble, why: text_of_pool(&error), in_doubt: false },
            None => Failed { trouble: Trouble::Refused, why: "the store is closed".into(), in_doubt: false },
        })
    }

    /// A statement that was answered with an error.
    fn failed(&self, client: Client, error: &tokio_postgres::Error, sent: bool) -> Failed {
        let trouble = trouble(error);
        if matches!(trouble, Trouble::Lost | Trouble::ReadOnly) {
            drop(Object::take(client));
        }
        if trouble == Trouble::Lost {
            self.forget_idle();
        }
        Failed { trouble, why: text(error), in_doubt: sent && trouble == Trouble::Lost }
    }

    /// A statement that was not answered in time. Its connection is given up: the answer may come yet.
    fn too_slow(&self, busy: Busy, sent: bool) -> Failed {
        drop(busy);
        self.forget_idle();
        Failed { trouble: Trouble::Lost, why: SILENT.into(), in_doubt: sent }
    }

    /// Gives up the connections that lie idle. Where one has gone they have gone the same way, or will be made anew in no time.
    pub fn forget_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// Finishes what is under way, as far as it ends soon, and closes.
    pub async fn close(&self) {
        self.pool.close();
        self.calls.close();
        if timeout(CLOSING, self.calls.wait()).await.is_err() {
            tracing::warn!(calls = self.calls.len(), "the database does not answer what is under way; it is left to itself");
        }
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

/// A statement whose time was over before it was sent. (What a time-out is for is begun even if the time is over.)
fn not_sent(busy: Busy) -> Failed {
    drop(busy.free());
    Failed { trouble: Trouble::Again, why: "no time is left".into(), in_doubt: false }
}

/// Between a half and one.
fn chance() -> f64 {
    let mut byte = [0];
    // Without chance the pause is whole, and nothing else is lost.
    let _ = getrandom::fill(&mut byte);
    1.0 - f64::from(byte[0]) / 512.0
}
