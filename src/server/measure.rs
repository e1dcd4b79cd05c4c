//! What is counted of calls.

use super::rates::Kind;
use crate::wire::access::METHODS;
use crate::wire::reason::{Reason, code_name};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tonic::Code;

/// Upper bounds of the durations that are told apart, in seconds.
const BUCKETS: [f64; 15] = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The number of status codes: 0 to 16.
const CODES: usize = 17;

/// How methods that there are not are named: a caller may make up as many as it likes.
const UNKNOWN: &str = "unknown";

type Label = (&'static str, &'static str);

/// Counters of calls. Clones are the same counters.
#[derive(Clone)]
pub struct CallMetrics(Arc<Inner>);

struct Inner {
    ended: Family<[Label; 2], Counter>,
    took: Family<[Label; 1], Histogram, fn() -> Histogram>,
    rejected: Family<[Label; 1], Counter>,
    limited: Family<[Label; 1], Counter>,
    in_flight: Gauge,
    panics: Counter,
    /// As [`METHODS`] has them, and the unknown ones last; so that a call need not look its counters up by their labels.
    methods: Vec<Counters>,
}

/// A method, by its place among those that there are.
#[derive(Debug, Clone, Copy)]
pub struct Method(usize);

impl Method {
    /// Its path, if there is such a method.
    pub fn path(self) -> Option<&'static str> {
        METHODS.get(self.0).map(|(path, _)| *path)
    }
}

/// The counters of a method. They are made when they are first used, so that only those are shown that say something.
#[derive(Default)]
struct Counters {
    method: &'static str,
    ended: [OnceLock<Counter>; CODES],
    took: OnceLock<Histogram>,
}

impl Counters {
    fn of(method: &'static str) -> Counters {
        Counters { method, ..Counters::default() }
    }
}

impl fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallMetrics").finish_non_exhaustive()
    }
}

impl Default for CallMetrics {
    fn default() -> CallMetrics {
        let names = METHODS.iter().map(|(path, _)| path.trim_start_matches('/')).chain([UNKNOWN]);
        CallMetrics(Arc::new(Inner {
            ended: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            rejected: Family::default(),
            limited: Family::default(),
            in_flight: Gauge::default(),
            panics: Counter::default(),
            methods: names.map(Counters::of).collect(),
        }))
    }
}

impl CallMetrics {
    /// Shows them in a registry.
    pub fn register(&self, registry: &mut Registry) {
        let Inner { ended, took, rejected, limited, in_flight, panics, methods: _ } = &*self.0;
        registry.register("calls", "Calls that have ended", ended.clone());
        registry.register("call_duration_seconds", "Time from the request's headers to the end of the answer", took.clone());
        registry.register("calls_in_flight", "Calls that have not ended, streams too", in_flight.clone());
        registry.register("calls_rejected", "Calls that failed for a reason", rejected.clone());
        registry.register("calls_rate_limited", "Calls that came faster than their callers may make them", limited.clone());
        registry.register("panics", "Handlers that panicked", panics.clone());
    }

    /// A call of the method with this path begins.
    pub(super) fn begun(&self, path: &str) -> Method {
        self.0.in_flight.inc();
        // Most paths differ in their lengths: to look along the list takes less than to hash the path.
        Method(METHODS.iter().position(|(known, _)| *known == path).unwrap_or(METHODS.len()))
    }

    /// It ends.
    pub(super) fn ended(&self, Method(place): Method, code: Code, took: Duration) {
        let Inner { ended, took: durations, methods, in_flight, .. } = &*self.0;
        in_flight.dec();
        let counters = &methods[place];
        let labels = || [("method", counters.method), ("code", code_name(code))];
        counters.ended[code as usize].get_or_init(|| ended.get_or_create_owned(&labels())).inc();
        let histogram = counters.took.get_or_init(|| durations.get_or_create_owned(&[("method", counters.method)]));
        histogram.observe(took.as_secs_f64());
    }

    /// A call failed for this reason.
    pub(super) fn rejected(&self, reason: Reason) {
        self.0.rejected.get_or_create(&[("reason", reason.name())]).inc();
    }

    /// A caller of this kind called too often.
    pub(super) fn limited(&self, kind: Kind) {
        self.0.limited.get_or_create(&[("caller", kind.name())]).inc();
    }

    /// A handler panicked.
    pub(super) fn panicked(&self) {
        self.0.panics.inc();
    }
}
