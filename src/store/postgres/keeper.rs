//! The task that looks after the database: it reaches it, makes its tables, and sees when it goes and comes back. It has a connection of
//! its own, so that it is not held up where calls are.

use super::condition::Condition;
use super::contact::{NoContact, check_server, migrate, refuse_half_copied, refuse_other_server};
use super::errors::{Trouble, text, trouble};
use super::link::Link;
use super::tls::{Connector, Opened};
use super::{OpenError, Options, sql};
use crate::store::{Health, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

/// Between looks while all is well, and while it is not.
const WELL: Duration = Duration::from_secs(1);
const UNWELL: Duration = Duration::from_millis(200);
/// Times that a heartbeat is tried that others are in the way of.
const BEATS: u32 = 12;

pub(super) struct Keeper {
    pub connector: Connector,
    /// The connections of calls.
    pub link: Arc<Link>,
    pub options: Options,
    pub condition: Arc<Condition>,
    /// A connection to a server that has been looked at.
    pub client: Option<Client>,
    /// The tables have been made, or found.
    pub migrated: bool,
}

impl Keeper {
    /// Looks for the first time. What someone must mend is an error then; a server that is not there is not.
    pub async fn begin(&mut self) -> Result<(), OpenError> {
        match self.look().await {
            Ok(()) => self.condition.recover(),
            Err(NoContact::Lasting(error)) => return Err(error),
            Err(NoContact::Passing(trouble, why)) => self.condition.worsen(unreachable(trouble, why), false),
        }
        Ok(())
    }

    /// Looks again and again.
    pub async fn run(mut self) {
        while self.condition.health() != Health::Broken {
            if self.condition.health() == Health::Writable {
                tokio::select! {
                    () = sleep(WELL) => {}
                    () = self.condition.suspected() => {}
                }
            } else {
                sleep(UNWELL).await;
            }
            match self.look().await {
                Ok(()) => self.condition.recover(),
                Err(NoContact::Passing(trouble, why)) => {
                    // A server that takes no writes, or has no room for them, can still be read.
                    let readable = self.migrated && matches!(trouble, Trouble::Full | Trouble::ReadOnly);
                    self.condition.worsen(unreachable(trouble, why), readable);
                }
                Err(NoContact::Lasting(error)) => match error {
                    OpenError::Newer(_)
                    | OpenError::Foreign(_)
                    | OpenError::OtherServer { .. }
                    | OpenError::Unsafe { .. }
                    | OpenError::TooOld { .. }
                    | OpenError::Encoding { .. }
                    | OpenError::NoTables
                    | OpenError::HalfCopied { .. } => {
                        self.condition.break_for_good(error.to_string());
                    }
                    OpenError::ReadOnly => self.condition.worsen(StoreError::Unwritable(error.to_string()), self.migrated),
                    // What a standby shows may be older than what has been acknowledged.
                    OpenError::Standby
                    | OpenError::Refused(_)
                    | OpenError::Untrusted(_)
                    | OpenError::Url(_)
                    | OpenError::Authorities { .. }
                    | OpenError::Unreachable(_)
                    | OpenError::InUse { .. } => {
                        self.condition.worsen(StoreError::Unavailable(error.to_string()), false);
                    }
                },
            }
        }
    }

    /// One look, which ends in time.
    async fn look(&mut self) -> Result<(), NoContact> {
        // The first contact may have to wait for others that make the tables.
        let patience = if self.migrated { self.options.connect_timeout() * 2 } else { Duration::from_secs(30) };
        let look = self.condition.begin_look();
        let looked = timeout(patience, self.look_on()).await;
        let looked =
            looked.unwrap_or_else(|_| Err(NoContact::Passing(Trouble::Lost, "the database does not answer in time".into())));
        match &looked {
            Ok(()) => self.condition.confirm(look),
            Err(_) => self.client = None,
        }
        looked
    }

    async fn look_on(&mut self) -> Result<(), NoContact> {
        let client = match &self.client {
            Some(client) if !client.is_closed() => client,
            _ => {
                let opened = timeout(self.options.connect_timeout(), self.connector.open(None)).await;
                let opened =
                    opened.map_err(|_| NoContact::Passing(Trouble::Lost, "the database does not answer in time".into()))?;
                let Opened { mut client, place, task: _ends_with_it } = opened?;
                check_server(&client, self.options.allow_unsafe_database).await?;
                self.connector.prefer(place);
                if !self.migrated {
                    migrate(&mut client).await?;
                    refuse_half_copied(&client).await?;
                    refuse_other_server(&client).await?;
                    self.migrated = true;
                }
                // What has lain idle meanwhile leads to where this one's last connection led.
                self.link.forget_idle();
                self.client.insert(client)
            }
        };
        beat(client).await
    }
}

/// Writes what changes nothing of worth. Other servers do the same to the same row, and must not make a database look ill by it.
async fn beat(client: &Client) -> Result<(), NoContact> {
    let mut pause = Duration::from_millis(2);
    let mut tries = 1;
    loop {
        let Err(error) = client.query(sql::HEARTBEAT, &[]).await else { return Ok(()) };
        match trouble(&error) {
            passing if passing.is_of_others() && tries < BEATS => {}
            // Another program has taken the tables away, or the right to write them.
            Trouble::Fault | Trouble::Refused => return Err(NoContact::Passing(Trouble::Refused, text(&error))),
            _ => return Err(NoContact::from(error)),
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
        tries += 1;
    }
}

fn unreachable(trouble: Trouble, why: String) -> StoreError {
    trouble.answer(why)
}
