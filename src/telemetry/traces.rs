//! Traces, by OpenTelemetry's protocol.

use crate::config::{LogFormat, TelemetryConfig};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use std::io::{self, IsTerminal};
use tracing::Subscriber;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt, registry};

/// Whose spans are traced: this program's own.
const OURS: &str = env!("CARGO_CRATE_NAME");

/// What sends spans to a collector, in batches. A call whose caller has decided whether it is traced keeps to that.
pub fn provider(endpoint: &str, config: &TelemetryConfig) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.sample_ratio)));
    let resource = Resource::builder()
        .with_service_name(config.service_name.clone())
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_sampler(sampler).with_resource(resource.build()).build())
}

/// Makes spans of calls, and of the store's writes in them, spans of this provider, whatever is logged.
pub fn trace_layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let ours = filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with(OURS));
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer(OURS))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(ours)
}

/// Sets up logs beside traces.
pub fn init(format: LogFormat, filter: Targets, provider: &SdkTracerProvider) -> Result<(), TryInitError> {
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = match format {
        LogFormat::Human => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    registry().with(lines.with_filter(filter)).with(trace_layer(provider)).try_init()
}
