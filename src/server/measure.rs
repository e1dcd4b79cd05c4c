//! What is counted of calls.

use super::rates::Kind;
use crate::wire::access::METHODS;
use crate::wire::reason::{Reason, code_name};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::HashMap;
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
    /// By path; so that a call need not look its counters up by their labels.
    methods: HashMap<&'static str, Method>,
    unknown: Method,
}

/// The counters of a method. They are made when they are first used, so that only those are shown that say something.
#[derive(Default)]
struct Method {
    name: &'static str,
    ended: [OnceLock<Counter>; CODES],
    took: OnceLock<Histogram>,
}

impl Method {
    fn named(name: &'static str) -> Method {
        Method { name, ..Method::default() }
    }
}

impl fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallMetrics").finish_non_exhaustive()
    }
}

impl Default for CallMetrics {
    fn default() -> CallMetrics {
        let methods = METHODS.iter().map(|(path, _)| (*path, Method::named(path.trim_start_matches('/'))));
        CallMetrics(Arc::new(Inner {
            ended: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            rejected: Family::default(),
            limited: Family::default(),
            in_flight: Gauge::default(),
            panics: Counter::default(),
            methods: methods.collect(),
            unknown: Method::named(UNKNOWN),
        }))
    }
}

impl CallMetrics {
    /// Shows them in a registry.
    pub fn register(&self, registry: &mut Registry) {
        let Inner { ended, took, rejected, limited, in_flight, panics, methods: _, unknown: _ } = &*self.0;
        registry.register("calls", "Calls that have ended", ended.clone());
        registry.register("call_duration_seconds", "Time from the request's headers to the end of the answer", took.clone());
        registry.register("calls_in_flight", "Calls that have not ended, streams too", in_flight.clone());
        registry.register("calls_rejected", "Calls that failed for a reason", rejected.clone());
        registry.register("calls_rate_limited", "Calls that came faster than their callers may make them", limited.clone());
        registry.register("panics", "Handlers that panicked", panics.clone());
    }

    /// A call of a method begins.
    pub(super) fn begun(&self) {
        self.0.in_flight.inc();
    }

    /// It ends.
    pub(super) fn ended(&self, path: &str, code: Code, took: Duration) {
        let Inner { ended, took: durations, methods, unknown, in_flight, .. } = &*self.0;
        in_flight.dec();
        let method = methods.get(path).unwrap_or(unknown);
        let labels = || [("method", method.name), ("code", code_name(code))];
        method.ended[code as usize].get_or_init(|| ended.get_or_create_owned(&labels())).inc();
        let histogram = method.took.get_or_init(|| durations.get_or_create_owned(&[("method", method.name)]));
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
