//! Chance in time: servers that do the same work on one store are not to do it at the same moment.

use std::time::Duration;
use uuid::Uuid;

/// A number from 0 to 1, from the random bits that every new id has.
pub(super) fn chance() -> f64 {
    let bits = Uuid::now_v7().as_u128() as u32;
    f64::from(bits) / f64::from(u32::MAX)
}

/// A time, give or take a tenth.
pub(super) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.9 + 0.2 * chance())
}
