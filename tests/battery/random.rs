//! Random schedules, and planted faults, in simulated time: nothing waits for a clock, and a seed means the same schedule every time.

use crate::form::{first_seed, long_form};
use crate::ground::{Database, Ground, One};
use crate::ledger::Ledger;
use crate::mutants::Mutant;
use crate::plan::{Found, Plan, Tally};
use crate::schedule::run;
use crate::seconds;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Carries a plan out in simulated time over a store in memory.
fn simulate(plan: &Plan) -> (Found, Arc<Ledger>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let name = format!("{}-{}", plan.seed, plan.mutant.map_or("honest".to_owned(), |mutant| format!("{mutant:?}")));
    let ledger = Arc::new(Ledger::new(&name));
    let found = runtime.block_on(run(plan, Arc::new(One::memory()), &ledger));
    (found, ledger)
}

/// Fails unless all is well.
fn assert_clean(plan: &Plan, found: &Found, ledger: &Ledger) {
    let first: Vec<_> = found.objections.iter().take(5).collect();
    let disorder: Vec<_> = found.disorder.iter().take(2).collect();
    ledger.sync();
    assert!(
        found.is_clean(),
        "MANCALA_TEST_SEED={} with {plan:?}, ledger in {}: {first:#?} {disorder:#?}",
        plan.seed,
        ledger.path().display()
    );
}

fn discard(ledger: Arc<Ledger>) {
    Arc::into_inner(ledger).expect("nobody else has it").discard();
}

#[test]
fn no_random_schedule_is_objected_to() {
    let (first, until) = (first_seed(), Instant::now() + seconds(42, 3_600));
    let (mut tally, mut schedules) = (Tally::default(), 0);
    while Instant::now() < until {
        let plan = Plan::draw(first.wrapping_add(schedules), None);
        let (found, ledger) = simulate(&plan);
        assert_clean(&plan, &found, &ledger);
        discard(ledger);
        tally.add(&found.tally);
        schedules += 1;
    }
    report!("{schedules} schedules from seed {first}: {tally:?}");
    assert!(tally.unknown > 0 && tally.kills > 0 && tally.faults > 0 && tally.refused > 0 && tally.watched > 0, "{tally:?}");
}

/// As above, but of servers with gRPC and hints in real time, over a file and over a database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_random_schedule_over_the_wire_is_objected_to() {
    let (first, until) = (first_seed(), Instant::now() + seconds(18, 3_600));
    let (mut tally, mut schedules) = (Tally::default(), 0);
    // However busy the machine is, some of each kind.
    while Instant::now() < until || schedules < 6 {
        let plan = Plan::draw(first.wrapping_add(schedules), None).over_the_wire();
        let ledger = Arc::new(Ledger::new(&format!("{}-wire", plan.seed)));
        let ground: Arc<dyn Ground> = if schedules % 2 == 0 { Arc::new(Database::new()) } else { Arc::new(One::sqlite()) };
        let found = run(&plan, ground, &ledger).await;
        assert_clean(&plan, &found, &ledger);
        discard(ledger);
        tally.add(&found.tally);
        schedules += 1;
    }
    report!("{schedules} schedules over the wire from seed {first}: {tally:?}");
    assert!(tally.unknown > 0 && tally.faults > 0 && tally.refused > 0 && tally.watched > 0, "{tally:?}");
}

#[test]
fn a_seed_means_the_same_schedule_every_time() {
    for seed in first_seed()..first_seed() + if long_form() { 100 } else { 4 } {
        let plan = Plan::draw(seed, None);
        let traces = [(); 2].map(|()| {
            let (found, ledger) = simulate(&plan);
            discard(ledger);
            found.trace
        });
        let [one, other] = &traces;
        let differs = one.lines().zip(other.lines()).position(|(one, other)| one != other);
        let around =
            |trace: &str, line: usize| trace.lines().skip(line.saturating_sub(30)).take(40).collect::<Vec<_>>().join("\n");
        let shown = differs.map(|line| (around(one, line), around(other, line)));
        assert!(differs.is_none(), "MANCALA_TEST_SEED={seed}: two runs, two traces: {shown:#?}");
    }
}

/// The longest that is looked for a planted fault.
const PATIENCE: Duration = Duration::from_secs(60);

/// By each of the checks that are meant to find it.
#[test]
fn every_planted_fault_is_found() {
    let first = first_seed();
    for mutant in Mutant::ALL {
        let (begun, mut schedules, mut found) = (Instant::now(), 0, BTreeMap::new());
        let meant = [Some(mutant.check()), mutant.shows_in_answers().then_some("linearizability")];
        while !meant.iter().flatten().all(|check| found.contains_key(check)) {
            assert!(begun.elapsed() < PATIENCE, "{mutant:?}: {found:?} in {schedules} schedules from seed {first}");
            let (what, ledger) = simulate(&Plan::draw(first.wrapping_add(schedules), Some(mutant)));
            discard(ledger);
            schedules += 1;
            what.checks().into_iter().for_each(|check| _ = found.entry(check).or_insert(schedules));
        }
        report!("{mutant:?} found by these checks, in these schedules from seed {first}: {found:?}");
    }
}
