//! Reading a configuration from its sources.
//!
//! The sources are merged as they are, and the settings taken out of the result one by one. What is left over is a
//! mistyped key. So all faults come to light together, where deriving a deserializer would stop at the first.

use crate::config::auth::operators;
use crate::config::text::elements;
use crate::config::{
    AuthConfig, AuthMode, Config, ConfigErrors, Fault, LimitsConfig, LogConfig, LogFormat, MetricsConfig, RetentionConfig,
    ServerConfig, Sources, StoreConfig, StreamsConfig, TelemetryConfig, duration,
};
use crate::config::{log_filter, network};
use config::{File, FileFormat, Map, Source, Value, ValueKind};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::DnsName;

/// What variables of the environment begin with.
const PREFIX: &str = "MANCALA_";
/// Names a configuration file.
const FILE_VARIABLE: &str = "MANCALA_CONFIG";
/// What stands between the levels of a key in the environment. Variables without it are not settings: Kubernetes sets
/// some, such as `MANCALA_PORT`, for every service of that name. One that would be a setting with it is a fault all the same.
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
            filter: given.take("log.filter", defaults.log.filter, log_filter::EXPECTED, log_filter::read),
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
    // Whoever names some means them to be the only ones who may do everything. In a mode that can't be read that may be so.
    if mode == AuthMode::Open && !given.is_at_fault("auth.mode") {
        for (key, any) in [("auth.operators", !operators.is_empty()), ("auth.certificates", !certificates.is_empty())] {
            if any {
                given.fault(key, "for nothing in open mode, in which everybody may do everything: set auth.mode = \"token\"");
            }
        }
    }
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

fn format(text: &str) -> Option<LogFormat> {
    [LogFormat::Human, LogFormat::Json].into_iter().find(|format| format.name() == text)
}

/// What the sources give, by key, a later source over an earlier one; and what is wrong with it.
#[derive(Default)]
pub(super) struct Given {
    values: BTreeMap<String, Value>,
    /// Where the values that were taken came from.
    origins: BTreeMap<&'static str, String>,
    /// Variables of the project's prefix without levels.
    flat: Vec<String>,
    /// The keys of all settings that were taken.
    keys: BTreeSet<&'static str>,
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
            let Some(name) = name.to_str() else { continue };
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            if !key.contains(LEVEL) {
                self.flat.extend((!value.is_empty()).then(|| name.to_owned()));
                continue;
            }
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
        self.keys.insert(key);
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

    fn is_at_fault(&self, key: &str) -> bool {
        self.faults.iter().any(|fault| fault.key.as_deref() == Some(key))
    }

    fn whole_source(&mut self, problem: String) {
        self.faults.push(Fault { key: None, origin: None, problem });
    }

    /// `config` if nothing is wrong. What has not been taken is no setting.
    fn finish(mut self, config: Config) -> Result<Config, ConfigErrors> {
        for name in self.flat {
            let flat = |key: &str| format!("{PREFIX}{}", key.replace('.', "_")).eq_ignore_ascii_case(&name);
            if let Some(key) = self.keys.iter().find(|key| flat(key)) {
                let right = format!("{PREFIX}{}", key.replace('.', LEVEL).to_uppercase());
                let problem =
                    format!("this variable sets nothing: it is written {right}, with two underscores between the levels");
                self.faults.push(Fault { key: Some((*key).to_owned()), origin: Some(name), problem });
            }
        }
        for (key, value) in self.values {
            let origin = value.origin().map(str::to_owned);
            let problem = "there is no such setting: `mancala check-config` without it lists those that there are".to_owned();
            self.faults.push(Fault { key: Some(key), origin, problem });
        }
        if self.faults.is_empty() { Ok(config) } else { Err(ConfigErrors(self.faults)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with these variables of the environment.
    fn faults(variables: &[(&str, &str)]) -> Vec<Fault> {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let sources = Sources { environment, data_folder: Some(PathBuf::from("/data")), ..Sources::default() };
        load(&sources).err().map(|ConfigErrors(faults)| faults).unwrap_or_default()
    }

    const OPERATORS: (&str, &str) = (
        "MANCALA_AUTH__OPERATORS",
        "[{ name = 'ops', key_sha256 = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' }]",
    );

    #[test]
    fn operators_are_for_nothing_in_open_mode() {
        let tls = [("MANCALA_TLS__CERTIFICATE", "/a"), ("MANCALA_TLS__KEY", "/b"), ("MANCALA_TLS__CLIENT_CA", "/c")];
        let all = [&tls[..], &[OPERATORS, ("MANCALA_AUTH__CERTIFICATES", "['ops.example']")]].concat();
        let found = faults(&all);
        let keys: Vec<_> = found.iter().filter_map(|fault| fault.key.as_deref()).collect();
        assert_eq!(keys, ["auth.operators", "auth.certificates"]);
        assert!(found[0].to_string().contains("(MANCALA_AUTH__OPERATORS): for nothing in open mode"), "{}", found[0]);
        assert_eq!(faults(&[&all[..], &[("MANCALA_AUTH__MODE", "token")]].concat()), []);
        // A mode that can't be read may be any.
        assert_eq!(faults(&[OPERATORS, ("MANCALA_AUTH__MODE", "closed")]).len(), 1);
    }

    #[test]
    fn a_setting_without_its_levels_is_told_how_it_is_written() {
        let found = faults(&[("MANCALA_AUTH_MODE", "token"), OPERATORS]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].to_string().starts_with("auth.mode (MANCALA_AUTH_MODE): this variable sets nothing"), "{}", found[1]);
        assert!(found[1].problem.contains(" MANCALA_AUTH__MODE, with two underscores"), "{}", found[1]);
        let key = |fault: &Fault| fault.key.clone();
        for (name, expected) in [
            ("MANCALA_SERVER_MAX_CONNECTIONS_PER_ADDRESS", "server.max_connections_per_address"),
            ("MANCALA_STORE_URL", "store.url"),
            ("MANCALA_LOG_FILTER", "log.filter"),
            ("MANCALA_LIMITS_TRUSTED_PROXIES", "limits.trusted_proxies"),
            ("MANCALA_log_filter", "log.filter"),
        ] {
            let found = faults(&[(name, "any")]);
            assert_eq!(found.iter().map(key).collect::<Vec<_>>(), [Some(expected.to_owned())], "{name}");
        }
    }

    /// Those that Kubernetes sets for services called mancala, mancala-server and mancala-metrics, and others that are no settings.
    #[test]
    fn variables_that_are_no_settings_are_passed_over() {
        for service in ["MANCALA", "MANCALA_SERVER", "MANCALA_METRICS", "MANCALA_STORE"] {
            for rest in ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_GRPC", "PORT", "PORT_50051_TCP", "PORT_50051_TCP_ADDR"] {
                assert_eq!(faults(&[(&format!("{service}_{rest}"), "10.0.0.1")]), [], "{service}_{rest}");
            }
        }
        assert_eq!(
            faults(&[("MANCALA_DATABASE_PASSWORD", "secret"), ("MANCALA_OPERATOR_KEY", "mop"), ("MANCALA_LISTEN", "a")]),
            []
        );
        assert_eq!(faults(&[("MANCALA_AUTH_MODE", ""), ("AUTH_MODE", "token"), ("mancala_auth_mode", "token")]), []);
    }
}
