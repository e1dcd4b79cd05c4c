//! What the ledger, the database and the watchers say together.

use crate::audit::{Logs, Objection, WatchLog, audit};
use crate::call::Outcome;
use crate::ledger::Entry;
use crate::machine::is_linear;
use mancala::store::Store;
use mancala::store::postgres::{Options, PostgresStore};
use std::collections::BTreeSet;
use std::fmt;

/// What was found, and how much there was.
pub struct Found {
    pub objections: Vec<(String, Objection)>,
    /// Sessions whose answers no order explains, and why.
    pub disorder: Vec<(String, String)>,
    pub attempts: usize,
    pub acknowledged: usize,
    pub unknown: usize,
    pub events: usize,
    pub watched: usize,
}

impl Found {
    /// The checks that found something.
    pub fn checks(&self) -> BTreeSet<&'static str> {
        let order = self.disorder.iter().map(|_| "linearizability");
        self.objections.iter().map(|(_, objection)| objection.check()).chain(order).collect()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { attempts, acknowledged, unknown, events, watched, .. } = self;
        write!(f, "{attempts} attempts, {acknowledged} acknowledged, {unknown} unknown, {events} events, {watched} watched")
    }
}

/// All that is stored of these sessions.
pub async fn read_logs(url: &str, sessions: &[String]) -> Logs {
    let store = PostgresStore::connect(Options::new(url)).await.expect("the database");
    let mut logs = Logs::new();
    for session in sessions {
        logs.insert(session.clone(), store.read(session, 0, 1_000_000).await.expect("the store can be read"));
    }
    store.close().await;
    logs
}

/// What all checks say, or all but the search for an order: that is long where there is none, since acknowledged changes are lost.
pub fn judge(entries: &[Entry], logs: &Logs, watched: &[WatchLog], order: bool) -> Found {
    let of = |session: &String| is_linear(entries.iter().filter(|entry| entry.call.session == *session), &[]);
    let count = |is: fn(&Outcome) -> bool| entries.iter().filter(|entry| is(entry.outcome())).count();
    Found {
        objections: audit(entries, logs, watched),
        disorder: logs.keys().filter(|_| order).filter_map(|session| Some((session.clone(), of(session).err()?))).collect(),
        attempts: entries.len(),
        acknowledged: count(|outcome| matches!(outcome, Outcome::Done(_))),
        unknown: count(|outcome| *outcome == Outcome::Unknown),
        events: logs.values().flatten().map(Vec::len).sum(),
        watched: watched.iter().map(|watch| watch.events.len()).sum(),
    }
}
