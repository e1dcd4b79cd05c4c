//! Schedules from one seed on, until there was enough of them and some of everything.

use crate::fault::Fault;
use crate::form::first_seed;
use crate::ledger::Ledger;
use crate::plan::{Found, Plan, Tally};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// See the module.
pub struct Series {
    first: u64,
    schedules: u64,
    begun: Instant,
    lasts: Duration,
    /// What must happen.
    faults: Vec<Fault>,
    tally: Tally,
}

/// It goes on longer by so much at most where something has not happened yet: on a machine that is busy there are few schedules in the
/// time, and each of them draws a part of all that may happen.
const LONGER: Duration = Duration::from_secs(240);

impl Series {
    pub fn begin(lasts: Duration, faults: &[Fault]) -> Series {
        let (first, faults) = (first_seed(), faults.to_vec());
        Series { first, schedules: 0, begun: Instant::now(), lasts, faults, tally: Tally::default() }
    }

    /// The seed of the next schedule; none: it is over.
    pub fn next_seed(&mut self) -> Option<u64> {
        let elapsed = self.begun.elapsed();
        let missing = !self.tally.missing(&self.faults).is_empty();
        let goes_on = elapsed < self.lasts || (missing && elapsed < self.lasts + LONGER);
        let seed = self.first.wrapping_add(self.schedules);
        self.schedules += u64::from(goes_on);
        goes_on.then_some(seed)
    }

    /// Whether this has not happened yet.
    pub fn lacks(&self, fault: Fault) -> bool {
        !self.tally.faults.contains_key(&fault)
    }

    /// Fails unless all is well with a schedule.
    pub fn add(&mut self, plan: &Plan, found: &Found, ledger: Arc<Ledger>) {
        let first: Vec<_> = found.objections.iter().take(5).collect();
        let disorder: Vec<_> = found.disorder.iter().take(2).collect();
        ledger.sync();
        assert!(
            found.is_clean(),
            "MANCALA_TEST_SEED={} with {plan:?}, ledger in {}: {first:#?} {disorder:#?}",
            plan.seed,
            ledger.path().display()
        );
        discard(ledger);
        self.tally.add(&found.tally);
    }

    /// Fails unless everything has happened.
    pub fn end(self, what: &str) {
        let Series { first, schedules, begun, faults, tally, .. } = self;
        report!("{schedules} schedules {what} in {:.0?} from seed {first}: {tally:?}", begun.elapsed());
        assert_eq!(tally.missing(&faults), [""; 0], "{tally:?}");
    }
}

pub fn discard(ledger: Arc<Ledger>) {
    Arc::into_inner(ledger).expect("nobody else has it").discard();
}
