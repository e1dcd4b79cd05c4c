//! The lock that keeps two servers off one file.
//!
//! SQLite's own locks let processes take turns. That is not enough: a server keeps sessions in memory and would not see
//! what another one writes. So the whole store is locked for as long as it is open, by the operating system, which
//! releases the lock when the process ends in whatever way.

use super::open_error::OpenError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held as long as it lives.
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing it would not do at once: a process that is just being started from this one has the file open, too, for a moment.
        // Where this fails it is closed all the same.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Locks the store at `path` (canonical, so that two names of one file are one lock) by the file `path`.lock.
    pub fn take(path: &Path) -> Result<Lock, OpenError> {
        let lock_path = sidecar(path, ".lock");
        let mut file = open(&lock_path).map_err(|error| OpenError::io(&lock_path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { path: path.to_owned(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(OpenError::io(&lock_path, error)),
        }
        write_pid(&mut file).map_err(|error| OpenError::io(&lock_path, error))?;
        Ok(Lock { file })
    }
}

/// Whether a server has the store at `path` open. Leaves no trace.
pub(super) fn in_use(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    File::open(sidecar(&path, ".lock")).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The path with something added to the file's name.
pub(super) fn sidecar(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The process id that the holder wrote; `None` if it has not yet, or if it can't be read.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
