//! The metrics of a process: one registry, which is filled at the start and shown as text.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;

/// What all names begin with.
const PREFIX: &str = "mancala";

/// The metrics of a process. Whatever is measured keeps its own numbers; here it is named.
#[derive(Debug)]
pub struct Metrics(Registry);

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics(Registry::with_prefix(PREFIX))
    }
}

impl Metrics {
    /// For metrics of the library's own kinds, such as histograms.
    pub fn registry(&mut self) -> &mut Registry {
        &mut self.0
    }

    /// Shows a number that goes up and down, read whenever it is asked for.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, read: impl Fn() -> f64 + Send + Sync + 'static) {
        self.0.register_collector(Box::new(Read { name, help, read, of: |value| Value::Gauge(ConstGauge::new(value)) }));
    }

    /// Shows a number that only grows, read whenever it is asked for. Its name gets the ending `_total`.
    pub fn counter(&mut self, name: &'static str, help: &'static str, read: impl Fn() -> f64 + Send + Sync + 'static) {
        self.0.register_collector(Box::new(Read { name, help, read, of: |value| Value::Counter(ConstCounter::new(value)) }));
    }

    /// Shows numbers that only grow under one name, told apart by a label. The name gets the ending `_total`.
    pub fn counters<R: Fn() -> f64 + Send + Sync + 'static, const N: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: [(&'static str, R); N],
    ) {
        self.0.register_collector(Box::new(ReadAll { name, help, label, values: values.into() }));
    }

    /// All of them in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.0).expect("text can be written into memory");
        text
    }
}

/// A number that is read when it is asked for.
struct Read<R> {
    name: &'static str,
    help: &'static str,
    read: R,
    of: fn(f64) -> Value,
}

enum Value {
    Gauge(ConstGauge<f64>),
    Counter(ConstCounter<f64>),
}

impl<R> fmt::Debug for Read<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Read").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R: Fn() -> f64 + Send + Sync + 'static> Collector for Read<R> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let value = (self.of)((self.read)());
        let metric: &dyn EncodeMetric = match &value {
            Value::Gauge(gauge) => gauge,
            Value::Counter(counter) => counter,
        };
        metric.encode(encoder.encode_descriptor(self.name, &format!("{}.", self.help), None, metric.metric_type())?)
    }
}

/// Numbers that are read when they are asked for, by the values of a label.
struct ReadAll<R> {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    values: Vec<(&'static str, R)>,
}

impl<R> fmt::Debug for ReadAll<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAll").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R: Fn() -> f64 + Send + Sync + 'static> Collector for ReadAll<R> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, &format!("{}.", self.help), None, MetricType::Counter)?;
        for (value, read) in &self.values {
            let labels = [(self.label, *value)];
            ConstCounter::new(read()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
