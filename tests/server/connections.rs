//! Connections: how many there may be, what they must say and take and by when, how old they grow, and how they end.

mod age;
mod breach;
mod caps;
mod descriptors;
mod first_bytes;
mod stall;
