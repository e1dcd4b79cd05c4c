//! Reading a configuration from its sources.
//!
//! The sources are merged as they are, and the settings taken out of the result one by one. What is left over is a
//! mistyped key. So all faults come to light together, where deriving a deserializer would stop at the first.

use crate::config::auth::operators;
use crate::config::network;
use crate::config::text::elements;
use crate::config::{
    AuthConfig, AuthMode, Config, ConfigErrors, Fault, LimitsConfig, LogConfig, LogFormat, MetricsConfig, RetentionConfig,
    ServerConfig, Sources, StoreConfig, StreamsConfig, TelemetryConfig, duration,
};
use config::{File, FileFormat, Map, Source, Value, ValueKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::DnsName;
use tracing_subscriber::filter::Targets;

/// What variables of the environment begin with.
const PREFIX: &str = "MANCALA_";
/// Names a configuration file.
const FILE_VARIABLE: &str = "MANCALA_CONFIG";
/// What stands between the levels of a key in the environment. Variables without it are not settings: Kubernetes sets
/// some, such as `MANCALA_PORT`, for every service of that name.
const LEVEL: &str = "__";
/// The longest time that a setting of the server itself may give.
const LONGEST: Duration = Duration::from_secs(3600);
/// The longest time for which sessions may be kept before they expire: ten years.
const LONGEST_TERM: Duration = Duration::from_secs(87_600 * 3600);

/// See [`Config::load`].
pub fn load(sources: &Sources) -> Result<Config, ConfigErrors> {
    let mut given = Given::default();
    given.add_file(sources);
    given.add_environment(&sources.environment);
    given.add_flags(&sources.flags);

    let path = sources.data_folder.as_ref().map(|folder| folder.join("mancala").join("mancala.db"));
    let defaults = Config::defaults(path.unwrap_or_default());
    let auth = auth(&mut given, defaults.auth);
    let config = Config {
        server: server(&mut given, defaults.server, auth.mode),
        tls: network::tls(&mut given, defaults.tls),
        web: network::web(&mut given, defaults.web),
        store: StoreConfig::take(&mut given, defaults.store),
        auth,
        limits: LimitsConfig::take(&mut given, defaults.limits),
        streams: StreamsConfig::take(&mut given, defaults.streams),
        retention: retention(&mut given, defaults.retention),
        metrics: MetricsConfig::take(&mut given, defaults.metrics),
        telemetry: TelemetryConfig::take(&mut given, defaults.telemetry),
        log: LogConfig {
            filter: given.take("log.filter", defaults.log.filter, "levels such as \"info\" or \"warn,mancala=debug\"", filter),
            format: given.take("log.format", defaults.log.format, "\"human\" or \"json\"", format),
        },
    };
    if !config.auth.certificates.is_empty() && config.tls.client_ca.as_os_str().is_empty() {
        given.fault("auth.certificates", "clients are asked for certificates only if tls.client_ca names their authorities");
    }
    given.finish(config)
}

fn auth(given: &mut Given, defaults: AuthConfig) -> AuthConfig {
    let mode = given.take("auth.mode", defaults.mode, "\"open\" or \"token\"", AuthMode::parse);
    let mut faults = Vec::new();
    let operators = given.take_value("auth.operators").map_or(defaults.operators, |value| operators(value, &mut faults));
    let certificates =
        given.take_list("auth.certificates", defaults.certificates, "a list of DNS names such as [\"ops.example\"]", |name| {
            DnsName::try_from(name).is_ok()
        });
    if mode == AuthMode::Token && operators.is_empty() && certificates.is_empty() && faults.is_empty() {
        faults.push("token mode needs an operator: `mancala key NAME` makes a key and says how to set it".to_owned());
    }
    faults.into_iter().for_each(|fault| given.fault("auth.operators", fault));
    AuthConfig { mode, operators, certificates }
}

fn server(given: &mut Given, defaults: ServerConfig, mode: AuthMode) -> ServerConfig {
    let time = "a time such as \"500ms\" or \"30s\", at most 1h";
    let server = ServerConfig {
        listen: given
            .take("server.listen", defaults.listen, "an IP address and a port such as 127.0.0.1:50051", |text| text.parse().ok()),
        threads: given.take("server.threads", defaults.threads, "a number from 0 (automatic) to 1024", |text| {
            text.parse().ok().filter(|threads| *threads <= 1024)
        }),
        request_timeout: given.take(
            "server.request_timeout",
            defaults.request_timeout,
            &format!("{time}, more than 0"),
            |text| up_to_longest(text).filter(|time| !time.is_zero()),
        ),
        longest_timeout: given.take(
            "server.longest_timeout",
            defaults.longest_timeout,
            &format!("{time}, more than 0"),
            |text| up_to_longest(text).filter(|time| !time.is_zero()),
        ),
        drain_delay: given.take("server.drain_delay", defaults.drain_delay, time, up_to_longest),
        drain_timeout: given.take("server.drain_timeout", defaults.drain_timeout, time, up_to_longest),
        connections: network::connections(given, defaults.connections),
        allow_open: given.take("server.allow_open", defaults.allow_open, "true or false", |text| text.parse().ok()),
    };
    if server.request_timeout > server.longest_timeout {
        given.fault("server.longest_timeout", "shorter than server.request_timeout, which calls have without asking for it");
    }
    if mode == AuthMode::Open && !server.allow_open && !is_loopback(server.listen) {
        let problem = format!(
            "{} can be reached from other machines, and whoever reaches it may do anything: \
             listen on 127.0.0.1, set auth.mode = \"token\", or set server.allow_open = true if that is meant",
            server.listen
        );
        given.fault("server.listen", problem);
    }
    server
}

fn retention(given: &mut Given, defaults: RetentionConfig) -> RetentionConfig {
    let term = "a time such as \"24h\", at most 87600h; 0s: for ever";
    RetentionConfig {
        finished: given.take("retention.finished", defaults.finished, term, up_to_ten_years),
        aborted: given.take("retention.aborted", defaults.aborted, term, up_to_ten_years),
        abandoned: given.take("retention.abandoned", defaults.abandoned, term, up_to_ten_years),
        notice: given.take(
            "retention.notice",
            defaults.notice,
            "a time such as \"24h\", at most 87600h; 0s: none",
            up_to_ten_years,
        ),
        sweep_every: given.take(
            "retention.sweep_every",
            defaults.sweep_every,
            "a time such as \"30s\" or \"1m\", at most 1h, more than 0",
            |text| up_to_longest(text).filter(|time| !time.is_zero()),
        ),
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

pub(super) fn up_to_longest(text: &str) -> Option<Duration> {
    duration::parse(text).filter(|time| *time <= LONGEST)
}

fn up_to_ten_years(text: &str) -> Option<Duration> {
    duration::parse(text).filter(|time| *time <= LONGEST_TERM)
}

fn filter(text: &str) -> Option<String> {
    // What names spans or fields would pass for a target that nothing has.
    text.parse::<Targets>().ok().filter(|_| !text.contains(['[', '{'])).map(|_| text.to_owned())
}

fn format(text: &str) -> Option<LogFormat> {
    [LogFormat::Human, LogFormat::Json].into_iter().find(|format| format.name() == text)
}

/// What the sources give, by key, a later source over an earlier one; and what is wrong with it.
#[derive(Default)]
pub(super) struct Given {
    values: BTreeMap<String, Value>,
    /// Where the values that were taken came from.
    origins: BTreeMap<&'static str, String>,
    faults: Vec<Fault>,
}

impl Given {
    fn add_file(&mut self, sources: &Sources) {
        let named = || sources.environment.iter().find(|(name, value)| name == FILE_VARIABLE && !value.is_empty());
        let Some(path) = sources.file.clone().or_else(|| named().map(|(_, value)| PathBuf::from(value))) else { return };
        match std::fs::read_to_string(&path) {
            Err(error) => self.whole_source(format!("the file {} can't be read: {error}", path.display())),
            Ok(text) => match File::from_str(&text, FileFormat::Toml).collect() {
                Err(error) => self.whole_source(format!("the file {} is not TOML: {error}", path.display())),
                Ok(table) => self.flatten("", table, &path.display().to_string()),
            },
        }
    }

    fn add_environment(&mut self, environment: &[(OsString, OsString)]) {
        for (name, value) in environment {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
            let Some(key) = name.strip_prefix(PREFIX).filter(|key| key.contains(LEVEL)) else { continue };
            let key = key.replace(LEVEL, ".").to_lowercase();
            match value.to_str() {
                Some("") => {}
                Some(value) => self.add(key, value.to_owned().into(), name),
                None => self.faults.push(Fault {
                    key: Some(key),
                    origin: Some(name.to_owned()),
                    problem: "the value is not valid Unicode".to_owned(),
                }),
            }
        }
    }

    fn add_flags(&mut self, flags: &[(&'static str, &'static str, String)]) {
        for (key, name, value) in flags {
            self.add((*key).to_owned(), value.clone().into(), name);
        }
    }

    fn flatten(&mut self, prefix: &str, table: Map<String, Value>, origin: &str) {
        for (name, value) in table {
            let key = format!("{prefix}{name}");
            match value.kind {
                ValueKind::Table(inner) => self.flatten(&format!("{key}."), inner, origin),
                kind => self.add(key, kind, origin),
            }
        }
    }

    fn add(&mut self, key: String, kind: ValueKind, origin: &str) {
        self.values.insert(key, Value::new(Some(&origin.to_owned()), kind));
    }

    /// Takes a setting out as it was given.
    pub(super) fn take_value(&mut self, key: &'static str) -> Option<Value> {
        let value = self.values.remove(key)?;
        self.origins.extend(value.origin().map(|origin| (key, origin.to_owned())));
        Some(value)
    }

    /// Takes a setting out: its default if no source gives it, and, with a fault noted, if what is given is not `expected`.
    pub(super) fn take<T>(&mut self, key: &'static str, default: T, expected: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        let Some(value) = self.take_value(key) else { return default };
        let text = value.clone().into_string();
        text.ok().and_then(|text| parse(&text)).unwrap_or_else(|| {
            self.fault(key, format!("{value} given, expected {expected}"));
            default
        })
    }

    /// Takes a list of texts out; each element must satisfy `is_right`.
    pub(super) fn take_list(
        &mut self,
        key: &'static str,
        default: Vec<String>,
        expected: &str,
        is_right: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let Some(value) = self.take_value(key) else { return default };
        let texts: Option<Vec<_>> =
            elements(value.clone()).and_then(|list| list.into_iter().map(|element| element.into_string().ok()).collect());
        texts.filter(|texts| texts.iter().all(|text| is_right(text))).unwrap_or_else(|| {
            self.fault(key, format!("{value} given, expected {expected}"));
            default
        })
    }

    pub(super) fn fault(&mut self, key: &'static str, problem: impl Into<String>) {
        let origin = self.origins.get(key).cloned();
        self.faults.push(Fault { key: Some(key.to_owned()), origin, problem: problem.into() });
    }

    fn whole_source(&mut self, problem: String) {
        self.faults.push(Fault { key: None, origin: None, problem });
    }

    /// `config` if nothing is wrong. What has not been taken is no setting.
    fn finish(mut self, config: Config) -> Result<Config, ConfigErrors> {
        for (key, value) in self.values {
            let origin = value.origin().map(str::to_owned);
            let problem = "there is no such setting: `mancala check-config` without it lists those that there are".to_owned();
            self.faults.push(Fault { key: Some(key), origin, problem });
        }
        if self.faults.is_empty() { Ok(config) } else { Err(ConfigErrors(self.faults)) }
    }
}
