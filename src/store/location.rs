//! Where a store is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is, as it is given in settings and on command lines: `sqlite:PATH`, or `postgres://USER:PASSWORD@HOST/DATABASE`
/// (also `postgresql://`). A text with neither is the path of a file.
///
/// Written out it says nothing of a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A file of the embedded store.
    Sqlite(PathBuf),
    /// A database on a Postgres server, by its URL.
    Postgres(String),
}

impl Location {
    /// The location that a text gives; none if it is empty, or of a kind that is not known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Location> {
        match text.split_once(':') {
            Some(("postgres" | "postgresql", _)) => Some(Location::Postgres(text.to_owned())),
            Some(("sqlite", path)) => (!path.is_empty()).then(|| Location::Sqlite(PathBuf::from(path))),
            Some((_, rest)) if rest.starts_with("//") => None,
            _ => (!text.is_empty()).then(|| Location::Sqlite(PathBuf::from(text))),
        }
    }
}

impl FromStr for Location {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Location, UnknownKind> {
        Location::parse(text).ok_or(UnknownKind)
    }
}

/// A text that gives no location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE")]
pub struct UnknownKind;

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Location::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A URL of which a password, before the `@` or among the parameters, is left out. Whatever may be part of one is left out with it: it
/// may bear a `/`, a `?` and, though it should not, another `@`.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    let (user, rest) = match (rest.find([':', '/', '?', '@']), end_of_credentials(rest)) {
        (Some(name), Some(end)) if !rest[name..].starts_with(['/', '?']) => (format!("{}@", &rest[..name]), &rest[end + 1..]),
        _ => (String::new(), rest),
    };
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let kept: Vec<_> = parameters.split('&').filter(|one| !one.is_empty() && !one.starts_with("password=")).collect();
    let parameters = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{scheme}://{user}{place}{parameters}")
}

/// The last `@` before the parameters, which begin after the first `@`.
fn end_of_credentials(rest: &str) -> Option<usize> {
    let first = rest.find('@')?;
    let parameters = rest[first..].find('?').map_or(rest.len(), |at| first + at);
    rest[..parameters].rfind('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_told_apart() {
        let file = |path: &str| Some(Location::Sqlite(path.into()));
        for (text, expected) in [
            ("games.db", file("games.db")),
            ("/var/lib/games.db", file("/var/lib/games.db")),
            ("sqlite:games.db", file("games.db")),
            ("C:games.db", file("C:games.db")),
            ("sqlite:", None),
            ("", None),
            ("mysql://host/games", None),
            ("postgres://host/games", Some(Location::Postgres("postgres://host/games".into()))),
            ("postgresql://host/games", Some(Location::Postgres("postgresql://host/games".into()))),
        ] {
            assert_eq!(Location::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn no_password_is_written_out() {
        for (url, shown) in [
            ("postgres://me:secret@host:5432/games", "postgres://me@host:5432/games"),
            ("postgres://me:se@cret@host/games?a=1", "postgres://me@host/games?a=1"),
            ("postgres://me:se/cret@host/games", "postgres://me@host/games"),
            ("postgres://me:se?cret@host:1,other:2/games?a=1", "postgres://me@host:1,other:2/games?a=1"),
            ("postgres://me:s@e/c:ret@host/games", "postgres://me@host/games"),
            ("postgres://me@host", "postgres://me@host"),
            ("postgres://me@host/games?application_name=a@b", "postgres://me@host/games?application_name=a@b"),
            ("postgres:///games?user=me@here&password=se@cret", "postgres:///games?user=me@here"),
            ("postgres://host:5432/games", "postgres://host:5432/games"),
            ("postgres://host/games", "postgres://host/games"),
            ("postgres:///games?user=me&password=secret&host=/run", "postgres:///games?user=me&host=/run"),
            ("postgres:///games?password=secret", "postgres:///games"),
            ("postgres:secret", "postgres:secret://"),
        ] {
            assert_eq!(Location::Postgres(url.into()).to_string(), shown);
        }
    }
}
