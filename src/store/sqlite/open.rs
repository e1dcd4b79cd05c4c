//! Opening a file: whatever is wrong with it is found here, before anything in it is changed.

use super::errors::Failure;
use super::lock::{Lock, sidecar};
use super::open_error::OpenError;
use super::schema::{self, Kind};
use super::{Options, checksum, log, origin, whole};
use crate::store::archive::Hold;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The oldest SQLite that is safe: before it, a write-ahead log that is reset while it is read can corrupt the file.
const OLDEST_SQLITE: i32 = 3_051_003;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Length of the header that follows from there.
const HEADER: usize = 100;

/// Pages that the writer keeps in memory, as KiB: those that a thousand sessions and more are written to. Not many more, since SQLite
/// looks through all of them at most commits, namely after each that has moved pages of a tree into another order.
const WRITER_CACHE_KIB: i32 = 16 * 1024;

/// The same for each reader.
const READER_CACHE_KIB: i32 = 8 * 1024;

/// An open store, before its threads run.
pub(super) struct Opened {
    pub writer: Connection,
    pub readers: Vec<Connection>,
    pub lock: Lock,
}

/// Opens the store at `path`, or makes it if there is no file or an empty one.
pub(super) fn open(path: &Path, options: &Options) -> Result<Opened, OpenError> {
    let opened = open_to_take_in(path, options)?;
    refuse_half_copied(&opened.writer, path)?;
    Ok(opened)
}

/// The same, also of a store that is half copied.
pub(super) fn open_to_take_in(path: &Path, options: &Options) -> Result<Opened, OpenError> {
    check_library(rusqlite::version_number())?;
    let path = canonical(path)?;
    // Before the lock, so that not even a lock file is put beside a file that is not ours.
    check_beginning(&path)?;
    let lock = Lock::take(&path)?;
    check_log(&path)?;
    make_store(&path, options)?;
    make_file(&path)?;
    let writer = open_writer(&path, options)?;
    let readers = (0..options.readers.max(1)).map(|_| open_reader(&path, options)).collect::<Result<_, _>>()?;
    Ok(Opened { writer, readers, lock })
}

/// Opens the store at `path` to be read: not even its schema is brought up to date.
pub(super) fn open_to_read(path: &Path, options: &Options, hold: Hold) -> Result<(Vec<Connection>, Option<Lock>), OpenError> {
    let path = present(path)?;
    let lock = match hold {
        Hold::Shared => None,
        Hold::Alone => {
            let lock = Lock::take(&path)?;
            // What was acknowledged and is damaged must not be left out in silence.
            check_log(&path)?;
            Some(lock)
        }
    };
    let readers = (0..options.readers.max(1)).map(|_| open_present_reader(&path, options)).collect::<Result<Vec<_>, _>>()?;
    refuse_half_copied(&readers[0], &path)?;
    Ok((readers, lock))
}

/// Looks at something in the store at `path` while no server has it open, half copied or not.
pub(super) fn look<T>(
    path: &Path,
    options: &Options,
    look: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, OpenError> {
    let path = present(path)?;
    let _lock = Lock::take(&path)?;
    read_at(&path, look(&open_present_reader(&path, options)?))
}

/// The one true name of a file that is there and ours.
fn present(path: &Path) -> Result<PathBuf, OpenError> {
    check_library(rusqlite::version_number())?;
    if !path.try_exists().map_err(|error| OpenError::io(path, error))? {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let path = canonical(path)?;
    check_beginning(&path)?;
    Ok(path)
}

/// A reader of a file that this program can read as it is.
fn open_present_reader(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let path = path.to_owned();
    let reader = open_reader(&path, options)?;
    match schema::kind(&reader).map_err(|error| OpenError::sqlite(&path, error))? {
        Kind::Ours(schema::VERSION) => Ok(reader),
        Kind::Ours(found) if found > schema::VERSION => Err(OpenError::NewerSchema { path, found, known: schema::VERSION }),
        Kind::Ours(found) => Err(OpenError::OlderSchema { path, found, known: schema::VERSION }),
        Kind::Foreign(application_id) => Err(OpenError::Foreign { path, application_id }),
        Kind::Empty => Err(OpenError::NotADatabase { path }),
    }
}

fn refuse_half_copied(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    match read_at(path, origin::half_copied_from(connection))? {
        None => Ok(()),
        Some(from) => Err(OpenError::HalfCopied { path: path.to_owned(), from }),
    }
}

/// What was read of the store at this path.
fn read_at<T>(path: &Path, read: Result<T, Failure>) -> Result<T, OpenError> {
    read.map_err(|failure| match failure {
        Failure::Rows(detail) => OpenError::Damaged { path: path.to_owned(), detail },
        Failure::Database(error) => OpenError::sqlite(path, error),
    })
}

fn check_library(found: i32) -> Result<(), OpenError> {
    if found < OLDEST_SQLITE {
        return Err(OpenError::TooOld { found, needed: OLDEST_SQLITE });
    }
    Ok(())
}

/// The one true name of the file; makes its folder if need be.
fn canonical(path: &Path) -> Result<PathBuf, OpenError> {
    if path.exists() {
        return path.canonicalize().map_err(|error| OpenError::io(path, error));
    }
    let Some(name) = path.file_name() else {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)
        .and_then(|()| folder.canonicalize())
        .map(|folder| folder.join(name))
        .map_err(|error| OpenError::io(folder, error))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let new: Vec<_> = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // A folder survives a loss of power once the one that it is in is synced. SQLite sees to its files, not to their folder.
    #[cfg(unix)]
    for new in new {
        let outer = new.parent().filter(|outer| !outer.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(outer)?.sync_all()?;
    }
    Ok(())
}

/// Refuses what is not ours, and what is cut short, by the header alone: SQLite may change a file merely by opening it,
/// when a journal lies beside it, and leaves a log beside one that it has only looked at.
fn check_beginning(path: &Path) -> Result<(), OpenError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_no_log(path),
        Err(error) => return Err(OpenError::io(path, error)),
    };
    let meta = file.metadata().map_err(|error| OpenError::io(path, error))?;
    if !meta.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    if meta.len() == 0 {
        return check_no_log(path);
    }
    let mut header = Vec::new();
    file.take(HEADER as u64).read_to_end(&mut header).map_err(|error| OpenError::io(path, error))?;
    if header.len() < HEADER || !header.starts_with(MAGIC) {
        return Err(OpenError::NotADatabase { path: path.to_owned() });
    }
    // Numbers are big-endian; the places are those of SQLite's file format.
    let number = |at: usize| i32::from_be_bytes(std::array::from_fn(|i| header[at + i]));
    let (version, application_id) = (number(60), number(68));
    if application_id != schema::APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned(), application_id });
    }
    if version > schema::VERSION {
        return Err(OpenError::NewerSchema { path: path.to_owned(), found: version, known: schema::VERSION });
    }
    let page_size = page_size(&header) as u64;
    let promised = page_size * u64::from(number(28).cast_unsigned());
    // With a log beside it, the file may have been growing when its process was killed.
    if meta.len() < promised && !has_log(path) {
        let detail = format!("it has {} bytes where its header promises {promised}", meta.len());
        return Err(OpenError::Damaged { path: path.to_owned(), detail });
    }
    Ok(())
}

/// The size of a page by a header. The largest is written as 1.
fn page_size(header: &[u8]) -> usize {
    match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        size => usize::from(size),
    }
}

/// Refuses a log of which a part would be dropped in silence. Only the holder of the lock can tell: a log that is being
/// written looks different from one moment to the next.
fn check_log(path: &Path) -> Result<(), OpenError> {
    let mut header = [0; HEADER];
    let begin = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match begin.and_then(|()| log::damage(path, page_size(&header))) {
        Ok(None) => Ok(()),
        Ok(Some(detail)) => Err(OpenError::Damaged { path: path.to_owned(), detail }),
        // It is new, or empty.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => Ok(()),
        Err(error) => Err(OpenError::io(path, error)),
    }
}

fn has_log(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| sidecar(path, suffix).metadata().is_ok_and(|meta| meta.len() > 0))
}

/// A write-ahead log without its database is what is left when the database was lost; SQLite would discard it.
fn check_no_log(path: &Path) -> Result<(), OpenError> {
    let log = sidecar(path, "-wal");
    if log.metadata().is_ok_and(|meta| meta.len() > 0) {
        let detail = format!("it is missing or empty, but {} holds writes that belong to it", log.display());
        return Err(OpenError::Damaged { path: path.to_owned(), detail });
    }
    Ok(())
}

/// Makes a store where there is no file: under another name, which it has until it is whole. So a loss of power in between leaves no
/// store at all rather than the beginning of one.
fn make_store(path: &Path, options: &Options) -> Result<(), OpenError> {
    if path.try_exists().map_err(|error| OpenError::io(path, error))? {
        return Ok(());
    }
    let new = sidecar(path, ".new");
    for left in [&new, &sidecar(&new, "-journal")] {
        match fs::remove_file(left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OpenError::io(left, error)),
            _ => {}
        }
    }
    make_file(&new)?;
    let failed = |error| OpenError::sqlite(&new, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&new, flags).map_err(failed)?;
    configure(&connection, options, WRITER_CACHE_KIB).map_err(failed)?;
    schema::migrate(&mut connection, 0).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    let placed = fs::rename(&new, path).and_then(|()| path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()));
    placed.map_err(|error| OpenError::io(path, error))
}

/// Makes the file if it is not there, and sees that it can be read and written: SQLite would quietly open it read-only.
fn make_file(path: &Path) -> Result<(), OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| OpenError::io(path, error))
}

fn open_writer(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let failed = |error| OpenError::sqlite(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection, options, WRITER_CACHE_KIB).map_err(failed)?;
    // A file that is refused, and one whose disk has failed, is left as it is. Closing in order turns this off.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        return Err(OpenError::ReadOnly { path: path.to_owned() });
    }
    let version = match schema::kind(&connection).map_err(failed)? {
        Kind::Empty => 0,
        Kind::Ours(version @ 1..=schema::VERSION) => version,
        Kind::Ours(found) if found > schema::VERSION => {
            return Err(OpenError::NewerSchema { path: path.to_owned(), found, known: schema::VERSION });
        }
        Kind::Ours(found) => {
            return Err(OpenError::Damaged { path: path.to_owned(), detail: format!("its schema version is {found}") });
        }
        Kind::Foreign(application_id) => {
            return Err(OpenError::Foreign { path: path.to_owned(), application_id });
        }
    };
    if version > 0 {
        check_content(&connection, path, options, version)?;
    }
    // An empty file gets its first tables by a rollback journal, so that no crash leaves a database without our mark.
    schema::migrate(&mut connection, version).map_err(failed)?;
    enable_log(&connection).map_err(failed)?;
    if connection.execute(schema::HEARTBEAT, []).map_err(failed)? != 1 {
        return Err(OpenError::Damaged { path: path.to_owned(), detail: "its table meta is empty".into() });
    }
    Ok(connection)
}

/// Looks through the whole file if that is quick.
fn check_content(connection: &Connection, path: &Path, options: &Options, version: i32) -> Result<(), OpenError> {
    let size = path.metadata().map_err(|error| OpenError::io(path, error))?.len();
    if size > options.check_up_to {
        return Ok(());
    }
    match whole::damage(connection, version).map_err(|error| OpenError::sqlite(path, error))? {
        Some(detail) => Err(OpenError::Damaged { path: path.to_owned(), detail }),
        None => Ok(()),
    }
}

fn configure(connection: &Connection, options: &Options, cache_kib: i32) -> rusqlite::Result<()> {
    connection.busy_timeout(options.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    // The file's own schema is data: it may not call functions with side effects.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    checksum::register(connection)
}

/// Writes go to a log that is synced at every commit. The writer moves them into the file itself, at times of its choice
/// and seeing the errors, which SQLite's automatic checkpoint keeps to itself.
fn enable_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |row| {
        let mode: String = row.get(0)?;
        if mode == "wal" { Ok(()) } else { Err(rusqlite::Error::InvalidQuery) }
    })?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))
}

fn open_reader(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let failed = |error| OpenError::sqlite(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection, options, READER_CACHE_KIB).map_err(failed)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_library_is_refused() {
        let error = check_library(3_051_002).expect_err("too old");
        assert_eq!(error.to_string(), "SQLite 3051002 is too old, it can corrupt files: build against 3051003 or newer");
        assert!(check_library(3_051_003).is_ok());
        assert!(check_library(rusqlite::version_number()).is_ok());
    }
}
