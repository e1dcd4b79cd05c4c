//! Connections of the pool: which are let into it, and which do not come back.

use super::condition::Condition;
use super::sql;
use deadpool_postgres::{Client, HookError, Object};
use std::time::Duration;
use tokio::time::timeout;

/// Why there is no answer.
pub(super) const SILENT: &str = "the database does not answer in time";
pub(super) const STANDBY: &str = "the database server is a standby";

/// Looks at a new connection before it is used. A standby may show less than has been acknowledged. A server that has just restarted may
/// show more than its standby has, so that nothing is read before something has been written.
pub(super) async fn admit(client: &tokio_postgres::Client, condition: &Condition, patience: Duration) -> Result<(), HookError> {
    let is_primary = async {
        match follows(client).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(HookError::message(STANDBY)),
            Err(error) => Err(HookError::Backend(error)),
        }
    };
    let is_durable = async {
        condition.confirmed().await;
        Ok(())
    };
    match timeout(patience, async { tokio::try_join!(is_primary, is_durable) }).await {
        Ok(looked) => looked.map(drop),
        Err(_) => Err(HookError::message(SILENT)),
    }
}

/// Whether a server is a standby.
pub(super) async fn follows(client: &tokio_postgres::Client) -> Result<bool, tokio_postgres::Error> {
    let rows = client.query_typed(sql::FOLLOWS, &[]).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}

/// A connection with a statement under way. When nobody waits for its answer any more it is given up, for whoever had it next would wait
/// for that answer first.
pub(super) struct Busy(Option<Client>);

impl Busy {
    pub const fn with(client: Client) -> Busy {
        Busy(Some(client))
    }

    pub fn client(&self) -> &Client {
        self.0.as_ref().expect("it is there until it is free")
    }

    /// It has been answered.
    pub fn free(mut self) -> Client {
        self.0.take().expect("it is there until it is free")
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}
