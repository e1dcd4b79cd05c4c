//! What was measured, for people and for programs.

use super::mix::Call;
use super::plan::Plan;
use super::tally::{CallTally, Tally};
use crate::game::Game;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How a run went, beside its calls.
pub struct Run<'a> {
    pub plan: &'a Plan,
    pub elapsed: Duration,
    /// By Ctrl-C.
    pub interrupted: bool,
    /// Calls that were due by the rate and not begun.
    pub unstarted: u64,
}

/// What was measured. Its fields are those of the JSON object.
#[derive(Debug, Serialize)]
pub struct Report {
    address: String,
    /// The label of the run's sessions.
    bench: String,
    concurrency: u32,
    connections: u32,
    sessions: u32,
    games: Vec<&'static str>,
    /// Calls per second that were asked for; 0: as many as are answered.
    rate: u32,
    seconds: f64,
    interrupted: bool,
    calls: u64,
    failed: u64,
    calls_per_second: f64,
    unstarted: u64,
    /// By kind of call.
    by_call: BTreeMap<&'static str, OfCall>,
    errors: Vec<Errors>,
}

/// The calls of one kind.
#[derive(Debug, Serialize)]
struct OfCall {
    succeeded: u64,
    failed: u64,
    /// Those that succeeded.
    per_second: f64,
    latency_us: Latency,
}

/// Of those that succeeded, in microseconds.
#[derive(Debug, Serialize)]
struct Latency {
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    max: u64,
}

/// Calls of one kind that failed in one way.
#[derive(Debug, Serialize)]
struct Errors {
    call: &'static str,
    code: &'static str,
    reason: String,
    count: u64,
}

impl Report {
    pub fn new(run: Run<'_>, tally: &Tally) -> Report {
        let Run { plan, elapsed, interrupted, unstarted } = run;
        let seconds = elapsed.as_secs_f64();
        let (calls, failed) = tally.totals();
        Report {
            address: plan.address.to_string(),
            bench: plan.label.clone(),
            concurrency: plan.concurrency,
            connections: plan.connections,
            sessions: if plan.mix.needs_sessions() { plan.sessions } else { 0 },
            games: plan.games.iter().copied().map(Game::id).collect(),
            rate: plan.rate.unwrap_or(0),
            seconds,
            interrupted,
            calls,
            failed,
            calls_per_second: (calls - failed) as f64 / seconds,
            unstarted,
            by_call: tally.calls().map(|(call, tally)| (call.name(), of_call(tally, seconds))).collect(),
            errors: tally
                .faults()
                .map(|(call, fault, count)| Errors { call: call.name(), code: fault.code, reason: fault.reason.clone(), count })
                .collect(),
        }
    }

    pub const fn calls(&self) -> u64 {
        self.calls
    }

    pub const fn failed(&self) -> u64 {
        self.failed
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts are JSON")
    }
}

fn of_call(tally: &CallTally, seconds: f64) -> OfCall {
    let latency = &tally.latency_us;
    OfCall {
        succeeded: latency.len(),
        failed: tally.failed,
        per_second: latency.len() as f64 / seconds,
        latency_us: Latency {
            mean: latency.mean(),
            p50: latency.value_at_quantile(0.5),
            p90: latency.value_at_quantile(0.9),
            p99: latency.value_at_quantile(0.99),
            p99_9: latency.value_at_quantile(0.999),
            max: latency.max(),
        },
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let early = if self.interrupted { " (ended early)" } else { "" };
        writeln!(
            f,
            "{} for {:.1} s{early}: {} calls in flight, {} connections, {} sessions of {}",
            self.address,
            self.seconds,
            self.concurrency,
            self.connections,
            self.sessions,
            self.games.join(", "),
        )?;
        writeln!(f, "{} calls, {:.0}/s, {} failed", self.calls, self.calls_per_second, self.failed)?;
        writeln!(f)?;
        writeln!(f, "latency in ms     calls        /s       p50       p90       p99     p99.9       max")?;
        for (name, OfCall { succeeded, per_second, latency_us, .. }) in &self.by_call {
            let Latency { mean: _, p50, p90, p99, p99_9, max } = latency_us;
            write!(f, "{name:13}{succeeded:>10}{per_second:>10.0}")?;
            [p50, p90, p99, p99_9, max].iter().try_for_each(|&&us| write!(f, "{:>10.3}", us as f64 / 1000.0))?;
            writeln!(f)?;
        }
        for Errors { call, code, reason, count } in &self.errors {
            writeln!(f, "failed: {call} {code} {reason} {count} times")?;
        }
        if self.unstarted > 0 {
            writeln!(f, "{} calls were due at {}/s but not begun: the server did not keep up", self.unstarted, self.rate)?;
        }
        if let Some(moves) = self.by_call.get(Call::Apply.name()) {
            writeln!(f, "{} moves acknowledged, each of them durable", moves.succeeded)?;
        }
        write!(f, "sessions bear the label bench={}", self.bench)
    }
}
