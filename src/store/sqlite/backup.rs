//! A copy of a store's file, taken while a server may be writing it.

use super::lock::{in_use, sidecar};
use super::{OpenError, Options, open};
use crate::store::archive::Hold;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, ffi};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Pages that are copied before progress is told: 4 MiB of them.
const PAGES: i32 = 1_024;

/// Why there is no backup. What was at its place before is still there.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store can't be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something is at the backup's place.
    #[error("{0} is there already: choose another file, or say that it is to be overwritten")]
    Exists(PathBuf),
    /// The backup's place is the store's.
    #[error("{0} is the store itself: choose another file")]
    Same(PathBuf),
    /// A server has a store open at the backup's place.
    #[error("{0} is in use by a server: choose another file")]
    InUse(PathBuf),
    /// At the backup's place lies the log of another store, which would be taken for the backup's.
    #[error("{0} lies beside the place of the backup and belongs to another store: choose another file, or move it away")]
    Log(PathBuf),
    /// What was copied is damaged.
    #[error("what was copied of {path} is damaged ({detail}): the store is; restore an older backup")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The backup can't be written.
    #[error("{path} can't be written: {source}")]
    Write {
        /// The backup.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// SQLite could not copy.
    #[error("the store can't be copied: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// Copies the store at `from` to the file `to`: as it is at one moment, with all that was acknowledged before. It becomes visible there
/// once it is whole, checked and durable. `show` is told how many pages of how many are copied.
///
/// A server that writes meanwhile is not held up; its log grows for as long as this takes. Gives the backup's size in bytes.
pub fn back_up(from: &Path, to: &Path, overwrite: bool, show: impl FnMut(u64, u64)) -> Result<u64, BackupError> {
    let (mut readers, _) = open::open_to_read(from, &Options { readers: 1, ..Options::default() }, Hold::Shared)?;
    let source = readers.pop().expect("one was asked for");
    check_place(from, to, overwrite)?;
    let written = |error| BackupError::Write { path: to.to_owned(), source: error };
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // In the same folder, so that it takes its place in one step. It is removed when it is dropped before that.
    let partial = tempfile::Builder::new().prefix(".mancala-backup-").suffix(".partial").tempfile_in(folder).map_err(written)?;
    copy(&source, partial.path(), show)?;
    if let Some(detail) = fault(partial.path())? {
        return Err(BackupError::Damaged { path: from.to_owned(), detail });
    }
    partial.as_file().sync_all().map_err(written)?;
    let size = partial.as_file().metadata().map_err(written)?.len();
    let placed = if overwrite { partial.persist(to) } else { partial.persist_noclobber(to) };
    placed.map_err(|failed| match failed.error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
        _ => written(failed.error),
    })?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(written)?;
    Ok(size)
}

fn check_place(from: &Path, to: &Path, overwrite: bool) -> Result<(), BackupError> {
    if let (Ok(from), Ok(to)) = (from.canonicalize(), to.canonicalize())
        && from == to
    {
        return Err(BackupError::Same(to));
    }
    if to.symlink_metadata().is_ok() && !overwrite {
        return Err(BackupError::Exists(to.to_owned()));
    }
    if in_use(to) {
        return Err(BackupError::InUse(to.to_owned()));
    }
    let logs = ["-wal", "-journal"].map(|suffix| sidecar(to, suffix));
    match logs.into_iter().find(|log| log.symlink_metadata().is_ok()) {
        Some(log) => Err(BackupError::Log(log)),
        None => Ok(()),
    }
}

fn copy(source: &Connection, to: &Path, mut show: impl FnMut(u64, u64)) -> rusqlite::Result<()> {
    // A snapshot, held until the end: otherwise every write of a server would make the copy begin again.
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM meta", [], |_| Ok(()))?;
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    {
        let backup = Backup::new(&snapshot, &mut target)?;
        loop {
            match backup.step(PAGES)? {
                StepResult::Done => break,
                StepResult::More => {}
                // Nobody else knows the copy, and the snapshot is held: nothing can be in its way.
                _ => return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)),
            }
            let progress = backup.progress();
            let pages = |count: i32| u64::from(count.unsigned_abs());
            show(pages(progress.pagecount - progress.remaining), pages(progress.pagecount));
        }
    }
    // One plain file, without a log beside it. A server goes back to a log by itself.
    target.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    target.close().map_err(|(_, error)| error)
}

/// What is wrong with a copy, if anything is.
fn fault(path: &Path) -> rusqlite::Result<Option<String>> {
    let copy = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let detail: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((detail != "ok").then(|| detail.replace('\n', " ")))
}
