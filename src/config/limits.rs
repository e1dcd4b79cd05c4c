//! What callers may ask for.

use super::load::Given;
use super::text::elements;
use crate::server::{Limits, Rate, Rates};
use config::{Value, ValueKind};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;

/// What callers may ask for. 0 is no limit, wherever a number is asked for but in a burst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Calls a second of each operator.
    pub operator: Rate,
    /// Of each seat of a session.
    pub seat: Rate,
    /// Of each address, by those who show no token, or one that is not in force.
    pub anonymous: Rate,
    /// Of each address in open mode.
    pub open: Rate,
    /// Calls in flight in the whole server, until their answers begin.
    pub calls_in_flight: usize,
    /// Sessions being played of each operator.
    pub open_sessions: u32,
    /// Proxies that are believed about where calls come from.
    pub trusted_proxies: Vec<IpNet>,
}

/// The highest rate or burst.
const MOST_CALLS: u32 = 1_000_000;
/// The most calls in flight.
const MOST_IN_FLIGHT: usize = 1_000_000;
/// The highest quota of sessions.
const MOST_SESSIONS: u32 = 1_000_000_000;

impl Default for LimitsConfig {
    fn default() -> Self {
        let (none, some) = (Rate { per_second: 0, burst: 40 }, Rate { per_second: 20, burst: 40 });
        Self {
            operator: none,
            seat: some,
            anonymous: some,
            open: none,
            calls_in_flight: 4_096,
            open_sessions: 0,
            trusted_proxies: Vec::new(),
        }
    }
}

impl LimitsConfig {
    /// Those that the server keeps to.
    pub fn limits(&self) -> Limits {
        let Self { operator, seat, anonymous, open, calls_in_flight, open_sessions: _, trusted_proxies } = self.clone();
        Limits { rates: Rates { operator, seat, anonymous, open }, calls_in_flight, trusted_proxies }
    }

    pub(super) fn take(given: &mut Given, defaults: Self) -> Self {
        Self {
            operator: rate(given, ["limits.operator_rate", "limits.operator_burst"], defaults.operator),
            seat: rate(given, ["limits.seat_rate", "limits.seat_burst"], defaults.seat),
            anonymous: rate(given, ["limits.anonymous_rate", "limits.anonymous_burst"], defaults.anonymous),
            open: rate(given, ["limits.open_rate", "limits.open_burst"], defaults.open),
            calls_in_flight: given.take(
                "limits.calls_in_flight",
                defaults.calls_in_flight,
                "a number up to 1000000; 0: no limit",
                |text| text.parse().ok().filter(|calls| *calls <= MOST_IN_FLIGHT),
            ),
            open_sessions: given.take(
                "limits.open_sessions",
                defaults.open_sessions,
                "a number up to 1000000000; 0: no limit",
                |text| text.parse().ok().filter(|sessions| *sessions <= MOST_SESSIONS),
            ),
            trusted_proxies: proxies(given, defaults.trusted_proxies),
        }
    }
}

fn rate(given: &mut Given, [rate, burst]: [&'static str; 2], default: Rate) -> Rate {
    let number = |text: &str| text.parse().ok().filter(|calls| *calls <= MOST_CALLS);
    Rate {
        per_second: given.take(rate, default.per_second, "calls a second, up to 1000000; 0: no limit", number),
        burst: given
            .take(burst, default.burst, "a number of calls from 1 to 1000000", |text| number(text).filter(|burst| *burst > 0)),
    }
}

fn proxies(given: &mut Given, default: Vec<IpNet>) -> Vec<IpNet> {
    const KEY: &str = "limits.trusted_proxies";
    let Some(value) = given.take_value(KEY) else { return default };
    let read = networks(value);
    if read.is_none() {
        given.fault(KEY, "expected a list of addresses or networks such as [\"10.0.0.0/8\", \"fd00::1\"]");
    }
    read.unwrap_or(default)
}

/// A list, or text that is one in TOML, as the environment gives it. A shell may have taken its quotes, and brackets can be left out.
fn networks(value: Value) -> Option<Vec<IpNet>> {
    let items: Vec<String> = match (value.kind.clone(), elements(value)) {
        (_, Some(list)) => list.into_iter().map(|item| item.into_string().ok()).collect::<Option<_>>()?,
        (ValueKind::String(text), None) => {
            let text = text.trim();
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            inner.split(',').map(|item| item.trim().to_owned()).collect()
        }
        _ => return None,
    };
    items.iter().map(|item| item.parse().ok().or_else(|| item.parse::<IpAddr>().ok().map(IpNet::from))).collect()
}

/// As a section of a file.
impl fmt::Display for LimitsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, seat, anonymous, open, calls_in_flight, open_sessions, trusted_proxies } = self;
        for (name, rate) in [("operator", operator), ("seat", seat), ("anonymous", anonymous), ("open", open)] {
            writeln!(f, "{name}_rate = {}", rate.per_second)?;
            writeln!(f, "{name}_burst = {}", rate.burst)?;
        }
        writeln!(f, "calls_in_flight = {calls_in_flight}")?;
        writeln!(f, "open_sessions = {open_sessions}")?;
        let proxies: Vec<_> = trusted_proxies.iter().map(|network| format!("\"{network}\"")).collect();
        writeln!(f, "trusted_proxies = [{}]", proxies.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_from_text_as_shells_leave_it() {
        let both = ["10.0.0.0/8", "fd00::1/128"].map(|network| network.parse().expect("a network"));
        for text in [
            "[\"10.0.0.0/8\", \"fd00::1\"]",
            " ['10.0.0.0/8','fd00::1',] ",
            "[10.0.0.0/8, fd00::1]",
            "10.0.0.0/8,fd00::1",
            "10.0.0.0/8 , fd00::1/128",
        ] {
            assert_eq!(networks(text.into()).as_deref(), Some(both.as_slice()), "{text}");
        }
        assert_eq!(networks("[]".into()), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_list_of_networks_is_none() {
        for text in [
            "[\"10.0.0.0/8\",,]]]",
            "[[[10.0.0.0/8",
            "[10.0.0.0/8",
            "10.0.0.0/8]",
            "[[10.0.0.0/8]]",
            "[[\"10.0.0.0/8\"]]",
            "10.0.0.0/8,",
            "10.0.0.0/8,,fd00::1",
            "10.0.0.0/8 fd00::1",
            "\"10.0.0.0/8",
            "",
            ",",
            "[7]",
            "[\"proxy.example\"]",
            "[]\nother = []",
        ] {
            assert_eq!(networks(text.into()), None, "{text}");
        }
    }
}
