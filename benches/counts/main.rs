//! `cargo bench --bench counts`: how many instructions each piece of work takes, by valgrind's callgrind, held against the accepted counts
//! in `benches/counts/accepted.txt`. Instructions, unlike times, hardly differ from run to run, so that a loss of a few percent is seen.
//!
//! It fails when a count is over five percent above the accepted one. `-- --accept` writes the counts down as they are now: commit them with
//! the change that they come of. They hold for the compiler that the file names.
//!
//! The program starts itself under valgrind, once for each piece; callgrind counts only what [`measured`] does. Each run also counts a piece
//! with a sixteenth more to do, and fails unless that is found out.

#[path = "../support/messages.rs"]
mod messages;
#[path = "../support/samples.rs"]
mod samples;
mod works;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{env, fs};

/// A count may be so much above the accepted one, in percent.
const TOLERANCE: u64 = 5;
/// Says the compiler in the file of accepted counts.
const COMPILER: &str = "# compiler: ";

type Counts = BTreeMap<String, u64>;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--work", name] => {
            let mut work = works::all().remove(name).expect("a piece of work of this name");
            // Once before, so that it has its memory: what an allocator does to find some depends on all that was freed before.
            work();
            measured(&mut work);
            ExitCode::SUCCESS
        }
        ["--accept"] => {
            fs::write(accepted_path(), written(&count_all())).expect("the file of counts can be written");
            ExitCode::SUCCESS
        }
        [] => {
            let counts = count_all();
            let usual = counts[works::PLANTED_IN];
            assert!(is_too_many(count(works::PLANTED), usual), "a sixteenth more to do is found out");
            compare(&counts)
        }
        _ => {
            eprintln!("usage: cargo bench --bench counts [-- --accept]");
            ExitCode::from(2)
        }
    }
}

/// What callgrind counts.
#[inline(never)]
fn measured(work: &mut works::Work) {
    work();
}

fn count_all() -> Counts {
    works::all().into_keys().filter(|&name| name != works::PLANTED).map(|name| (name.to_owned(), count(name))).collect()
}

/// Instructions of a piece of work.
fn count(name: &str) -> u64 {
    let program = env::current_exe().expect("this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=counts::measured*"])
        .arg(program)
        .args(["--work", name])
        .output()
        .expect("valgrind can be started; tests/tools/install brings it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    let count = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    count.filter(|&count| count > 0).unwrap_or_else(|| panic!("{name}: callgrind counted nothing: {said}"))
}

fn is_too_many(count: u64, accepted: u64) -> bool {
    count * 100 > accepted * (100 + TOLERANCE)
}

fn accepted_path() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "benches", "counts", "accepted.txt"].iter().collect()
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().expect("rustc says its version");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn written(counts: &Counts) -> String {
    let mut text =
        format!("# Accepted counts of instructions: cargo bench --bench counts -- --accept\n{COMPILER}{}\n", compiler());
    for (name, count) in counts {
        writeln!(text, "{name}: {count}").expect("a string takes all");
    }
    text
}

fn compare(counts: &Counts) -> ExitCode {
    let text = fs::read_to_string(accepted_path()).expect("the file of counts");
    let accepted: Counts = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("NAME: COUNT"))
        .map(|(name, count)| (name.to_owned(), count.parse().expect("a count")))
        .collect();
    let mut failed = 0;
    for (name, &count) in counts {
        let Some(&before) = accepted.get(name) else {
            println!("{name:<34} {count:>12}  FAILED: no accepted count");
            failed += 1;
            continue;
        };
        let percent = 100.0 * (count as f64 / before as f64 - 1.0);
        let verdict = if is_too_many(count, before) {
            failed += 1;
            "  FAILED: more than accepted"
        } else if count * 100 < before * (100 - TOLERANCE) {
            "  fewer: accept them"
        } else {
            ""
        };
        println!("{name:<34} {count:>12}  {percent:+6.2} %{verdict}");
    }
    for name in accepted.keys().filter(|name| !counts.contains_key(*name)) {
        println!("{name:<34} FAILED: accepted, but counted no more");
        failed += 1;
    }
    if failed == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{failed} failed");
    let accepted_by = text.lines().find_map(|line| line.strip_prefix(COMPILER)).unwrap_or_default();
    if accepted_by != compiler() {
        println!("the counts were accepted with {accepted_by}, this is {}: look at them again, and accept them", compiler());
    }
    ExitCode::FAILURE
}
