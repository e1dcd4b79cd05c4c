//! What is certain of the sessions while they are played: where changes ended, and what has been deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Shared by all who play and watch.
#[derive(Clone)]
pub struct Truth {
    told: Arc<Mutex<Told>>,
    /// The version with which each session has ended for good, once nobody plays any more.
    last: watch::Sender<Option<BTreeMap<String, u32>>>,
}

#[derive(Default)]
struct Told {
    ends: BTreeMap<String, BTreeSet<u32>>,
    /// Also those whose deletion was asked for but not yet answered.
    deleted: BTreeSet<String>,
    requests: u64,
}

impl Truth {
    pub fn new() -> Truth {
        Truth { told: Arc::default(), last: watch::Sender::new(None) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("no panic")
    }

    /// A request id that nobody else has.
    pub fn request_id(&self) -> String {
        let mut told = self.told();
        told.requests += 1;
        format!("r{}", told.requests)
    }

    /// A change was acknowledged with this version.
    pub fn changed(&self, session_id: &str, version: u32) {
        self.told().ends.entry(session_id.to_owned()).or_default().insert(version);
    }

    pub fn delete(&self, session_id: &str) {
        self.told().deleted.insert(session_id.to_owned());
    }

    pub fn is_deleted(&self, session_id: &str) -> bool {
        self.told().deleted.contains(session_id)
    }

    /// How far a session has come, as far as is known.
    pub fn known(&self, session_id: &str) -> u32 {
        self.told().ends.get(session_id).and_then(BTreeSet::last).copied().unwrap_or(0)
    }

    pub fn ends(&self, session_id: &str) -> BTreeSet<u32> {
        self.told().ends.get(session_id).cloned().unwrap_or_default()
    }

    /// All changes that were acknowledged.
    pub fn changes(&self) -> usize {
        self.told().ends.values().map(BTreeSet::len).sum()
    }

    /// Nothing more will happen.
    pub fn finish(&self, last: BTreeMap<String, u32>) {
        self.last.send_replace(Some(last));
    }

    /// The last version of each session, once nothing more happens.
    pub fn finished(&self) -> Option<BTreeMap<String, u32>> {
        self.last.borrow().clone()
    }

    /// Completes when nothing more happens.
    pub async fn wait_for_end(&self) {
        self.last.subscribe().wait_for(Option::is_some).await.expect("the test goes on");
    }
}
