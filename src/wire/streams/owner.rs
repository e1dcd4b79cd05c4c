//! Whose a stream is, for what is counted while it runs.

use crate::game::Seat;
use crate::wire::access::Caller;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tonic::{Request, Status};

/// Counts a call of a method, by its path, to a caller.
pub type Meter = Arc<dyn Fn(&str) -> Result<(), Status> + Send + Sync>;

/// What the server knows of a stream's caller beside who it is. It puts it into the extensions of calls that are streams.
#[derive(Clone)]
pub struct Origin {
    /// Counts what the caller does on the stream as if it were a call.
    pub meter: Meter,
    /// Where the call comes from: the caller's address, or its network where a customer has many.
    pub address: Option<IpAddr>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Whose a stream is.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The caller.
    pub caller: Caller,
    origin: Option<Origin>,
}

impl Owner {
    /// Whose call this is.
    pub fn of<T>(request: &Request<T>) -> Owner {
        Owner { caller: Caller::of(request), origin: request.extensions().get().cloned() }
    }

    /// Counts what the caller does on the stream as a call of a method.
    pub fn count(&self, path: &str) -> Result<(), Status> {
        self.origin.as_ref().map_or(Ok(()), |origin| (origin.meter)(path))
    }

    /// As whom its watches are counted; whoever may do everything may watch as much.
    fn holder(&self) -> Option<Holder> {
        match &self.caller {
            Caller::Trusted(_) => None,
            Caller::Seat { session_id, seat, .. } => Some(Holder::Seat(session_id.clone(), *seat)),
            Caller::Anonymous => Some(Holder::Address(self.origin.as_ref().and_then(|origin| origin.address))),
        }
    }
}

/// Whose watches are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Seat(String, Seat),
    Address(Option<IpAddr>),
}

/// How many watches callers have. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Holders(Arc<Mutex<HashMap<Holder, usize>>>);

/// A watch that is counted, until it is dropped.
#[derive(Debug)]
pub struct Held {
    holders: Holders,
    holder: Option<Holder>,
}

impl Holders {
    /// Counts a watch of an owner that has fewer than `most`.
    pub fn hold(&self, owner: &Owner, most: usize) -> Option<Held> {
        let holder = owner.holder();
        if let Some(holder) = &holder {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(holder.clone()).or_default();
            if *count >= most {
                return None;
            }
            *count += 1;
        }
        Some(Held { holders: self.clone(), holder })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(holder) = &self.holder else { return };
        let mut counts = self.holders.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(holder) {
            *count -= 1;
            if *count == 0 {
                counts.remove(holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(caller: Caller, address: Option<&str>) -> Owner {
        let address = address.map(|address| address.parse().expect("an address"));
        Owner { caller, origin: Some(Origin { meter: Arc::new(|_| Ok(())), address }) }
    }

    #[test]
    fn each_holder_has_its_own_number_and_gives_it_back() {
        let holders = Holders::default();
        let seat = |seat| Caller::Seat { session_id: "game".to_owned(), seat, hash: crate::session::SecretHash::new([0; 32]) };
        let owners = [
            owner(seat(Seat::South), None),
            owner(seat(Seat::North), None),
            owner(Caller::Anonymous, Some("192.0.2.1")),
            owner(Caller::Anonymous, Some("192.0.2.2")),
            owner(Caller::Anonymous, None),
        ];
        for owner in &owners {
            let held = [holders.hold(owner, 2), holders.hold(owner, 2)];
            assert!(held.iter().all(Option::is_some), "{owner:?}");
            assert!(holders.hold(owner, 2).is_none(), "{owner:?}");
            drop(held);
            assert!(holders.hold(owner, 1).is_some(), "{owner:?}");
        }
        assert!(holders.0.lock().expect("no panic").is_empty());
        let operator = owner(Caller::Trusted(None), Some("192.0.2.1"));
        let many: Vec<_> = (0..100).map(|_| holders.hold(&operator, 1)).collect();
        assert!(many.iter().all(Option::is_some));
    }
}
