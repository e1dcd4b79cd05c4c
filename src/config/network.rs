//! Connections: how many and for how long, encryption, and browsers.

use crate::config::duration;
use crate::config::load::{Given, up_to_longest};
use crate::config::text::{list, quoted};
use crate::server::{ConnectionSettings, TlsSettings, WebSettings};
use http::Uri;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// How connections are encrypted. Empty paths are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate, and those that lead to its authority, as PEM; none: connections are plain.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
    /// Authorities of clients' certificates, as PEM; none: clients are asked for none.
    pub client_ca: PathBuf,
    /// Whether clients may come without a certificate all the same.
    pub client_optional: bool,
    /// How often the files are looked at for a change.
    pub check_every: Duration,
}

/// How browsers are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebConfig {
    /// Whether gRPC-Web is spoken.
    pub enabled: bool,
    /// Origins whose pages may call.
    pub allow_origins: Vec<String>,
    /// So long a browser may remember that it may.
    pub max_age: Duration,
}

impl TlsConfig {
    pub(super) fn defaults() -> Self {
        let none = PathBuf::new;
        let check_every = Duration::from_secs(10);
        Self { certificate: none(), key: none(), client_ca: none(), client_optional: false, check_every }
    }

    /// Whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }

    /// How, if they are; clients with certificates for one of the names of `operators` may do everything.
    pub(super) fn settings(&self, operators: &[String]) -> Option<TlsSettings> {
        let Self { certificate, key, client_ca, client_optional, check_every } = self.clone();
        let client_ca = Some(client_ca).filter(|path| !path.as_os_str().is_empty());
        let operators = operators.to_vec();
        self.is_on().then_some(TlsSettings { certificate, key, client_ca, client_optional, check_every, operators })
    }
}

impl WebConfig {
    pub(super) fn defaults() -> Self {
        Self { enabled: false, allow_origins: Vec::new(), max_age: Duration::from_secs(3600) }
    }

    pub(super) fn settings(&self) -> Option<WebSettings> {
        let Self { enabled, allow_origins, max_age } = self.clone();
        enabled.then_some(WebSettings { allow_origins, max_age })
    }
}

/// Takes what is asked of connections out of what is given.
pub(super) fn connections(given: &mut Given, defaults: ConnectionSettings) -> ConnectionSettings {
    ConnectionSettings {
        max_connections: number(given, "server.max_connections", defaults.max_connections, 1, 1_000_000),
        max_connections_per_address: number(
            given,
            "server.max_connections_per_address",
            defaults.max_connections_per_address,
            0,
            1_000_000,
        ),
        max_streams: number(given, "server.max_streams", defaults.max_streams, 1, 10_000),
        header_timeout: some_time(given, "server.header_timeout", defaults.header_timeout),
        keepalive_interval: some_time(given, "server.keepalive_interval", defaults.keepalive_interval),
        keepalive_timeout: some_time(given, "server.keepalive_timeout", defaults.keepalive_timeout),
        connection_age: given.take("server.connection_age", defaults.connection_age, AGE, age),
        connection_grace: given.take("server.connection_grace", defaults.connection_grace, TIME, up_to_longest),
        stall_timeout: some_time(given, "server.stall_timeout", defaults.stall_timeout),
    }
}

/// Takes the section `tls` out of what is given.
pub(super) fn tls(given: &mut Given, defaults: TlsConfig) -> TlsConfig {
    let path = |text: &str| Some(PathBuf::from(text));
    let file = "the path of a PEM file, or nothing";
    let tls = TlsConfig {
        certificate: given.take("tls.certificate", defaults.certificate, file, path),
        key: given.take("tls.key", defaults.key, file, path),
        client_ca: given.take("tls.client_ca", defaults.client_ca, file, path),
        client_optional: given.take("tls.client_optional", defaults.client_optional, "true or false", |text| text.parse().ok()),
        check_every: some_time(given, "tls.check_every", defaults.check_every),
    };
    let is_given = |path: &Path| !path.as_os_str().is_empty();
    match (tls.is_on(), is_given(&tls.key)) {
        (true, false) => given.fault("tls.key", "tls.certificate needs its private key"),
        (false, true) => given.fault("tls.certificate", "tls.key is for nothing without its certificate"),
        (true, true) | (false, false) => {}
    }
    if is_given(&tls.client_ca) && !tls.is_on() {
        given.fault("tls.client_ca", "only over TLS can clients show certificates: set tls.certificate and tls.key");
    }
    tls
}

/// Takes the section `web` out of what is given.
pub(super) fn web(given: &mut Given, defaults: WebConfig) -> WebConfig {
    let enabled = given.take("web.enabled", defaults.enabled, "true or false", |text| text.parse().ok());
    let allow_origins = given.take_list(
        "web.allow_origins",
        defaults.allow_origins,
        "a list of origins such as [\"https://play.example\"], or [\"*\"] for all",
        is_origin,
    );
    if allow_origins.len() > 1 && allow_origins.iter().any(|origin| origin == "*") {
        given.fault("web.allow_origins", "\"*\" is all origins: name it alone, or name the others");
    }
    WebConfig { enabled, allow_origins, max_age: given.take("web.max_age", defaults.max_age, TIME, up_to_longest) }
}

/// Whether a browser would name an origin so: a scheme, a host and, if it is not the scheme's own, a port. Or "*".
fn is_origin(text: &str) -> bool {
    let plain = |uri: Uri| {
        let (scheme, authority) = (uri.scheme_str()?.to_owned(), uri.authority()?.to_string());
        (text == format!("{scheme}://{authority}") && !authority.contains('@')).then_some(())
    };
    text == "*" || (text == text.to_lowercase() && text.parse().ok().and_then(plain).is_some())
}

const TIME: &str = "a time such as \"500ms\" or \"30s\", at most 1h";
const AGE: &str = "a time such as \"30m\", at most 24h; 0s: no end";

fn age(text: &str) -> Option<Duration> {
    duration::parse(text).filter(|time| *time <= Duration::from_secs(24 * 3600))
}

/// A time that is more than nothing.
fn some_time(given: &mut Given, key: &'static str, default: Duration) -> Duration {
    given.take(key, default, &format!("{TIME}, more than 0"), |text| up_to_longest(text).filter(|time| !time.is_zero()))
}

fn number<T: FromStr + PartialOrd + fmt::Display>(given: &mut Given, key: &'static str, default: T, least: T, most: T) -> T {
    let expected = format!("a number from {least} to {most}");
    given.take(key, default, &expected, |text| text.parse().ok().filter(|number| (&least..=&most).contains(&number)))
}

/// As settings of the section `server`.
pub(super) fn write_connections(f: &mut fmt::Formatter<'_>, settings: &ConnectionSettings) -> fmt::Result {
    let ConnectionSettings {
        max_connections,
        max_connections_per_address,
        max_streams,
        header_timeout,
        keepalive_interval,
        keepalive_timeout,
        connection_age,
        connection_grace,
        stall_timeout,
    } = settings;
    writeln!(f, "max_connections = {max_connections}")?;
    writeln!(f, "max_connections_per_address = {max_connections_per_address}")?;
    writeln!(f, "max_streams = {max_streams}")?;
    writeln!(f, "header_timeout = \"{}\"", duration::format(*header_timeout))?;
    writeln!(f, "keepalive_interval = \"{}\"", duration::format(*keepalive_interval))?;
    writeln!(f, "keepalive_timeout = \"{}\"", duration::format(*keepalive_timeout))?;
    writeln!(f, "connection_age = \"{}\"", duration::format(*connection_age))?;
    writeln!(f, "connection_grace = \"{}\"", duration::format(*connection_grace))?;
    writeln!(f, "stall_timeout = \"{}\"", duration::format(*stall_timeout))
}

impl fmt::Display for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { certificate, key, client_ca, client_optional, check_every } = self;
        for (name, path) in [("certificate", certificate), ("key", key), ("client_ca", client_ca)] {
            writeln!(f, "{name} = {}", quoted(&path.to_string_lossy()))?;
        }
        writeln!(f, "client_optional = {client_optional}")?;
        writeln!(f, "check_every = \"{}\"", duration::format(*check_every))
    }
}

impl fmt::Display for WebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enabled, allow_origins, max_age } = self;
        writeln!(f, "enabled = {enabled}")?;
        writeln!(f, "allow_origins = {}", list(allow_origins))?;
        writeln!(f, "max_age = \"{}\"", duration::format(*max_age))
    }
}
