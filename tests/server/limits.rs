//! What callers are limited to: time, calls a second, calls in flight, sessions, sizes; and what is measured of it.

mod deadlines;
mod monitoring;
mod panics;
mod planted;
mod program;
mod quota;
mod rates;
mod raw;
mod requests;
mod room;
mod running;
mod sizes;
