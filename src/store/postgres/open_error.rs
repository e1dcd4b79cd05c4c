//! Why a database is not used.

use std::path::PathBuf;

/// Why a database is not used. Each says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL can't be read.
    #[error("the database's URL can't be used: {0}; expected postgres://USER:PASSWORD@HOST/DATABASE")]
    Url(String),
    /// The authorities' certificates can't be read.
    #[error("the authorities in {} can't be used: {why}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The server does not let us in.
    #[error(
        "the database server refuses: {0}; check user, password, the database's name and what the user may do there, and whether the \
         server demands store.tls = \"on\""
    )]
    Refused(String),
    /// The server does not encrypt, or shows a certificate that is not trusted.
    #[error(
        "there is no encrypted connection to the database server that can be trusted: {0}; see that the server has ssl on, and a \
         certificate for the host in the URL that an authority in store.tls_ca has issued"
    )]
    Untrusted(String),
    /// The server would lose what it has acknowledged.
    #[error(
        "the database server has {setting} off, so that it loses acknowledged moves when it crashes or the power goes; set it on, or \
         store.allow_unsafe_database = true if the games may be lost"
    )]
    Unsafe {
        /// The server's setting.
        setting: &'static str,
    },
    /// The server follows another one.
    #[error(
        "the database server is a standby; give the URL of the primary, or of all of them with target_session_attrs=read-write"
    )]
    Standby,
    /// The server takes no writes, though it follows no other.
    #[error(
        "the database server is set to read-only; see its default_transaction_read_only, and that of the database and the user"
    )]
    ReadOnly,
    /// The server lacks what is needed.
    #[error("the database server is Postgres {version}, which is too old; {needed} or newer is needed")]
    TooOld {
        /// What it says it is.
        version: String,
        /// The oldest that will do.
        needed: u32,
    },
    /// The database can't hold all texts.
    #[error(
        "the database is in {encoding}, which can't hold every text; make one in UTF8 (CREATE DATABASE ... TEMPLATE template0 \
         ENCODING 'UTF8')"
    )]
    Encoding {
        /// What it is in.
        encoding: String,
    },
    /// A newer program has made the tables.
    #[error("the database was made by a newer version of this program (migration {0}); use that version or a newer one")]
    Newer(String),
    /// The tables are not what they should be.
    #[error("the database's tables are not this program's: {0}; give it a database of its own")]
    Foreign(String),
    /// The tables were filled by another server, and restored here by other means than a copy of its files.
    #[error(
        "the database was filled on another server: its last change is of transaction {last}, and this server is at {next}, so that \
         followers of all changes would miss what is stored; move it by `mancala copy` into a new database, and use that"
    )]
    OtherServer {
        /// The last transaction that changed anything.
        last: i64,
        /// The next transaction of this server.
        next: i64,
    },
    /// A command can't reach the server. A server of ours tries on instead.
    #[error("the database can't be reached: {0}; see that its server runs and is found under the URL")]
    Unreachable(String),
    /// The tables are not there, or not all of them.
    #[error("the database has no tables of this program's version; start a server on it once, which makes them")]
    NoTables,
    /// Servers or copies are connected to the database.
    #[error("the database is in use by servers or by another copy ({connections} connections); stop them first")]
    InUse {
        /// Their connections.
        connections: i64,
    },
    /// A copy into it did not come to its end.
    #[error("the database is half copied from {from}; run `mancala copy` again, which goes on where it was cut")]
    HalfCopied {
        /// What it is a copy of.
        from: String,
    },
}
