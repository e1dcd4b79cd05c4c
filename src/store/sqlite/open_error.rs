//! What can be wrong with a file, said so that whoever starts the server knows what to do.

use rusqlite::{ErrorCode, ffi};
use std::io;
use std::path::{Path, PathBuf};

/// Why a store could not be opened. Nothing in the file has been changed, unless it was one of ours.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The library is older than the oldest safe one.
    #[error("SQLite {found} is too old, it can corrupt files: build against {needed} or newer")]
    TooOld {
        /// Version of the library, as SQLite numbers them: 3051003 is 3.51.3.
        found: i32,
        /// The oldest safe version.
        needed: i32,
    },
    /// Another server, or this one, has it open.
    #[error("{path} is in use by another server{}: stop that one, or choose another file", by(holder))]
    Locked {
        /// The store.
        path: PathBuf,
        /// Process id of the holder, if it could be read.
        holder: Option<u32>,
    },
    /// Some program that is not a server of ours holds SQLite's lock on it.
    #[error("{path} is being written by another program: end that program (an SQLite shell?) and start again")]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// Its beginning is not that of an SQLite database.
    #[error("{path} is not a database, or its beginning is damaged: choose another file, or restore a backup")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// It is no file at all.
    #[error("{path} is not a file: name a file, which is made if it is not there")]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// It is damaged.
    #[error("{path} is damaged ({detail}): restore a backup, or move the file away and start with an empty one")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A database of some other application.
    #[error("{path} belongs to another application (application id {application_id:#010x}): choose another file")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The id in its header; 0 if its application has set none.
        application_id: i32,
    },
    /// Written by a newer version of this program.
    #[error("{path} has schema {found}, this program knows {known}: run the newer program that wrote it")]
    NewerSchema {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i32,
        /// The newest version that this program knows.
        known: i32,
    },
    /// Written by an older version of this program, and only to be read.
    #[error("{path} has schema {found}, this program reads {known}: start a server on it once, which brings it up to date")]
    OlderSchema {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i32,
        /// The version that this program reads.
        known: i32,
    },
    /// There is nothing to read.
    #[error("there is no file {path}: name the file of a store")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A copy into it did not come to its end.
    #[error("{path} is half copied from {from}: run `mancala copy` again, which goes on where it was cut")]
    HalfCopied {
        /// The store.
        path: PathBuf,
        /// What it is a copy of.
        from: String,
    },
    /// It lies where nothing can be written.
    #[error("{path} is read-only: make the file, its folder and its disk writable")]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// This user may not read and write it.
    #[error("no permission for {path}: give this user the right to read and write the file and its folder")]
    Permission {
        /// The file or folder.
        path: PathBuf,
    },
    /// There is no room.
    #[error("no room left on the disk for {path}: free some space")]
    Full {
        /// The file or folder.
        path: PathBuf,
    },
    /// The system refused for another reason.
    #[error("{path} can't be opened: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// SQLite refused for another reason.
    #[error("{path} can't be opened: {source}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
}

fn by(holder: &Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl OpenError {
    pub(super) fn io(path: &Path, error: io::Error) -> OpenError {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied => OpenError::Permission { path },
            io::ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OpenError::Full { path },
            _ => OpenError::Io { path, source: error },
        }
    }

    pub(super) fn sqlite(path: &Path, error: rusqlite::Error) -> OpenError {
        let path = path.to_owned();
        let extended = error.sqlite_error().map(|failure| failure.extended_code);
        match (error.sqlite_error_code(), extended) {
            (Some(ErrorCode::NotADatabase), _) => OpenError::NotADatabase { path },
            (Some(ErrorCode::DatabaseCorrupt), _) | (_, Some(ffi::SQLITE_IOERR_SHORT_READ)) => {
                OpenError::Damaged { path, detail: error.to_string() }
            }
            (Some(ErrorCode::DiskFull), _) | (_, Some(ffi::SQLITE_IOERR_SHMSIZE)) => OpenError::Full { path },
            (Some(ErrorCode::ReadOnly), _) => OpenError::ReadOnly { path },
            (Some(ErrorCode::PermissionDenied), _) => OpenError::Permission { path },
            (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => OpenError::Busy { path },
            _ => OpenError::Sqlite { path, source: error },
        }
    }
}
