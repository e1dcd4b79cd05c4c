//! The configuration: its settings, their defaults, and where they are read from.

mod auth;
pub(crate) mod duration;
mod fault;
mod files;
mod limits;
mod load;
mod log_filter;
mod metrics;
mod network;
mod sources;
mod store;
mod streams;
mod telemetry;
mod text;

pub use auth::{AuthConfig, AuthMode, Operator};
pub use fault::{ConfigErrors, Fault};
pub use limits::LimitsConfig;
pub use metrics::MetricsConfig;
pub use network::{TlsConfig, WebConfig};
pub use sources::Sources;
pub use store::{StoreConfig, UnreadablePassword};
pub use streams::StreamsConfig;
pub use telemetry::TelemetryConfig;

use crate::config::network::write_connections;
use crate::config::text::quoted;
use crate::server::{ConnectionSettings, Settings};
use crate::service::Retention;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

/// The configuration. Written out (by `Display`) it is a TOML file that gives the same configuration again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Sockets and calls.
    pub server: ServerConfig,
    /// Encryption.
    pub tls: TlsConfig,
    /// Browsers.
    pub web: WebConfig,
    /// Where sessions are kept.
    pub store: StoreConfig,
    /// Who may do what.
    pub auth: AuthConfig,
    /// What callers may ask for.
    pub limits: LimitsConfig,
    /// How streams live.
    pub streams: StreamsConfig,
    /// How long sessions are kept.
    pub retention: RetentionConfig,
    /// Where it is measured.
    pub metrics: MetricsConfig,
    /// Where traces go.
    pub telemetry: TelemetryConfig,
    /// What is logged.
    pub log: LogConfig,
}

/// Sockets and calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Address to listen on; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// Threads that answer calls; 0: see [`ServerConfig::worker_threads`].
    pub threads: usize,
    /// A call that hasn't answered by then fails, unless its caller gives it another time.
    pub request_timeout: Duration,
    /// The longest time that a caller may give.
    pub longest_timeout: Duration,
    /// On a stop, time between reporting NOT_SERVING and refusing connections.
    pub drain_delay: Duration,
    /// On a stop, time that calls in flight have after that.
    pub drain_timeout: Duration,
    /// What is asked of connections.
    pub connections: ConnectionSettings,
    /// Whether in open mode anyone who reaches an address beyond this machine may do anything.
    pub allow_open: bool,
}

/// How long sessions are kept after their last change; zero: for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// Those that were played to a result.
    pub finished: Duration,
    /// Those that ended without one.
    pub aborted: Duration,
    /// Those that are still being played.
    pub abandoned: Duration,
    /// Time between the event that announces the end and the end.
    pub notice: Duration,
    /// How often sessions to expire are looked for.
    pub sweep_every: Duration,
}

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// Levels by module, as in "info" or "warn,mancala=debug".
    pub filter: String,
    /// For whom.
    pub format: LogFormat,
}

/// For whom log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Human,
    /// For programs: one JSON object a line.
    Json,
}

impl Config {
    /// The configuration that a server has unless told otherwise, with the given data file.
    pub fn defaults(path: PathBuf) -> Self {
        Self {
            server: ServerConfig {
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 50051)),
                threads: 0,
                request_timeout: Duration::from_secs(5),
                longest_timeout: Duration::from_secs(30),
                drain_delay: Duration::ZERO,
                drain_timeout: Duration::from_secs(8),
                connections: ConnectionSettings::default(),
                allow_open: false,
            },
            tls: TlsConfig::defaults(),
            web: WebConfig::defaults(),
            store: StoreConfig::defaults(path),
            auth: AuthConfig { mode: AuthMode::Open, operators: Vec::new(), certificates: Vec::new() },
            limits: LimitsConfig::default(),
            streams: StreamsConfig::defaults(),
            retention: RetentionConfig {
                finished: Duration::ZERO,
                aborted: Duration::ZERO,
                abandoned: Duration::ZERO,
                notice: Duration::from_secs(24 * 3600),
                sweep_every: Duration::from_secs(60),
            },
            metrics: MetricsConfig { listen: None },
            telemetry: TelemetryConfig::default(),
            log: LogConfig { filter: "info".to_owned(), format: LogFormat::Human },
        }
    }

    /// Reads the configuration from `sources`: defaults, then the file, then the environment, then flags. Reports everything
    /// that is wrong at once.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        load::load(sources)
    }

    /// Looks at the files that the settings name, as far as the server must have read them before it begins: everything that is wrong
    /// with them at once. Nothing is opened but to be read.
    pub fn check_files(&self) -> Result<(), ConfigErrors> {
        files::check(self)
    }

    /// How the server behaves.
    pub fn settings(&self) -> Settings {
        Settings {
            request_timeout: self.server.request_timeout,
            longest_timeout: self.server.longest_timeout,
            drain_delay: self.server.drain_delay,
            drain_timeout: self.server.drain_timeout,
            connections: self.server.connections,
            tls: self.tls.settings(&self.auth.certificates),
            web: self.web.settings(),
            ..Settings::default()
        }
    }
}

impl ServerConfig {
    /// How many threads answer calls. Unless a number is given, one core is left to the store's writer, and at least one used.
    pub fn worker_threads(&self) -> usize {
        match self.threads {
            0 => available_parallelism().map_or(1, NonZeroUsize::get).saturating_sub(1).max(1),
            threads => threads,
        }
    }
}

impl RetentionConfig {
    /// How long sessions are kept; none if all are kept for ever.
    pub fn retention(&self) -> Option<Retention> {
        let term = |time: Duration| Some(time).filter(|time| !time.is_zero());
        let (finished, aborted, abandoned) = (term(self.finished), term(self.aborted), term(self.abandoned));
        let any = finished.or(aborted).or(abandoned).is_some();
        any.then_some(Retention { finished, aborted, abandoned, notice: self.notice })
    }
}

impl LogFormat {
    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServerConfig {
            listen,
            threads,
            request_timeout,
            longest_timeout,
            drain_delay,
            drain_timeout,
            connections,
            allow_open,
        } = &self.server;
        writeln!(f, "[server]")?;
        writeln!(f, "listen = \"{listen}\"")?;
        writeln!(f, "threads = {threads}")?;
        writeln!(f, "request_timeout = \"{}\"", duration::format(*request_timeout))?;
        writeln!(f, "longest_timeout = \"{}\"", duration::format(*longest_timeout))?;
        writeln!(f, "drain_delay = \"{}\"", duration::format(*drain_delay))?;
        writeln!(f, "drain_timeout = \"{}\"", duration::format(*drain_timeout))?;
        write_connections(f, connections)?;
        writeln!(f, "allow_open = {allow_open}")?;

        write!(f, "\n[tls]\n{}\n[web]\n{}", self.tls, self.web)?;
        write!(f, "\n[store]\n{}", self.store)?;
        write!(f, "\n[auth]\n{}", self.auth)?;
        write!(f, "\n[limits]\n{}\n[streams]\n{}", self.limits, self.streams)?;
        let RetentionConfig { finished, aborted, abandoned, notice, sweep_every } = &self.retention;
        writeln!(f, "\n[retention]")?;
        writeln!(f, "finished = \"{}\"", duration::format(*finished))?;
        writeln!(f, "aborted = \"{}\"", duration::format(*aborted))?;
        writeln!(f, "abandoned = \"{}\"", duration::format(*abandoned))?;
        writeln!(f, "notice = \"{}\"", duration::format(*notice))?;
        writeln!(f, "sweep_every = \"{}\"", duration::format(*sweep_every))?;

        write!(f, "\n[metrics]\n{}", self.metrics)?;
        write!(f, "\n[telemetry]\n{}", self.telemetry)?;
        let LogConfig { filter, format } = &self.log;
        writeln!(f, "\n[log]")?;
        writeln!(f, "filter = {}", quoted(filter))?;
        writeln!(f, "format = \"{}\"", format.name())
    }
}
