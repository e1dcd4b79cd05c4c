//! What SQLite's errors mean for the store: one table, used by reads and writes alike.

use crate::store::{Health, StoreError};
use rusqlite::{Error, ErrorCode, ffi};

/// What an error of SQLite says about the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No room on the disk. Passes when there is room.
    Full,
    /// The file can't be written, or not now. May pass.
    Unwritable,
    /// The disk failed: what it has kept is not known. Never passes; above all a failed fsync, since the system
    /// marks the pages as written and a second fsync would succeed without having written them.
    Disk,
    /// The file is not what this program wrote. Never passes.
    File,
    /// Rows of one session contradict each other. The others are not concerned.
    Rows,
}

/// Reads an error of SQLite.
pub(super) fn trouble(error: &Error) -> Trouble {
    match error {
        Error::SqliteFailure(failure, _) => trouble_by_code(failure),
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..)
        | Error::InvalidColumnType(..)
        | Error::QueryReturnedNoRows
        | Error::StatementChangedRows(_) => Trouble::Rows,
        // What is left is SQL that does not fit the tables: they are not those of the schema's version.
        _ => Trouble::File,
    }
}

fn trouble_by_code(failure: &ffi::Error) -> Trouble {
    match failure.code {
        ErrorCode::DiskFull => Trouble::Full,
        ErrorCode::SystemIoFailure => trouble_by_io(failure.extended_code),
        ErrorCode::ReadOnly
        | ErrorCode::CannotOpen
        | ErrorCode::PermissionDenied
        | ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::OperationAborted
        | ErrorCode::OperationInterrupted
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::OutOfMemory => Trouble::Unwritable,
        ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig => Trouble::Rows,
        // Damaged, not a database, or SQL that does not fit its tables.
        _ => Trouble::File,
    }
}

fn trouble_by_io(extended_code: i32) -> Trouble {
    match extended_code {
        ffi::SQLITE_IOERR_FSYNC
        | ffi::SQLITE_IOERR_DIR_FSYNC
        | ffi::SQLITE_IOERR_READ
        | ffi::SQLITE_IOERR_SHORT_READ
        | ffi::SQLITE_IOERR_CORRUPTFS
        | ffi::SQLITE_IOERR_DATA => Trouble::Disk,
        // The shared-memory file could not grow.
        ffi::SQLITE_IOERR_SHMSIZE => Trouble::Full,
        _ => Trouble::Unwritable,
    }
}

/// Why one piece of work on a connection failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Rows contradict each other; only their session is concerned.
    Rows(String),
    /// The database failed; whatever else is under way fails with it.
    Database(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match trouble(&error) {
            Trouble::Rows => Failure::Rows(error.to_string()),
            Trouble::Full | Trouble::Unwritable | Trouble::Disk | Trouble::File => Failure::Database(error),
        }
    }
}

/// A failure that ends a whole transaction.
#[derive(Debug)]
pub(super) struct Stop {
    /// What the callers whose writes were in it are told.
    pub answer: StoreError,
    /// What the store's health becomes.
    pub health: Health,
    /// What later callers are told until it is better. Nothing of theirs is written.
    pub refusal: StoreError,
}

impl Stop {
    /// A failure before COMMIT: certainly nothing was written.
    pub fn before_commit(error: &Error) -> Stop {
        let text = error.to_string();
        let (health, refusal) = match trouble(error) {
            Trouble::Full => (Health::Unwritable, StoreError::Full(text)),
            Trouble::Unwritable => (Health::Unwritable, StoreError::Unwritable(text)),
            Trouble::Disk => (Health::Broken, StoreError::Unavailable(format!("the disk failed: {text}"))),
            Trouble::File | Trouble::Rows => (Health::Broken, StoreError::Damaged(text)),
        };
        Stop { answer: refusal.clone(), health, refusal }
    }

    /// A failure of COMMIT itself. On a full disk the last frame of the write-ahead log is incomplete, and a database
    /// that is busy or read-only was not touched: then nothing was written. After any other failure the frames may be
    /// in the file, where the next start would find them.
    pub fn at_commit(error: &Error) -> Stop {
        let stop = Stop::before_commit(error);
        let io = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) && trouble(error) != Trouble::Full;
        if io || stop.health == Health::Broken { Stop { answer: StoreError::Unknown(error.to_string()), ..stop } } else { stop }
    }

    /// A fault of this program inside a transaction, which was not committed.
    pub fn fault(what: String) -> Stop {
        let refusal = StoreError::Unavailable(format!("the writer failed by a fault of the program: {what}"));
        Stop { answer: refusal.clone(), health: Health::Broken, refusal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_failed_fsync_at_commit_is_unknown_and_final() {
        let stop = Stop::at_commit(&failure(ffi::SQLITE_IOERR_FSYNC));
        assert!(matches!(stop.answer, StoreError::Unknown(_)));
        assert!(matches!(stop.refusal, StoreError::Unavailable(_)));
        assert_eq!(stop.health, Health::Broken);
    }

    #[test]
    fn a_failed_write_at_commit_is_unknown_and_passes() {
        let stop = Stop::at_commit(&failure(ffi::SQLITE_IOERR_WRITE));
        assert!(matches!(stop.answer, StoreError::Unknown(_)));
        assert!(matches!(stop.refusal, StoreError::Unwritable(_)));
        assert_eq!(stop.health, Health::Unwritable);
    }

    #[test]
    fn a_full_disk_is_a_certain_refusal_before_and_at_commit() {
        for stop in [Stop::before_commit(&failure(ffi::SQLITE_FULL)), Stop::at_commit(&failure(ffi::SQLITE_FULL))] {
            assert!(matches!(stop.answer, StoreError::Full(_)));
            assert_eq!(stop.health, Health::Unwritable);
        }
    }

    #[test]
    fn each_kind_of_code_has_its_meaning() {
        for (code, expected) in [
            (ffi::SQLITE_FULL, Trouble::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, Trouble::Full),
            (ffi::SQLITE_READONLY, Trouble::Unwritable),
            (ffi::SQLITE_CANTOPEN, Trouble::Unwritable),
            (ffi::SQLITE_PERM, Trouble::Unwritable),
            (ffi::SQLITE_BUSY, Trouble::Unwritable),
            (ffi::SQLITE_IOERR_WRITE, Trouble::Unwritable),
            (ffi::SQLITE_IOERR_READ, Trouble::Disk),
            (ffi::SQLITE_IOERR_DIR_FSYNC, Trouble::Disk),
            (ffi::SQLITE_CORRUPT, Trouble::File),
            (ffi::SQLITE_NOTADB, Trouble::File),
            (ffi::SQLITE_ERROR, Trouble::File),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, Trouble::Rows),
        ] {
            assert_eq!(trouble(&failure(code)), expected, "code {code}");
        }
    }
}
