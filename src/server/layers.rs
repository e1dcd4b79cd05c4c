//! What every call goes through, from the outside in: it is observed, guarded, and let in by the gate.

use super::gate::{Gate, Keeper};
use super::guard::Guard;
use super::measure::CallMetrics;
use super::observe::Observe;
use super::peer::Proxies;
use super::rates::{RateLimits, Rates};
use super::room::Room;
use crate::wire::access::Access;
use crate::wire::deadline::TimeLimits;
use ipnet::IpNet;
use tower::layer::{Layer, layer_fn};

/// What callers are limited to, beside time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls a second.
    pub rates: Rates,
    /// Most calls in flight in the whole server, until their answers begin; 0: any number.
    pub calls_in_flight: usize,
    /// Proxies that are believed about where calls come from.
    pub trusted_proxies: Vec<IpNet>,
}

/// Puts a service behind all of it.
pub fn layers<S>(
    access: Access,
    times: TimeLimits,
    limits: Limits,
    metrics: CallMetrics,
) -> impl Layer<S, Service = Observe<Guard<Gate<S>>>> + Clone {
    let room = Room::new(limits.calls_in_flight);
    let rates = RateLimits::new(limits.rates);
    let proxies = Proxies::new(limits.trusted_proxies);
    layer_fn(move |service| {
        let (access, rates) = (access.clone(), rates.clone());
        let keeper = Keeper { access, rates, proxies: proxies.clone(), metrics: metrics.clone() };
        let gate = Gate::new(service, keeper);
        Observe::new(Guard::new(gate, times, room.clone(), metrics.clone()), metrics.clone())
    })
}
