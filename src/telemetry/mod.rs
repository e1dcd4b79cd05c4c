//! Logs: to standard error, for people or for programs. With the feature `otel` also traces, to a collector.

#[cfg(feature = "otel")]
mod traces;

#[cfg(feature = "otel")]
pub use traces::trace_layer;

use crate::config::{LogConfig, LogFormat, TelemetryConfig};
use std::any::Any;
use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};
use std::time::Duration;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt, registry};

/// The libraries below gRPC are quiet unless the filter names them: on DEBUG they log every frame, and on WARN whatever a peer
/// does wrong, so that any peer could fill the log.
const QUIET: &str = "h2=error,hyper=error,hyper_util=error,rustls=error,tonic=warn,tower=warn";

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter can't be read.
    #[error("log.filter can't be read: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The collector's address makes no sense.
    #[cfg(feature = "otel")]
    #[error("traces can't be sent to telemetry.otlp_endpoint: {0}")]
    Traces(#[from] opentelemetry_otlp::ExporterBuildError),
    /// Something else in the process takes the logs already.
    #[error("logs are set up already: {0}")]
    SetUpAlready(#[from] TryInitError),
}

/// What is still to be done when the process ends.
#[derive(Debug, Default)]
#[must_use]
pub struct Telemetry {
    #[cfg(feature = "otel")]
    traces: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl Telemetry {
    /// Sends what has been gathered. It blocks the thread for as long as that takes, within a time; whoever serves connections must
    /// still do so meanwhile.
    pub fn finish(self, within: Duration) {
        #[cfg(feature = "otel")]
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(within)) {
            tracing::warn!(%error, "the last traces could not be sent");
        }
        #[cfg(not(feature = "otel"))]
        let _ = within;
    }
}

/// Sets up logs and traces for the whole process; for traces a runtime must be there, whose threads send them. Panics are logged
/// too, so that standard error has nothing but log lines.
pub fn init(log: &LogConfig, telemetry: &TelemetryConfig) -> Result<Telemetry, TelemetryError> {
    let filter: Targets = format!("{QUIET},{}", log.filter).parse()?;
    let set_up = match &telemetry.otlp_endpoint {
        #[cfg(feature = "otel")]
        Some(endpoint) => {
            let traces = traces::provider(endpoint, telemetry)?;
            traces::init(log.format, filter, &traces)?;
            Telemetry { traces: Some(traces) }
        }
        _ => {
            let lines = fmt::layer().with_writer(io::stderr);
            match log.format {
                LogFormat::Human => registry().with(filter).with(lines.with_ansi(io::stderr().is_terminal())).try_init()?,
                LogFormat::Json => {
                    registry().with(filter).with(lines.json().flatten_event(true).with_span_list(false)).try_init()?
                }
            }
            Telemetry::default()
        }
    };
    panic::set_hook(Box::new(log_panic));
    Ok(set_up)
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panic: {}", panic_message(info.payload()));
}

fn panic_message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}
