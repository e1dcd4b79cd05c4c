//! What Postgres's errors mean for a statement and for the store: one table, used by reads and writes alike.

use crate::store::StoreError;
use deadpool_postgres::{HookError, PoolError, TimeoutType};
use std::error::Error as _;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_rustls::rustls;

/// What an error says about the statement that met it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection is gone, or the server is stopping or starting: whether the statement was carried out is not known.
    Lost,
    /// The statement was undone since others were in its way, or for want of room in memory. It may succeed when it is repeated.
    Again,
    /// The same for a row that another one holds for too long.
    Locked,
    /// Something of that name is there already.
    Taken,
    /// No room on the disk.
    Full,
    /// The server takes no writes.
    ReadOnly,
    /// The server does not let us in: a wrong password, a database that is not there. It takes someone to mend that.
    Refused,
    /// The server does not encrypt, or is not known to be the one that is meant. That, too, takes someone to mend it.
    Untrusted,
    /// Files of the server are damaged.
    Damaged,
    /// The statement does not fit the tables: they are not those of this program.
    Fault,
}

/// Reads an error of a statement or of the making of a connection.
pub(super) fn trouble(error: &Error) -> Trouble {
    match error.code() {
        Some(state) => trouble_by_state(state),
        None => trouble_of_connection(error),
    }
}

/// What does not come from the server is the connection's. The client tells its kinds of errors apart by their texts alone.
fn trouble_of_connection(error: &Error) -> Trouble {
    let cause = error.source();
    match error.to_string().as_str() {
        // A handshake may be cut off like anything else, which is an error of input and output that says nothing of certificates.
        "error performing TLS handshake" => match cause.and_then(|cause| cause.downcast_ref::<std::io::Error>()) {
            Some(broken) if !broken.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => Trouble::Lost,
            _ => Trouble::Untrusted,
        },
        // It asks for a password and there is none, or the two know no way in common.
        "invalid configuration" | "authentication error" => Trouble::Refused,
        _ => Trouble::Lost,
    }
}

/// The one table: by the whole code where it matters, or else by its class.
pub(super) fn trouble_by_state(state: &SqlState) -> Trouble {
    match state.code() {
        // Admin shutdown, crash shutdown, cannot connect now; statement completion unknown; transaction resolution unknown.
        "57P01" | "57P02" | "57P03" | "57P05" | "40003" | "08007" => Trouble::Lost,
        // The server gave a statement up after its `statement_timeout`, which ends before the commit begins.
        "57014" => Trouble::Again,
        // Serialization failure, deadlock.
        "40001" | "40P01" => Trouble::Again,
        // Lock not available.
        "55P03" => Trouble::Locked,
        // Of the class of resources: a full disk, as against memory or connections.
        "53100" => Trouble::Full,
        "23505" => Trouble::Taken,
        "25006" => Trouble::ReadOnly,
        // No such database, or one that is being made or dropped; a role that is not there or may not.
        "3D000" | "57P04" | "42501" => Trouble::Refused,
        "XX001" | "XX002" => Trouble::Damaged,
        code => match &code[..2] {
            "08" | "58" | "F0" | "57" => Trouble::Lost,
            "40" | "53" | "55" => Trouble::Again,
            "28" => Trouble::Refused,
            // An internal error: the server has undone the statement, and the next may fare better.
            "XX" => Trouble::Again,
            _ => Trouble::Fault,
        },
    }
}

/// Why there is no connection.
pub(super) fn trouble_of_pool(error: &PoolError) -> Option<Trouble> {
    match error {
        PoolError::Backend(error) => Some(trouble(error)),
        PoolError::Timeout(TimeoutType::Wait | TimeoutType::Create | TimeoutType::Recycle) => Some(Trouble::Again),
        PoolError::Closed => None,
        PoolError::PostCreateHook(HookError::Backend(error)) => Some(trouble(error)),
        // Another server may be the primary soon, or is already.
        PoolError::PostCreateHook(HookError::Message(_)) => Some(Trouble::Lost),
        PoolError::NoRuntimeSpecified => Some(Trouble::Fault),
    }
}

impl Trouble {
    /// What the caller is told of a statement that certainly was not carried out.
    pub fn answer(self, why: String) -> StoreError {
        match self {
            Trouble::Lost | Trouble::Again | Trouble::Locked | Trouble::Refused | Trouble::Untrusted => {
                StoreError::Unavailable(why)
            }
            Trouble::Full => StoreError::Full(why),
            Trouble::ReadOnly => StoreError::Unwritable(why),
            Trouble::Taken | Trouble::Damaged | Trouble::Fault => StoreError::Damaged(why),
        }
    }

    /// Whether the same statement may fare better soon.
    pub const fn passes(self) -> bool {
        matches!(self, Trouble::Lost | Trouble::Again | Trouble::Locked)
    }

    /// Whether it came from what others do or have stored, and says nothing of the database.
    pub const fn is_of_others(self) -> bool {
        matches!(self, Trouble::Again | Trouble::Locked | Trouble::Taken)
    }
}

/// An error with its causes, in one line. It may be logged and told: errors of the client bear no password.
pub(super) fn text(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        let detail = error.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}: {}{detail}", error.code().code(), error.message());
    }
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// The same of a pool.
pub(super) fn text_of_pool(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => text(error),
        PoolError::PostCreateHook(HookError::Message(why)) => why.clone().into_owned(),
        PoolError::Timeout(TimeoutType::Wait) => "all connections are taken".into(),
        PoolError::Timeout(_) => "no connection in time".into(),
        other => other.to_string(),
    }
}

/// Rows that contradict each other or what this program writes.
pub(super) fn damaged(why: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_means_one_thing() {
        for (codes, expected) in [
            (&["08000", "08003", "08006", "08001", "08004", "08007", "08P01"][..], Trouble::Lost),
            (&["57P01", "57P02", "57P03", "57P05", "40003", "58030"], Trouble::Lost),
            (&["40001", "40P01", "57014", "40000", "53000", "53200", "53300", "53400", "XX000"], Trouble::Again),
            (&["55P03"], Trouble::Locked),
            (&["23505"], Trouble::Taken),
            (&["53100"], Trouble::Full),
            (&["25006"], Trouble::ReadOnly),
            (&["28P01", "28000", "3D000", "42501", "57P04"], Trouble::Refused),
            (&["XX001", "XX002"], Trouble::Damaged),
            (&["42P01", "42703", "42601", "22P02", "22021", "23502", "23514", "0A000"], Trouble::Fault),
        ] {
            for code in codes {
                assert_eq!(trouble_by_state(&SqlState::from_code(code)), expected, "{code}");
            }
        }
    }

    #[test]
    fn what_passes_is_repeated_and_the_rest_is_told() {
        let told = |trouble: Trouble| trouble.answer("why".into());
        for (trouble, passes, answer) in [
            (Trouble::Lost, true, StoreError::Unavailable("why".into())),
            (Trouble::Again, true, StoreError::Unavailable("why".into())),
            (Trouble::Locked, true, StoreError::Unavailable("why".into())),
            (Trouble::Refused, false, StoreError::Unavailable("why".into())),
            (Trouble::Untrusted, false, StoreError::Unavailable("why".into())),
            (Trouble::Full, false, StoreError::Full("why".into())),
            (Trouble::ReadOnly, false, StoreError::Unwritable("why".into())),
            (Trouble::Taken, false, StoreError::Damaged("why".into())),
            (Trouble::Damaged, false, StoreError::Damaged("why".into())),
            (Trouble::Fault, false, StoreError::Damaged("why".into())),
        ] {
            assert_eq!((trouble.passes(), told(trouble)), (passes, answer), "{trouble:?}");
        }
    }

    #[tokio::test]
    async fn a_pool_that_is_closed_has_no_trouble() {
        assert_eq!(trouble_of_pool(&PoolError::Closed), None);
        assert_eq!(trouble_of_pool(&PoolError::Timeout(TimeoutType::Wait)), Some(Trouble::Again));
        let standby = PoolError::PostCreateHook(HookError::message("a standby"));
        assert_eq!((trouble_of_pool(&standby), text_of_pool(&standby)), (Some(Trouble::Lost), "a standby".to_owned()));
    }
}
