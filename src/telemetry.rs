//! Logs: to standard error, for people or for programs.

use crate::config::{LogConfig, LogFormat};
use std::any::Any;
use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The libraries below gRPC are quiet unless the filter names them: on DEBUG they log every frame, and on WARN whatever a peer
/// does wrong, so that any peer could fill the log.
const QUIET: &str = "h2=error,hyper=error,hyper_util=error,rustls=error,tonic=warn,tower=warn";

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter can't be read.
    #[error("log.filter can't be read: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Something else in the process takes the logs already.
    #[error("logs are set up already: {0}")]
    SetUpAlready(#[from] TryInitError),
}

/// Sets up logs for the whole process. Panics are logged too, so that standard error has nothing but log lines.
pub fn init(config: &LogConfig) -> Result<(), TelemetryError> {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new(format!("{QUIET},{}", config.filter))?)
        .with_writer(io::stderr);
    match config.format {
        LogFormat::Human => lines.with_ansi(io::stderr().is_terminal()).finish().try_init()?,
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).finish().try_init()?,
    }
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panic: {}", panic_message(info.payload()));
}

fn panic_message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}
