//! Calls as spans of a trace, which goes on from the caller's. Without the feature `otel` there are none, and this does nothing.

#[cfg(feature = "otel")]
pub use traced::{announce, begin, end};
#[cfg(not(feature = "otel"))]
pub use untraced::{announce, begin, end};

#[cfg(not(feature = "otel"))]
mod untraced {
    use http::{HeaderMap, Uri};
    use tonic::Code;
    use tracing::Span;

    /// A call begins.
    pub fn begin(_: &Span, _: &Uri, _: &HeaderMap) {}

    /// Its answer begins.
    pub fn announce(_: &Span, _: &mut HeaderMap) {}

    /// It ends.
    pub fn end(_: &Span, _: Code) {}
}

#[cfg(feature = "otel")]
mod traced {
    use crate::wire::reason::code_name;
    use http::{HeaderMap, HeaderName, HeaderValue, Uri};
    use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
    use opentelemetry::trace::{Status, TraceContextExt};
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tonic::Code;
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// The longest name that a span gets of a path: a caller may have made it up.
    const NAME_LENGTH: usize = 100;

    /// Makes a call's span part of the trace that its metadata name (`traceparent`, `tracestate`), and says what it calls.
    pub fn begin(span: &Span, uri: &Uri, metadata: &HeaderMap) {
        let parent = TraceContextPropagator::new().extract(&Metadata(metadata));
        if span.set_parent(parent).is_err() {
            // Nobody takes traces.
            return;
        }
        span.record("otel.kind", "server");
        let path = uri.path();
        let name = path.get(1..path.len().min(NAME_LENGTH)).unwrap_or_default();
        let (service, method) = name.rsplit_once('/').unwrap_or((name, ""));
        span.set_attribute("rpc.system", "grpc");
        span.set_attribute("rpc.service", service.to_owned());
        span.set_attribute("rpc.method", method.to_owned());
        span.context().span().update_name(name.to_owned());
    }

    /// Tells the caller which span its call is (`traceparent`).
    pub fn announce(span: &Span, answer: &mut HeaderMap) {
        TraceContextPropagator::new().inject_context(&span.context(), &mut Answer(answer));
    }

    /// Says how the call ended. What is the caller's fault is no error of the server's.
    pub fn end(span: &Span, code: Code) {
        span.set_attribute("rpc.grpc.status_code", i64::from(code as i32));
        if super::super::log::is_fault_of_server(code) {
            span.set_status(Status::error(code_name(code)));
        }
    }

    struct Metadata<'a>(&'a HeaderMap);

    impl Extractor for Metadata<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(HeaderName::as_str).collect()
        }
    }

    struct Answer<'a>(&'a mut HeaderMap);

    impl Injector for Answer<'_> {
        fn set(&mut self, key: &str, value: String) {
            // The caller's state is not ours to send back.
            if key == "traceparent"
                && let Ok(value) = HeaderValue::try_from(value)
            {
                self.0.insert("traceparent", value);
            }
        }
    }
}
