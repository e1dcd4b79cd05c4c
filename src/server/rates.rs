//! How many calls a second each caller may make: a bucket of tokens for each, which fills up steadily.

use crate::wire::access::{Caller, is_of_server};
use crate::wire::reason::Reason;
use crate::wire::refuse::Refused;
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{NotUntil, Quota, RateLimiter};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use tonic::Status;

/// How many calls a caller may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// A second; 0: any number.
    pub per_second: u32,
    /// At once, after a pause. At least one.
    pub burst: u32,
}

/// How many calls callers may make, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Each operator.
    pub operator: Rate,
    /// Each seat of a session.
    pub seat: Rate,
    /// Everybody else, by address.
    pub anonymous: Rate,
    /// In open mode, each address.
    pub open: Rate,
}

/// What a caller is, as far as its rate goes; by these numbers its buckets are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An operator.
    Operator,
    /// The bearer of a seat's token.
    Seat,
    /// An address in token mode.
    Anonymous,
    /// An address in open mode.
    Open,
}

impl Kind {
    /// As facts and metrics name it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Operator => "operator",
            Kind::Seat => "seat",
            Kind::Anonymous => "anonymous",
            Kind::Open => "open",
        }
    }
}

/// A call that came too soon.
#[derive(Debug)]
pub struct Limited {
    /// What its caller is.
    pub kind: Kind,
    /// What it is told.
    pub status: Status,
}

/// The buckets of all callers. Clones are the same buckets.
#[derive(Debug, Clone)]
pub struct RateLimits(Arc<[Option<Buckets<MonotonicClock>>; 4]>);

impl RateLimits {
    /// With full buckets.
    pub fn new(rates: Rates) -> RateLimits {
        let Rates { operator, seat, anonymous, open } = rates;
        RateLimits(Arc::new([operator, seat, anonymous, open].map(|rate| Buckets::new(rate, MonotonicClock))))
    }

    /// Counts a call of a method.
    ///
    /// # Errors
    /// When the caller must wait.
    pub fn count(&self, path: &str, caller: &Caller, address: Option<IpAddr>) -> Result<(), Limited> {
        if is_of_server(path) {
            return Ok(());
        }
        match caller {
            Caller::Trusted(Some(operator)) => self.take(Kind::Operator, operator),
            Caller::Trusted(None) => self.take(Kind::Open, address.map(network)),
            Caller::Seat { session_id, seat, .. } => self.take(Kind::Seat, (session_id, seat)),
            Caller::Anonymous => self.take(Kind::Anonymous, address.map(network)),
        }
    }

    /// Counts a call that showed no token where one is needed, or one that is not in force.
    ///
    /// # Errors
    /// When its address must wait.
    pub fn count_stranger(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        self.take(Kind::Anonymous, address.map(network))
    }

    fn take(&self, kind: Kind, key: impl Hash) -> Result<(), Limited> {
        let buckets = &self.0[kind as usize];
        buckets.as_ref().map_or(Ok(()), |buckets| buckets.take(key).map_err(|wait| buckets.limited(kind, wait)))
    }
}

/// Whom an address stands for: itself, or the network of 64 bits that IPv6 gives to one customer.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// Callers share so many buckets, by a number that they can't foresee.
const BUCKETS: usize = 1 << 17;

/// Buckets of one rate.
///
/// A map with a bucket for each caller would grow with whoever has many addresses. A table can't, takes 1 MiB, and needs no cleaning;
/// for that, of a thousand callers about eight share a bucket with another.
struct Buckets<C: Clock> {
    rate: Rate,
    limiter: RateLimiter<usize, Table, C, NoOpMiddleware<C::Instant>>,
    hasher: RandomState,
}

impl<C: Clock> fmt::Debug for Buckets<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("rate", &self.rate).finish_non_exhaustive()
    }
}

struct Table(Box<[InMemoryState]>);

impl StateStore for Table {
    type Key = usize;

    fn measure_and_replace<T, F, E>(&self, key: &usize, update: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0[*key].measure_and_replace(&NotKeyed::NonKey, update)
    }
}

impl<C: Clock> Buckets<C> {
    /// None if there is no limit.
    fn new(rate: Rate, clock: C) -> Option<Buckets<C>> {
        let quota = Quota::per_second(NonZeroU32::new(rate.per_second)?);
        let quota = quota.allow_burst(NonZeroU32::new(rate.burst).unwrap_or(NonZeroU32::MIN));
        let table = Table((0..BUCKETS).map(|_| InMemoryState::default()).collect());
        Some(Buckets { rate, limiter: RateLimiter::new(quota, table, clock), hasher: RandomState::new() })
    }

    fn take(&self, key: impl Hash) -> Result<(), NotUntil<C::Instant>> {
        let bucket = self.hasher.hash_one(key) as usize % BUCKETS;
        self.limiter.check_key(&bucket)
    }

    fn limited(&self, kind: Kind, wait: NotUntil<C::Instant>) -> Limited {
        let Rate { per_second, burst } = self.rate;
        let (caller, limit) = (kind.name(), format!("{per_second}/s, {burst} at once"));
        let text = format!("callers of this kind ({caller}) may make {per_second} calls a second, and {burst} at once; wait");
        let refused = Refused::new(Reason::RateLimited, text, vec![("caller", caller.to_owned()), ("limit", limit)])
            .retry_after(wait.wait_time_from(self.limiter.clock().now()))
            .over_quota(caller, format!("calls: {per_second} a second, {burst} at once"));
        Limited { kind, status: refused.into_status() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::FakeRelativeClock;
    use std::time::Duration;

    fn buckets(per_second: u32, burst: u32) -> (Buckets<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Buckets::new(Rate { per_second, burst }, clock.clone()).expect("a limit"), clock)
    }

    #[test]
    fn a_burst_goes_through_and_then_the_rate() {
        let (buckets, clock) = buckets(20, 40);
        let taken = |times: usize| (0..times).filter(|_| buckets.take("a").is_ok()).count();
        assert_eq!(taken(41), 40);
        let wait = buckets.take("a").expect_err("none is left").wait_time_from(clock.now());
        assert_eq!(wait, Duration::from_millis(50));
        clock.advance(Duration::from_millis(49));
        assert_eq!(taken(1), 0);
        clock.advance(Duration::from_millis(1));
        assert_eq!(taken(2), 1);
        clock.advance(Duration::from_secs(1));
        assert_eq!(taken(30), 20);
        clock.advance(Duration::from_secs(3_600));
        assert_eq!(taken(50), 40, "no more than a burst is saved");
    }

    #[test]
    fn callers_have_buckets_of_their_own() {
        let (buckets, _) = buckets(1, 1);
        // Of a thousand callers hardly any share a bucket.
        let first = (0..1_000).filter(|caller| buckets.take(caller).is_ok()).count();
        assert!(first > 900, "{first}");
        assert_eq!((0..1_000).filter(|caller| buckets.take(caller).is_ok()).count(), 0);
    }

    #[test]
    fn a_million_callers_take_no_more_memory_than_one() {
        let (buckets, _) = buckets(1, 2);
        let through = (0..1_000_000).filter(|caller| buckets.take(caller).is_ok()).count();
        assert!((BUCKETS..=2 * BUCKETS).contains(&through), "{through}");
        let table = buckets.limiter.into_state_store().0;
        assert_eq!(size_of_val(&*table), 1 << 20);
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        assert!(Buckets::new(Rate { per_second: 0, burst: 1 }, MonotonicClock).is_none());
    }

    #[test]
    fn an_address_stands_for_its_customer() {
        let network = |text: &str| network(text.parse().expect("an address")).to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2:ffff::1"), "2001:db8:1:2::");
        assert_ne!(network("2001:db8:1:3::1"), "2001:db8:1:2::");
    }
}
