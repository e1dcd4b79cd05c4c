//! What is looked at before a server is used: whether it keeps what it acknowledges, can be written, and has our tables.

use super::errors::{Trouble, text, trouble};
use super::{OpenError, sql};
use refinery::{Error, Migration, Runner, error::Kind};
use tokio_postgres::Client;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Why a server is not used.
#[derive(Debug)]
pub(super) enum NoContact {
    /// It can't be reached at present, or can't be written.
    Passing(Trouble, String),
    /// Someone must mend it.
    Lasting(OpenError),
}

impl From<tokio_postgres::Error> for NoContact {
    fn from(error: tokio_postgres::Error) -> NoContact {
        match trouble(&error) {
            Trouble::Refused => NoContact::Lasting(OpenError::Refused(text(&error))),
            Trouble::Untrusted => NoContact::Lasting(OpenError::Untrusted(text(&error))),
            Trouble::Fault => NoContact::Lasting(OpenError::Foreign(text(&error))),
            passing => NoContact::Passing(passing, text(&error)),
        }
    }
}

/// The oldest server that has what the order of all changes is made of (`pg_current_xact_id`, `pg_snapshot_xmin`).
const OLDEST: u32 = 13;

fn too_old(number: Option<&str>, name: String) -> Option<OpenError> {
    let number: u32 = number?.parse().ok()?;
    (number < OLDEST * 10_000).then_some(OpenError::TooOld { version: name, needed: OLDEST })
}

/// Looks at what the server is set to.
pub(super) async fn check_server(client: &Client, allow_unsafe: bool) -> Result<(), NoContact> {
    let row = client.query_one(sql::SERVER, &[]).await?;
    let in_recovery: bool = row.try_get(0)?;
    let setting = |column: usize| row.try_get::<_, Option<String>>(column);
    let (number, name) = (setting(5)?, setting(6)?.unwrap_or_default());
    if let Some(error) = too_old(number.as_deref(), name) {
        return Err(NoContact::Lasting(error));
    }
    if let Some(encoding) = setting(7)?.filter(|encoding| encoding != "UTF8") {
        return Err(NoContact::Lasting(OpenError::Encoding { encoding }));
    }
    if in_recovery {
        return Err(NoContact::Lasting(OpenError::Standby));
    }
    if setting(1)?.as_deref() == Some("on") {
        return Err(NoContact::Lasting(OpenError::ReadOnly));
    }
    for (column, name) in [(2, "fsync"), (3, "full_page_writes"), (4, "synchronous_commit")] {
        if !allow_unsafe && setting(column)?.as_deref() == Some("off") {
            return Err(NoContact::Lasting(OpenError::Unsafe { setting: name }));
        }
    }
    Ok(())
}

/// Times that the tables are looked at while other servers make them.
const TRIES: u32 = 50;

/// Makes the tables, or what is missing of them. Others may do the same: whoever comes second fails on what is there already, and
/// finds, looking again, that nothing is left to do.
pub(super) async fn migrate(client: &mut Client) -> Result<(), NoContact> {
    // Where there are many sessions a change of the tables takes longer than a call may.
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await?;
    make_all(client).await?;
    client.batch_execute("RESET statement_timeout; RESET lock_timeout").await?;
    Ok(())
}

async fn make_all(client: &mut Client) -> Result<(), NoContact> {
    let row = client.query_one("SELECT to_regclass('mancala_migrations') IS NOT NULL", &[]).await?;
    let has_record = row.try_get(0)?;
    let mut tries = 1;
    loop {
        let Err(error) = make_missing(client, has_record).await else { return Ok(()) };
        let why = match error.kind() {
            Kind::MissingVersion(migration) => return Err(NoContact::Lasting(OpenError::Newer(migration.to_string()))),
            Kind::DivergentVersion(found, _) => {
                return Err(NoContact::Lasting(OpenError::Foreign(format!("migration {found} is another one"))));
            }
            Kind::Connection(_, cause) => match cause.downcast_ref::<tokio_postgres::Error>() {
                Some(cause) if client.is_closed() => return Err(NoContact::Passing(Trouble::Lost, text(cause))),
                Some(cause) if is_race(cause) && tries < TRIES => text(cause),
                Some(cause) => return Err(passing_or_lasting(cause)),
                None => return Err(NoContact::Passing(Trouble::Lost, error.to_string())),
            },
            _ => return Err(NoContact::Lasting(OpenError::Foreign(error.to_string()))),
        };
        tracing::debug!(why, "others make the tables, too");
        tries += 1;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Makes what is missing. Where nothing is, as the record of what was made may tell, the user need not be one that may make tables.
async fn make_missing(client: &mut Client, has_record: bool) -> Result<(), Error> {
    let runner = runner();
    if has_record && runner.get_applied_migrations_async(client).await? == *runner.get_migrations() {
        return Ok(());
    }
    // It tells of every try.
    runner.run_async(client).with_subscriber(NoSubscriber::default()).await.map(drop)
}

fn runner() -> Runner {
    let migrations = [
        ("V1__sessions", include_str!("migrations/V1__sessions.sql")),
        ("V2__copies", include_str!("migrations/V2__copies.sql")),
    ];
    let migrations = migrations.map(|(name, sql)| Migration::unapplied(name, sql).expect("names are V<number>__<name>"));
    let mut runner = Runner::new(&migrations);
    runner.set_migration_table_name("mancala_migrations");
    runner
}

/// Sees that the tables are there, without making any.
pub(super) async fn check_tables(client: &Client) -> Result<(), NoContact> {
    let row = client
        .query_one("SELECT to_regclass('mancala_migrations') IS NOT NULL AND to_regclass('copied') IS NOT NULL", &[])
        .await?;
    if row.try_get(0)? { Ok(()) } else { Err(NoContact::Lasting(OpenError::NoTables)) }
}

/// Refuses what a copy has begun and not finished.
pub(super) async fn refuse_half_copied(client: &Client) -> Result<(), NoContact> {
    match client.query_opt("SELECT source FROM copied WHERE NOT whole", &[]).await? {
        None => Ok(()),
        Some(row) => Err(NoContact::Lasting(OpenError::HalfCopied { from: row.try_get(0)? })),
    }
}

/// Refuses what was filled by another server, whose transactions have other numbers: those to come here are not behind them.
pub(super) async fn refuse_other_server(client: &Client) -> Result<(), NoContact> {
    let row = client.query_one(sql::NUMBERS, &[]).await?;
    let (appended, deleted): (Option<i64>, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
    let next = row.try_get(2)?;
    match appended.max(deleted) {
        Some(last) if last >= next => Err(NoContact::Lasting(OpenError::OtherServer { last, next })),
        _ => Ok(()),
    }
}

/// What those meet who make the same tables at the same time: something is there already (by its name, or by the row of a catalogue
/// that names it), or one of them had to give way.
fn is_race(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map_or("", |code| code.code());
    matches!(code, "42P07" | "42710" | "42P06" | "23505" | "XX000") || trouble(error) == Trouble::Again
}

/// What is there already and is not ours does not pass; all else that others may have to do with does.
fn passing_or_lasting(error: &tokio_postgres::Error) -> NoContact {
    match trouble(error) {
        Trouble::Refused => NoContact::Lasting(OpenError::Refused(text(error))),
        Trouble::Untrusted => NoContact::Lasting(OpenError::Untrusted(text(error))),
        Trouble::Fault | Trouble::Taken => NoContact::Lasting(OpenError::Foreign(text(error))),
        passing => NoContact::Passing(passing, text(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_not_be_too_old() {
        let old = OpenError::TooOld { version: "12.22".into(), needed: 13 };
        for (number, name, expected) in [
            (Some("120022"), "12.22", Some(old.clone())),
            (Some("130000"), "13.0", None),
            (Some("180001"), "18.1", None),
            (Some("?"), "", None),
            (None, "", None),
        ] {
            assert_eq!(too_old(number, name.to_owned()), expected, "{name}");
        }
        assert!(old.to_string().contains("Postgres 12.22") && old.to_string().contains("13 or newer"), "{old}");
    }
}
