//! How many connections there may be, in all and from one address.

use super::rates::network;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for connections.
pub struct Places {
    in_total: usize,
    by_address: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    in_total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// There are too many connections.
    InTotal,
    /// There are too many from that address.
    ByAddress,
}

/// A place, given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    group: IpAddr,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    /// So many in all, and from one address; 0: as many as in all.
    pub fn new(in_total: usize, by_address: usize) -> Self {
        let by_address = if by_address == 0 { in_total } else { by_address };
        Self { in_total, by_address, taken: Arc::default() }
    }

    /// A place for a connection from this address.
    pub fn take(&self, address: IpAddr) -> Result<Place, Full> {
        let group = network(address);
        let mut taken = lock(&self.taken);
        if taken.in_total >= self.in_total {
            return Err(Full::InTotal);
        }
        let here = taken.by_address.entry(group).or_default();
        if *here >= self.by_address {
            return Err(Full::ByAddress);
        }
        *here += 1;
        taken.in_total += 1;
        Ok(Place { group, taken: self.taken.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.in_total -= 1;
        if let Entry::Occupied(mut here) = taken.by_address.entry(self.group) {
            *here.get_mut() -= 1;
            if *here.get() == 0 {
                here.remove();
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn places_are_counted_in_total_and_by_address_and_given_back() {
        let places = Places::new(3, 2);
        let first = places.take(address("192.0.2.1")).expect("a place");
        let mapped = places.take(address("::ffff:192.0.2.1")).expect("a place");
        assert_eq!(places.take(address("192.0.2.1")).err(), Some(Full::ByAddress));
        let other = places.take(address("192.0.2.2")).expect("a place");
        assert_eq!(places.take(address("192.0.2.3")).err(), Some(Full::InTotal));
        drop(first);
        let again = places.take(address("192.0.2.1")).expect("the place that was given back");
        drop((mapped, other, again));
        assert!(lock(&places.taken).by_address.is_empty(), "addresses that are gone are forgotten");
        assert_eq!(lock(&places.taken).in_total, 0);
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let places = Places::new(10, 1);
        let _one = places.take(address("2001:db8::1")).expect("a place");
        assert_eq!(places.take(address("2001:db8::ffff:ffff:ffff:ffff")).err(), Some(Full::ByAddress));
        assert!(places.take(address("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn zero_by_address_is_no_limit_of_its_own() {
        let places = Places::new(2, 0);
        let _places = [1, 2].map(|_| places.take(address("192.0.2.1")).expect("a place"));
        assert_eq!(places.take(address("192.0.2.1")).err(), Some(Full::InTotal));
    }
}
