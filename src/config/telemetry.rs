//! Where traces go.

use super::load::Given;
use super::quoted;
use std::fmt;

/// Where traces go.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryConfig {
    /// Address of an OpenTelemetry collector, such as "http://127.0.0.1:4317"; none: there are no traces.
    pub otlp_endpoint: Option<String>,
    /// The part of the calls that are traced, from 0 to 1, of those whose callers have not decided.
    pub sample_ratio: f64,
    /// What the service is called in traces.
    pub service_name: String,
}

// A ratio is a number: it was read from text as one.
impl Eq for TelemetryConfig {}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp_endpoint: None, sample_ratio: 1.0, service_name: "mancala".to_owned() }
    }
}

impl TelemetryConfig {
    pub(super) fn take(given: &mut Given, defaults: Self) -> Self {
        let config = Self {
            otlp_endpoint: given.take(
                "telemetry.otlp_endpoint",
                defaults.otlp_endpoint,
                "the address of a collector such as \"http://127.0.0.1:4317\", or nothing",
                endpoint,
            ),
            sample_ratio: given.take("telemetry.sample_ratio", defaults.sample_ratio, "a number from 0 to 1", |text| {
                text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio))
            }),
            service_name: given.take("telemetry.service_name", defaults.service_name, "a name of up to 64 bytes", |text| {
                (1..=64).contains(&text.len()).then(|| text.to_owned())
            }),
        };
        if config.otlp_endpoint.is_some() && !cfg!(feature = "otel") {
            let problem =
                "this build can't send traces: use one with them (cargo build --release --features otel), or set nothing here";
            given.fault("telemetry.otlp_endpoint", problem);
        }
        config
    }
}

fn endpoint(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let uri: http::Uri = text.parse().ok()?;
    let usable = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
    usable.then(|| Some(text.to_owned()))
}

/// As a section of a file.
impl fmt::Display for TelemetryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { otlp_endpoint, sample_ratio, service_name } = self;
        writeln!(f, "otlp_endpoint = {}", quoted(otlp_endpoint.as_deref().unwrap_or_default()))?;
        writeln!(f, "sample_ratio = {sample_ratio:?}")?;
        writeln!(f, "service_name = {}", quoted(service_name))
    }
}
