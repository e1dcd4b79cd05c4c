//! Where sessions are kept.

use super::duration;
use super::load::{Given, up_to_longest};
use super::text::quoted;
use crate::store::Location;
use crate::store::postgres::Options;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where sessions are kept: in a file, or in a database if its URL is given.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The data file, where there is no database.
    pub path: PathBuf,
    /// The URL of a Postgres database; empty: there is none. It may bear a password, and is written out without it.
    pub url: String,
    /// A file with the password for the database, where the URL has none; empty: there is none.
    pub password_file: PathBuf,
    /// Sessions that are kept in memory between calls, the last used ones. Most take a few kilobytes, one of 2,000 plies up to half a
    /// megabyte.
    pub cached_sessions: usize,
    /// Most connections to the database for reads and writes.
    pub connections: usize,
    /// How long a read of the database may take.
    pub read_timeout: Duration,
    /// How long a write to the database may take.
    pub write_timeout: Duration,
    /// Whether connections to the database are encrypted.
    pub tls: bool,
    /// Authorities for the database server's certificate, as a file of PEM.
    pub tls_ca: PathBuf,
    /// Whether a database server is used that may lose what it has acknowledged.
    pub allow_unsafe_database: bool,
}

impl StoreConfig {
    pub(super) fn defaults(path: PathBuf) -> Self {
        let Options { connections, read_timeout, write_timeout, allow_unsafe_database, .. } = Options::new("");
        let (url, password_file, tls_ca) = (String::new(), PathBuf::new(), PathBuf::new());
        Self {
            path,
            url,
            password_file,
            cached_sessions: 4_096,
            connections,
            read_timeout,
            write_timeout,
            tls: false,
            tls_ca,
            allow_unsafe_database,
        }
    }

    pub(super) fn take(given: &mut Given, defaults: Self) -> Self {
        let time = "a time such as \"500ms\" or \"2s\", from 100ms to 1h";
        let path = |text: &str| Some(PathBuf::from(text));
        let store = Self {
            path: given.take("store.path", defaults.path, "the path of a file", data_file),
            url: take_url(given, defaults.url),
            password_file: given.take("store.password_file", defaults.password_file, "the path of a file", path),
            cached_sessions: given.take(
                "store.cached_sessions",
                defaults.cached_sessions,
                "a number from 1 to 10000000",
                |text| text.parse().ok().filter(|sessions| (1..=10_000_000).contains(sessions)),
            ),
            connections: given.take("store.connections", defaults.connections, "a number from 1 to 1000", |text| {
                text.parse().ok().filter(|connections| (1..=1000).contains(connections))
            }),
            read_timeout: given.take("store.read_timeout", defaults.read_timeout, time, timeout),
            write_timeout: given.take("store.write_timeout", defaults.write_timeout, time, timeout),
            tls: given.take("store.tls", defaults.tls, "\"on\" or \"off\"", |text| match text {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            }),
            tls_ca: given.take("store.tls_ca", defaults.tls_ca, "the path of a file", path),
            allow_unsafe_database: given.take(
                "store.allow_unsafe_database",
                defaults.allow_unsafe_database,
                "true or false",
                |text| text.parse().ok(),
            ),
        };
        if store.url.is_empty() && store.path.as_os_str().is_empty() {
            given.fault("store.path", "there is no home folder to keep data in: set store.path to the path of a file");
        }
        if store.tls && store.tls_ca.as_os_str().is_empty() {
            given.fault(
                "store.tls_ca",
                "with store.tls = \"on\" it must name a file with the authorities for the server's certificate",
            );
        }
        if !store.tls && !store.tls_ca.as_os_str().is_empty() {
            given.fault("store.tls_ca", "it is for nothing without store.tls = \"on\"");
        }
        if !store.url.is_empty()
            && let Err(error) = store.options_with(None).check()
        {
            given.fault("store.url", error.to_string());
        }
        store
    }

    /// Where the store is. It can be shown: it is written without a password.
    #[must_use]
    pub fn location(&self) -> Location {
        if self.url.is_empty() { Location::Sqlite(self.path.clone()) } else { Location::Postgres(self.url.clone()) }
    }

    /// How the database is reached, with the password that is in its file, if one is named.
    pub fn options(&self) -> Result<Options, UnreadablePassword> {
        if self.password_file.as_os_str().is_empty() {
            return Ok(self.options_with(None));
        }
        match std::fs::read_to_string(&self.password_file) {
            Ok(text) => Ok(self.options_with(Some(text.trim_end_matches(['\r', '\n']).to_owned()))),
            Err(error) => Err(UnreadablePassword { path: self.password_file.clone(), why: error.to_string() }),
        }
    }

    fn options_with(&self, password: Option<String>) -> Options {
        Options {
            url: self.url.clone(),
            password,
            connections: self.connections,
            read_timeout: self.read_timeout,
            write_timeout: self.write_timeout,
            tls_ca: self.tls.then(|| self.tls_ca.clone()),
            allow_unsafe_database: self.allow_unsafe_database,
        }
    }
}

/// A password that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store.password_file {} can't be read: {why}", path.display())]
pub struct UnreadablePassword {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub why: String,
}

/// As a section of a file. It has no password: what is written out may be shown to others.
impl fmt::Display for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            url,
            password_file,
            cached_sessions,
            connections,
            read_timeout,
            write_timeout,
            tls,
            tls_ca,
            allow_unsafe_database,
        } = self;
        let text = |path: &Path| quoted(&path.to_string_lossy());
        let shown = if url.is_empty() { String::new() } else { self.location().to_string() };
        writeln!(f, "path = {}", text(path))?;
        if shown != *url {
            writeln!(f, "# The password is left out here. It can be given by MANCALA_STORE__URL or in store.password_file.")?;
        }
        writeln!(f, "url = {}", quoted(&shown))?;
        writeln!(f, "password_file = {}", text(password_file))?;
        writeln!(f, "cached_sessions = {cached_sessions}")?;
        writeln!(f, "connections = {connections}")?;
        writeln!(f, "read_timeout = \"{}\"", duration::format(*read_timeout))?;
        writeln!(f, "write_timeout = \"{}\"", duration::format(*write_timeout))?;
        writeln!(f, "tls = \"{}\"", if *tls { "on" } else { "off" })?;
        writeln!(f, "tls_ca = {}", text(tls_ca))?;
        writeln!(f, "allow_unsafe_database = {allow_unsafe_database}")
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn data_file(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}

/// Not as the other settings are taken: a fault must not show what is given, which may bear a password.
fn take_url(given: &mut Given, default: String) -> String {
    let Some(value) = given.take_value("store.url") else { return default };
    match value.into_string() {
        Ok(url) if url.is_empty() || matches!(Location::parse(&url), Some(Location::Postgres(_))) => url,
        _ => {
            given.fault("store.url", "expected postgres://USER:PASSWORD@HOST/DATABASE, or nothing");
            default
        }
    }
}

fn timeout(text: &str) -> Option<Duration> {
    up_to_longest(text).filter(|time| *time >= Duration::from_millis(100))
}
