//! Random schedules, and planted faults, in simulated time: nothing waits for a clock, and a seed means the same schedule every time.

use crate::database::{FailingDatabase, SETTINGS};
use crate::fault::{Fault, Faults};
use crate::form::{by_form, first_seed, long_form};
use crate::ground::{FailingDisk, File, Ground, Memory};
use crate::ledger::Ledger;
use crate::mutants::Mutant;
use crate::plan::{Found, Plan};
use crate::postgres::Cluster;
use crate::proxy::{Cut, Way};
use crate::sandbox::{again, assert_passed, build_preload, inside};
use crate::schedule::run;
use crate::seconds;
use crate::series::{Series, discard};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Carries a plan out in simulated time over a store in memory.
fn simulate(plan: &Plan) -> (Found, Arc<Ledger>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let name = format!("{}-{}", plan.seed, plan.mutant.map_or("honest".to_owned(), |mutant| format!("{mutant:?}")));
    let (ledger, faults) = (Arc::new(Ledger::new(&name)), Faults::default());
    let ground = Arc::new(Memory::new(plan.seed, faults.clone()));
    let found = runtime.block_on(run(plan, ground, faults, &ledger));
    (found, ledger)
}

/// What happens to servers, and to what they read, wherever they run.
const EVERYWHERE: [Fault; 4] = [Fault::Killed, Fault::CutOff, Fault::ClockSet, Fault::BitFlipped];
/// What happens to single calls. Over a database it is left to chance: there much more is done to them.
const OF_CALLS: [Fault; 5] = [Fault::Slow, Fault::NotSent, Fault::AnswerLost, Fault::Late, Fault::HalfOpen];

#[test]
fn no_random_schedule_is_objected_to() {
    let of_memory = [Fault::PowerCut, Fault::DiskFull, Fault::ReadOnly, Fault::Stopped, Fault::Interrupted];
    let mut series = Series::begin(seconds(32, 3_600), &[&EVERYWHERE[..], &OF_CALLS, &of_memory].concat());
    while let Some(seed) = series.next_seed() {
        let plan = Plan::draw(seed, None);
        let (found, ledger) = simulate(&plan);
        series.add(&plan, &found, ledger);
    }
    series.end("in simulated time");
}

const ON_A_FILE: &str = "random::no_random_schedule_over_the_wire_on_a_file_is_objected_to";

/// As above, but of servers with gRPC and hints in real time, over a file on a disk that fills up and becomes read-only.
#[test]
fn no_random_schedule_over_the_wire_on_a_file_is_objected_to() {
    let [while_there, within] = ["FAIL_WRITE_WHILE", "FAIL_WRITE_IN"];
    if !inside(ON_A_FILE) {
        let folder = TempDir::new().expect("a folder");
        let (library, disk) = (build_preload("failing_write", folder.path()), folder.path().join("disk"));
        std::fs::create_dir(&disk).expect("a folder");
        let mut inner = again(ON_A_FILE, &["env"]);
        inner.env("LD_PRELOAD", library).env(while_there, folder.path().join("flag")).env(within, disk);
        return assert_passed(ON_A_FILE, &inner.stderr(Stdio::inherit()).output().expect("this test"));
    }
    let path = |name| PathBuf::from(std::env::var_os(name).expect("set by the outer process"));
    let of_disks = [Fault::DiskFull, Fault::ReadOnly];
    let mut series = Series::begin(seconds(8, 3_600), &[&EVERYWHERE[..], &OF_CALLS, &of_disks].concat());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    while let Some(seed) = series.next_seed() {
        let (plan, faults) = (Plan::draw(seed, None).over_the_wire(), Faults::default());
        let ledger = Arc::new(Ledger::new(&format!("{seed}-file")));
        let disk = FailingDisk { folder: path(within), flag: path(while_there), faults: faults.clone() };
        let found = runtime.block_on(async { run(&plan, Arc::new(File::on(disk)), faults, &ledger).await });
        series.add(&plan, &found, ledger);
    }
    series.end("over the wire, on a file");
}

/// What happens to a database, and between it and servers.
const OF_DATABASES: [Fault; 14] = [
    Fault::PowerCut,
    Fault::Stopped,
    Fault::FailedOver,
    Fault::Partitioned(Way::Held),
    Fault::Partitioned(Way::Swallowing),
    Fault::Partitioned(Way::Closed),
    Fault::SlowNetwork,
    Fault::Write(Cut::Before),
    Fault::Write(Cut::Torn),
    Fault::Write(Cut::After),
    Fault::Write(Cut::InAnswer),
    Fault::Write(Cut::HalfOpen),
    Fault::Write(Cut::Zombie),
    Fault::Write(Cut::Double),
];

/// As above, over a database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_random_schedule_over_the_wire_on_a_database_is_objected_to() {
    let mut series = Series::begin(seconds(20, 3_600), &[&EVERYWHERE[..], &OF_DATABASES].concat());
    let mut primary = tokio::task::spawn_blocking(|| Arc::new(Cluster::start(SETTINGS))).await.expect("no panic");
    while let Some(seed) = series.next_seed() {
        let (plan, faults) = (Plan::draw(seed, None).over_the_wire(), Faults::default());
        let ledger = Arc::new(Ledger::new(&format!("{seed}-database")));
        // A standby takes seconds to make.
        let with_standby = series.lacks(Fault::FailedOver) || (long_form() && seed.is_multiple_of(4));
        let ground = Arc::new(FailingDatabase::new(primary, with_standby, plan.servers, seed, faults.clone()).await);
        let found = run(&plan, ground.clone() as Arc<dyn Ground>, faults, &ledger).await;
        primary = ground.remove().await;
        series.add(&plan, &found, ledger);
    }
    series.end("over the wire, on a database");
}

#[test]
fn a_seed_means_the_same_schedule_every_time() {
    let first = first_seed();
    for seed in first..first + by_form(4, 100) {
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

/// The longest that is looked for a planted fault. The rarest is found in one of some seventy schedules, which take some seconds.
const PATIENCE: Duration = Duration::from_secs(240);

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
