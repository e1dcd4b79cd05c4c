//! The life of sessions through a running server: agreements, clocks, matches and rematches, and that nothing of it is lost
//! or done twice when servers stop, fail or race.

#[path = "session_life/agreements.rs"]
mod agreements;
#[path = "support/app.rs"]
mod app;
#[path = "session_life/clocks.rs"]
mod clocks;
#[path = "session_life/matches.rs"]
mod matches;
#[path = "session_life/rematches.rs"]
mod rematches;
#[path = "session_life/repeats.rs"]
mod repeats;
#[path = "session_life/replicas.rs"]
mod replicas;
#[path = "session_life/restarts.rs"]
mod restarts;
#[path = "session_life/servers.rs"]
mod servers;
#[path = "session_life/table.rs"]
mod table;
#[path = "session_life/takebacks.rs"]
mod takebacks;
#[path = "session_life/timeouts.rs"]
mod timeouts;
#[path = "support/wrapped_store.rs"]
mod wrapped_store;
