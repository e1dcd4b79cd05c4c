//! How a database is reached.

use super::OpenError;
use super::hosts::Hosts;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// How the connections of servers call themselves.
pub(super) const NAME: &str = "mancala";

/// How a database is reached and used.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; several hosts, separated by commas, are tried in turn, the last good one first.
    pub url: String,
    /// The password, where the URL has none.
    pub password: Option<String>,
    /// Most connections for reads and writes; at least one. There are two more for hints, one that looks after the
    /// server, and one while sessions are counted.
    pub connections: usize,
    /// How long a read may take, with all repetitions.
    pub read_timeout: Duration,
    /// How long a write may take, with all repetitions. Where its outcome is not known then, it is told so.
    pub write_timeout: Duration,
    /// Authorities for the server's certificate, as a file of PEM. Without it connections are not encrypted.
    pub tls_ca: Option<PathBuf>,
    /// Use a server, too, that would lose what it has acknowledged when the power goes.
    pub allow_unsafe_database: bool,
}

impl Options {
    /// The usual ones, for the database at a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Options {
        Options {
            url: url.into(),
            password: None,
            connections: 16,
            read_timeout: Duration::from_secs(2),
            write_timeout: Duration::from_secs(4),
            tls_ca: None,
            allow_unsafe_database: false,
        }
    }

    /// Whether the URL can be used, as far as that can be told without a server.
    pub fn check(&self) -> Result<(), OpenError> {
        Hosts::of(&self.client()?).map(drop)
    }

    /// How long one attempt at a write may take before it is repeated on another connection.
    pub(super) fn attempt_timeout(&self) -> Duration {
        self.write_timeout / 4
    }

    /// How long a statement may wait for a row that another one holds: less than an attempt takes, so that it ends with an answer. Of a
    /// statement for many sessions one locked row would otherwise leave all in doubt.
    pub(super) fn lock_timeout(&self) -> Duration {
        self.attempt_timeout() * 3 / 4
    }

    /// How long the making of a connection may take.
    pub(super) fn connect_timeout(&self) -> Duration {
        (self.read_timeout / 2).min(Duration::from_secs(1))
    }

    /// What a URL says of encryption must not be taken for more than it is: the settings beside it say whether there is any.
    fn check_encryption(&self) -> Result<(), OpenError> {
        let parameters = self.url.split_once('?').map_or("", |(_, parameters)| parameters);
        let mode = parameters.split('&').filter_map(|parameter| parameter.strip_prefix("sslmode=")).next_back();
        let demanded = mode.filter(|mode| matches!(*mode, "require" | "verify-ca" | "verify-full"));
        match (demanded, &self.tls_ca) {
            (Some(mode), None) => Err(OpenError::Url(format!(
                "sslmode={mode} asks for an encrypted connection, which takes store.tls = \"on\" and store.tls_ca"
            ))),
            (Some(mode @ ("verify-ca" | "verify-full")), Some(_)) => {
                Err(OpenError::Url(format!("store.tls = \"on\" verifies the server in any case; leave sslmode={mode} out")))
            }
            _ => Ok(()),
        }
    }

    /// The settings of every connection.
    pub(super) fn client(&self) -> Result<Config, OpenError> {
        self.check_encryption()?;
        let mut config = Config::from_str(&self.url).map_err(|error| OpenError::Url(super::errors::text(&error)))?;
        if config.get_dbname().is_none() {
            return Err(OpenError::Url("it names no database".into()));
        }
        if let Some(password) = self.password.as_ref().filter(|_| config.get_password().is_none()) {
            config.password(password);
        }
        // By this name it is told whether servers use a database.
        config.application_name(NAME);
        // The server gives a statement up, too, so that what nobody waits for any more does not run on.
        let timeout = self.read_timeout.max(self.write_timeout).as_millis();
        let given = config.get_options().unwrap_or_default();
        let locks = self.lock_timeout().as_millis();
        let options = format!(
            "{given} -c statement_timeout={timeout} -c lock_timeout={locks} -c idle_in_transaction_session_timeout={timeout}"
        );
        config.options(options.trim_start().to_owned());
        config.ssl_mode(if self.tls_ca.is_some() { SslMode::Require } else { SslMode::Disable });
        config.connect_timeout(self.connect_timeout());
        // A peer that has gone without a word is found out in seconds, not hours.
        config.tcp_user_timeout(self.write_timeout);
        config.keepalives_idle(Duration::from_secs(5));
        config.keepalives_interval(Duration::from_secs(1));
        config.keepalives_retries(4);
        Ok(config)
    }
}

impl fmt::Debug for Options {
    /// Written without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { url, password: _, connections, read_timeout, write_timeout, tls_ca, allow_unsafe_database } = self;
        f.debug_struct("Options")
            .field("url", &crate::store::Location::Postgres(url.clone()))
            .field("connections", connections)
            .field("read_timeout", read_timeout)
            .field("write_timeout", write_timeout)
            .field("tls_ca", tls_ca)
            .field("allow_unsafe_database", allow_unsafe_database)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_name_a_host_and_a_database() {
        for (url, expected) in [
            ("postgres://me@host/games", None),
            ("postgres:///games?host=/run/postgresql", None),
            ("postgres://me@host", Some("it names no database")),
            ("postgres:///games", Some("it names no host")),
            ("postgres://me@host:port/games", Some("invalid connection string")),
            ("postgres://me@a,b,c/games?port=1,2", Some("not as many ports")),
        ] {
            let refused = Options::new(url).check().err().map(|error| error.to_string());
            match (refused, expected) {
                (None, None) => {}
                (Some(refused), Some(expected)) => assert!(refused.contains(expected), "{refused}"),
                other => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn options_of_the_url_are_kept_and_time_is_limited() {
        let options = Options::new("postgres://me@host/games?options=-c%20work_mem%3D1MB");
        let config = options.client().expect("a configuration");
        let limits = "-c statement_timeout=4000 -c lock_timeout=750 -c idle_in_transaction_session_timeout=4000";
        assert_eq!(config.get_options(), Some(format!("-c work_mem=1MB {limits}").as_str()));
        assert_eq!(config.get_ssl_mode(), SslMode::Disable);
        let safe = Options { tls_ca: Some("ca.pem".into()), ..options };
        assert_eq!(safe.client().expect("a configuration").get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn a_url_that_asks_for_encryption_is_no_url_for_a_plain_connection() {
        let refused = |options: Options| options.check().err().map(|error| error.to_string()).unwrap_or_default();
        for mode in ["require", "verify-ca", "verify-full"] {
            let plain = Options::new(format!("postgres://me@host/games?sslmode=prefer&sslmode={mode}"));
            let refusal = refused(plain);
            assert!(refusal.contains(&format!("sslmode={mode}")) && refusal.contains("store.tls_ca"), "{refusal}");
        }
        for mode in ["disable", "prefer"] {
            assert_eq!(refused(Options::new(format!("postgres://me@host/games?sslmode={mode}"))), "");
        }
        let safe = |mode: &str| {
            refused(Options { tls_ca: Some("ca.pem".into()), ..Options::new(format!("postgres://me@host/games?sslmode={mode}")) })
        };
        assert_eq!(safe("require"), "");
        assert!(safe("verify-full").contains("leave sslmode=verify-full out"));
    }

    #[test]
    fn the_url_has_the_last_word_on_the_password_and_none_on_the_name() {
        let client = |url: &str| {
            let options = Options { password: Some("of the file".into()), ..Options::new(url) };
            options.client().expect("a configuration")
        };
        assert_eq!(client("postgres://me@host/games").get_password(), Some("of the file".as_bytes()));
        let given = client("postgres://me:given@host/games?application_name=other");
        assert_eq!((given.get_password(), given.get_application_name()), (Some("given".as_bytes()), Some("mancala")));
    }

    #[test]
    fn no_password_is_shown() {
        let options = Options { password: Some("secret".into()), ..Options::new("postgres://me:secret@host/games") };
        let shown = format!("{options:?}");
        assert!(shown.contains("postgres://me@host/games") && !shown.contains("secret"), "{shown}");
    }
}
