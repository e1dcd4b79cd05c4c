//! The life of sessions through a running server: agreements, clocks, matches and rematches, and that nothing of it is lost
//! or done twice when servers stop, fail or race.

mod agreements;
mod clocks;
mod damaged;
mod matches;
mod rematches;
mod repeats;
mod replicas;
mod restarts;
mod rows;
mod servers;
mod table;
mod takebacks;
mod timeouts;
