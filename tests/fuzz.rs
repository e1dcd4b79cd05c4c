//! The fuzz targets without a fuzzer: their seeds hold, their store is a store, and their calls reach every method.
#![cfg(feature = "server")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;
mod support;

use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::session::record;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};
use support::store_conformance as suite;

/// Runs a target on all of its seeds.
fn seeds_hold(target: &str, check: fn(&[u8])) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let seeds: Vec<_> = files.map(|file| fs::read(file.expect("a file").path()).expect("its bytes")).collect();
    seeds.iter().for_each(|seed| check(seed));
    assert!(seeds.len() > 5, "{target} has {} seeds", seeds.len());
    seeds
}

#[test]
fn positions_hold() {
    seeds_hold("positions", fuzz::positions::check);
}

#[test]
fn moves_hold() {
    seeds_hold("moves", fuzz::moves::check);
}

/// Seeds that are refused would lead a fuzzer nowhere.
#[test]
fn records_hold() {
    let seeds = seeds_hold("records", fuzz::records::check);
    let right = |seed: &&Vec<u8>| record::check(std::str::from_utf8(seed).expect("UTF-8"), None, || false).is_ok();
    assert_eq!(seeds.iter().filter(right).count(), seeds.len());
}

/// Every unary method that the services describe is accepted at times, and refused for a reason of its own if it can be. The seeds
/// do all that, until a change of the contract changes what they mean; random calls do it too, but take longer.
#[test]
fn requests_hold_and_reach_every_method() {
    const RANDOM_INPUTS: u64 = 500;
    let mut reached: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    let mut dice = SeededDice::new(1);
    let random = (0..RANDOM_INPUTS).map(|_| (0..2_000).map(|_| dice.below(256) as u8).collect());
    for (place, input) in seeds_hold("requests", |_| ()).into_iter().chain(random).enumerate() {
        let input: Vec<u8> = input;
        if place % 50 == 0 && unreached(&reached).is_empty() {
            break;
        }
        for (method, refused) in fuzz::requests::run(&input) {
            *reached.entry(method).or_default().entry(refused.map_or("OK", |reason| reason.name())).or_default() += 1;
        }
    }
    for (method, outcomes) in &reached {
        let outcomes: Vec<_> = outcomes.iter().map(|(outcome, times)| format!("{outcome} {times}")).collect();
        println!("{method}: {}", outcomes.join(", "));
    }
    assert_eq!(unreached(&reached), [""; 0]);
}

/// Methods that ask for nothing in particular, or judge whatever they are given.
const NEVER_REFUSED: [&str; 3] = ["ListGames", "ListReasons", "VerifyRecord"];

/// Methods that are seldom accepted: time is out only where both seats have moved with a clock. A fuzzer gets there in minutes.
const SELDOM_ACCEPTED: [&str; 1] = ["ClaimTimeout"];

/// What has not come of any call yet.
fn unreached(reached: &BTreeMap<&str, BTreeMap<&str, u32>>) -> Vec<String> {
    let methods = &fuzz::requests::CONTRACT.methods;
    assert!(methods.len() >= 28, "{methods:?}");
    let mut missing = Vec::new();
    for name in methods.iter().map(|method| method.name.as_str()) {
        let outcomes: Vec<_> = reached.get(name).into_iter().flat_map(BTreeMap::keys).copied().collect();
        if !outcomes.contains(&"OK") && !SELDOM_ACCEPTED.contains(&name) {
            missing.push(format!("{name} is never accepted"));
        }
        let refused = outcomes.iter().any(|outcome| !["OK", "MALFORMED_MESSAGE"].contains(outcome));
        if !refused && !NEVER_REFUSED.contains(&name) {
            missing.push(format!("{name} is never refused"));
        }
    }
    missing
}

/// Each function of the suite of stores, on the one that the calls are made on.
macro_rules! conformance {
    ($($name:ident)*; $($more:ident)*) => {
        conformance!($($name)* $($more)*);
    };
    ($($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                suite::$name(Arc::new(fuzz::memory_store::MemoryStore::default())).await;
            }
        )*
    };
}

suite::each_test!(conformance);
